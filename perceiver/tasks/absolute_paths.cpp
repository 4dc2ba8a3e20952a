#include "perceiver/tasks/absolute_paths.h"

#include <filesystem>

namespace perceiver {

std::string absolute_path(const std::string& name) {
  std::error_code ignored;
  if (name.empty() || !std::filesystem::exists(name, ignored)) return name;
  return std::filesystem::absolute(name).lexically_normal().string();
}

}  // namespace perceiver
