// Named pipes as input files.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace perceiver {

// How long a pipe may have no writer: a shell that starts one opens it at once.
constexpr std::chrono::seconds kPipePatience{10};

// All that is written to the pipe, until every writer has closed it. A writer that is there may
// take its time; fails when none has come after `patience`.
std::string read_pipe(const std::filesystem::path& path,
                      std::chrono::milliseconds patience = kPipePatience);

}  // namespace perceiver
