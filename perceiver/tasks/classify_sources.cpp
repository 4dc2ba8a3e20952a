#include <fmt/format.h>

#include "perceiver/core/error.h"
#include "perceiver/core/folder_tree.h"
#include "perceiver/core/lines.h"
#include "perceiver/core/standard_input.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/given_inputs.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

bool has_ending_for(InputKind kind, const fs::path& path) {
  switch (kind) {
    case InputKind::kPicture:
    case InputKind::kFramePair:
      return has_image_ending(path);
    case InputKind::kText:
      return path.extension() == ".txt";
    default:
      return has_video_ending(path) || has_sound_ending(path);
  }
}

// Whether models of clips take in pictures, too: some hear only the sound.
bool sees(const Model& model) {
  const Example inputs = model.task->random_inputs(1);
  return inputs.contains("video") || inputs.contains("image");
}

// The files of a folder and of those inside it that models read, in the order of their names.
std::vector<fs::path> files_for(InputKind kind, const fs::path& folder) {
  std::vector<fs::path> files = files_below(folder);
  std::erase_if(files, [&](const fs::path& path) { return !has_ending_for(kind, path); });
  if (!files.empty()) return files;
  if (kind == InputKind::kPicture || kind == InputKind::kFramePair) return images_in(folder);
  fail("{}: no {} in this folder", folder.string(),
       kind == InputKind::kText ? ".txt file" : "clip or sound");
}

}  // namespace

std::vector<ClassifySource> classify_sources(const Model& model,
                                             const std::vector<std::string>& inputs,
                                             const SourceOptions& options) {
  const InputKind kind = application_of(model).reads();
  if (kind == InputKind::kArrays) {
    fail("{}: models of the task {} answer by 'perceiver run'", model.source, task_name(model));
  }
  if (options.lines && kind != InputKind::kText) fail("--lines is for models of texts");
  std::vector<ClassifySource> sources;
  for (const std::string& input : inputs) {
    if (input != "-" && fs::is_directory(input)) {
      for (const fs::path& path : files_for(kind, input)) sources.push_back({path.string()});
    } else if (options.lines) {
      int64_t number = 0;
      for (const std::string& line : lines_of(read_input(input).bytes)) {
        sources.push_back({fmt::format("{}:{}", input, ++number), line});
      }
    } else if (input == "-") {
      sources.push_back({input, read_input(input).bytes});
    } else if (kind == InputKind::kText && is_given_text(input)) {
      sources.push_back({input, input});
    } else {
      sources.push_back({input});
      if (kind == InputKind::kClip && has_sound_ending(input) && sees(model)) {
        options.hooks.tell(fmt::format("{}: has no picture: the model sees black frames", input));
      }
    }
  }
  return sources;
}

fs::path classify_sample(const Model& model) {
  switch (application_of(model).reads()) {
    case InputKind::kPicture:
      return shipped("samples/pictures");
    case InputKind::kClip:
      if (!sees(model)) return shipped("samples/digits");
      return shipped(video_is_built_in() ? "samples/clip.avi" : "samples/sound.wav");
    case InputKind::kText:
      fail("give texts to classify: files, folders, or - for standard input");
    default:
      fail("models of this task have no classes");
  }
}

}  // namespace perceiver
