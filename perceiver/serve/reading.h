// Files read for a model while it computes others.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "perceiver/serve/engine.h"

namespace perceiver {

// The one output of such a work.
inline constexpr const char* kOutput = "output";

// Reads the files on this thread, few at a time -> what is left for the model: `pass` of what was
// read, together with others of the kind. Texts go together that are equally long: beside a longer
// one a text would be padded, and rounded differently.
using PassOf = std::function<std::function<Tensor(const Example&)>(Application& task)>;
Work work_of_files(ServedModel& served, std::span<const File> files, const std::string& kind,
                   const PassOf& pass);

// While one lives, its thread may decode. There are as many places as processors, whatever the
// number of requests: decoded pictures are many times as large as their files.
struct ReadingPlace {
  ReadingPlace();
  ~ReadingPlace();
  ReadingPlace(const ReadingPlace&) = delete;
};

// The elements of texts that read() made; 0 of anything else.
int64_t num_tokens(const Example& inputs);

}  // namespace perceiver
