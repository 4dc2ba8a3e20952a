#include "perceiver/tasks/optical_flow/batch.h"

#include <algorithm>
#include <set>

#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/core/folder_tree.h"
#include "perceiver/media/image.h"

namespace perceiver {

namespace fs = std::filesystem;

namespace {

bool is_picture(const fs::path& path) { return has_image_ending(path) && !has_video_ending(path); }

// Videos, and folders that have pictures in them, in the order of their paths.
std::set<fs::path> clips_below(const fs::path& folder) {
  std::set<fs::path> clips;
  for (const fs::path& file : files_below(folder)) {
    if (has_video_ending(file)) clips.insert(file);
    if (is_picture(file)) clips.insert(file.parent_path());
  }
  return clips;
}

// Files of flow go to a folder of the clip's name; pictures of a video's flow stay a video.
fs::path output_of(const fs::path& clip, const fs::path& place, const std::string& format) {
  const bool files = format == to_word(FlowFormat::kFlo) || format == to_word(FlowFormat::kKitti);
  return fs::is_directory(clip) || !files ? place : fs::path(place).replace_extension();
}

void check_batch(const FlowJob& job) {
  const std::string& folder = job.inputs[0];
  if (!job.ground_truth.empty() || !job.error_picture.empty() || !job.consistency.empty()) {
    fail(
        "{}: has clips and no pictures of its own; --ground-truth, --error-picture and "
        "--consistency take one of them at a time",
        folder);
  }
  const fs::path& output = job.output.path;
  if (!output.empty() && !OutputFiles::is_folder(output)) {
    fail("{}: one file cannot hold the flow of a folder of clips; give a folder", output.string());
  }
}

}  // namespace

std::vector<FlowJob> clips_of(const FlowJob& job) {
  std::error_code ignored;
  if (job.inputs.size() != 1 || !fs::is_directory(job.inputs[0], ignored)) return {};
  const fs::path folder = job.inputs[0];
  const std::vector<fs::path> entries = sorted_entries(folder);
  if (std::any_of(entries.begin(), entries.end(), is_picture)) return {};
  const std::set<fs::path> clips = clips_below(folder);
  if (clips.empty()) return {};
  check_batch(job);
  const fs::path output = job.output.path.empty() ? "flow" : job.output.path;
  std::vector<FlowJob> jobs;
  for (const fs::path& clip : clips) {
    const fs::path place = output / clip.lexically_relative(folder);
    jobs.push_back(job);
    jobs.back().inputs = {clip.string()};
    jobs.back().output.path = output_of(clip, place, job.output.format).string();
  }
  return jobs;
}

void flow_of_clips(Model& model, std::span<const FlowJob> clips, const BatchCallbacks& callbacks) {
  for (const FlowJob& job : clips) {
    const fs::path folder = fs::path(job.output.path).parent_path();
    std::error_code error;
    fs::create_directories(folder, error);
    try {
      if (error) fail("{}: cannot write: {}", folder.string(), error.message());
      callbacks.done(
          flow_of_files(model, job, {.hooks = callbacks.hooks, .ready = callbacks.ready}));
    } catch (const Error& reason) {
      callbacks.failed(reason.what());
    }
  }
}

void remove_empty_places(std::span<const FlowJob> clips) {
  for (const FlowJob& job : clips) {
    std::error_code ignored;  // where there is something in it
    fs::remove(fs::path(job.output.path).parent_path(), ignored);
  }
}

}  // namespace perceiver
