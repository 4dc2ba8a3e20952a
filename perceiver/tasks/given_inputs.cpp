#include "perceiver/tasks/given_inputs.h"

#include <filesystem>

#include "perceiver/core/error.h"
#include "perceiver/core/standard_input.h"
#include "perceiver/media/image.h"
#include "perceiver/media/sound.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/language/masks.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

bool names_a_file(const std::string& argument) {
  std::error_code too_long_for_a_name;
  return argument == "-" || fs::exists(argument, too_long_for_a_name);
}

bool is_a_word(const std::string& argument) {
  return !names_a_file(argument) && argument.find('/') == argument.npos &&
         fs::path(argument).extension().empty();
}

}  // namespace

bool is_given_text(const std::string& argument) {
  return !names_a_file(argument) &&
         (argument.find_first_of(" \t\n") != argument.npos || split_at_masks(argument).size() > 1);
}

std::string shipped_model_for(std::span<const std::string> arguments) {
  if (arguments.empty()) return "image-mini";
  if (is_given_text(arguments[0])) return "language-mini";
  if (has_image_ending(arguments[0])) return arguments.size() == 2 ? "flow-mini" : "image-mini";
  if (has_sound_ending(arguments[0])) return "sound-mini";
  return has_video_ending(arguments[0]) ? "multimodal-mini" : "language-mini";
}

std::vector<File> given_files(std::span<const std::string> arguments, InputKind reads) {
  std::vector<File> files;
  for (const std::string& argument : arguments) {
    if (reads == InputKind::kArrays) {
      files.push_back({argument, ""});
      continue;
    }
    if (argument.empty()) fail("the text is empty");
    const bool text = is_given_text(argument) || (reads == InputKind::kText && is_a_word(argument));
    files.push_back(text ? File{"the text", argument} : read_input(argument));
  }
  return files;
}

}  // namespace perceiver
