// DeepMind's checkpoints: which model one is, and its settings. Names and shapes tell most; what
// they do not tell (heads, blocks, bands, resolutions) is the released model's, or stands in a
// config.json beside the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "perceiver/core/file.h"
#include "perceiver/weights/haiku.h"

namespace perceiver {

// A checkpoint itself, or the one in this folder; empty for other folders.
std::filesystem::path haiku_file(const std::filesystem::path& path);

// `name` is the checkpoint's, for messages.
std::string settings_of_haiku(const HaikuCheckpoint& checkpoint, const std::string& name,
                              const std::optional<File>& config_json = {});

}  // namespace perceiver
