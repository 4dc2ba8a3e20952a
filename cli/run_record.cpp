#include "cli/run_record.h"

#include <fmt/chrono.h>
#include <torch/version.h>

#include <algorithm>
#include <ctime>

#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"

namespace perceiver {

namespace fs = std::filesystem;

std::string own_command() {
  std::string command = read_file("/proc/self/cmdline").bytes;
  if (!command.empty()) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return command;
}

std::string run_record(const TrainConfig& config, at::Device device, int64_t threads) {
  const std::time_t now = std::time(nullptr);
  const nlohmann::ordered_json json = {{"command", own_command()},
                                       {"started", fmt::format("{:%FT%TZ}", fmt::gmtime(now))},
                                       {"perceiver", PERCEIVER_VERSION},
                                       {"libtorch", TORCH_VERSION},
                                       {"seed", config.seed},
                                       {"device", device.str()},
                                       {"threads", threads}};
  return json_text(json, 2) + "\n";
}

fs::path default_run_folder(const std::string& config) {
  const std::time_t now = std::time(nullptr);
  return fs::path("runs") /
         fmt::format("{}-{:%Y%m%d-%H%M%S}", fs::path(config).stem().string(), fmt::gmtime(now));
}

}  // namespace perceiver
