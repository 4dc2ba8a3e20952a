// The samples that come with the program, by names that say nothing of where they lie.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/file.h"

namespace perceiver {

struct Sample {
  std::string name;                 // "flow-objects-frame1.png"
  std::string kind;                 // "sentences", "picture", "frame", "clip", "sound"
  std::string type;                 // "image/png"
  std::filesystem::path path = {};  // no client is told
};

class Samples {
 public:
  Samples();  // of shipped("samples"); none where there are none

  const std::vector<Sample>& all() const { return all_; }
  const Sample* find(const std::string& name) const;  // null: there is none

 private:
  std::vector<Sample> all_;
};

nlohmann::ordered_json to_json(const Sample& sample);  // {name, kind, type}

}  // namespace perceiver
