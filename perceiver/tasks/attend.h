// What the latents of a model look at in a user's files.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/tasks/attend_maps.h"
#include "perceiver/tasks/model.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

struct AttendOptions {
  bool query = false;  // what the query for the class sees, through the latents; else
  std::vector<int64_t> latents = {};  // these latents, counted from 0; else
  int64_t clusters = 6;               // all of them, in so many groups that look at like places
  uint64_t seed = 0;                  // of the groups
  std::optional<int64_t> head = {};   // of the attention; default: the mean of all
  std::string output = {};            // a name that write_maps() is to get, checked in advance
};

// Each group's attention to the input array, which the views divide up between them.
struct AttendMaps {
  std::vector<InputView> views;
  std::vector<Group> groups;
  Tensor weights;  // float [K, M]: a row for each group

  const InputView& shown() const { return shown_view(views); }
  std::vector<NamedMap> drawn() const;  // as they lie over the view that is shown
  NamedTensors arrays() const;          // of each view by its name, [K, grid]
};

// A file, two frames, or a text, as Application::read() takes them.
AttendMaps attend(Model& model, std::span<const File> files, const AttendOptions& options = {});

// Draws the maps (attend_draw.h), or, where the name ends so, writes all of them as .npz or
// .safetensors -> where they went, or "".
std::string write_maps(const AttendMaps& maps, const std::string& output);

// How sharp each map is and how much of it falls on each view: a table, or JSON, with the
// strongest.
std::string share_table(const AttendMaps& maps);
nlohmann::ordered_json to_json(const AttendMaps& maps);

}  // namespace perceiver
