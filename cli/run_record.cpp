#include "cli/run_record.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include <ctime>
#include <sstream>

#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"

namespace perceiver {

namespace fs = std::filesystem;

std::vector<std::string> own_words() {
  std::istringstream text(read_file("/proc/self/cmdline").bytes);
  std::vector<std::string> words;
  for (std::string word; std::getline(text, word, '\0');) words.push_back(word);
  return words;
}

std::string own_command() { return fmt::format("{}", fmt::join(own_words(), " ")); }

std::string run_record(const TrainConfig& config, at::Device device, int64_t threads,
                       int64_t ranks) {
  const std::time_t now = std::time(nullptr);
  const nlohmann::ordered_json json = {{"command", own_command()},
                                       {"started", fmt::format("{:%FT%TZ}", fmt::gmtime(now))},
                                       {"perceiver", PERCEIVER_VERSION},
                                       {"libtorch", TORCH_VERSION},
                                       {"seed", config.seed},
                                       {"device", device.str()},
                                       {"threads", threads},
                                       {"ranks", ranks}};
  return json_text(json, 2) + "\n";
}

fs::path default_run_folder(const std::string& config) {
  const std::time_t now = std::time(nullptr);
  return fs::path("runs") /
         fmt::format("{}-{:%Y%m%d-%H%M%S}", fs::path(config).stem().string(), fmt::gmtime(now));
}

}  // namespace perceiver
