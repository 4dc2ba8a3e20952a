#include "perceiver/train/sweep_folder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"
#include "perceiver/core/lines.h"
#include "perceiver/train/run_folder.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr const char *kSweep = "sweep.json", *kResults = "results.json", *kBest = "best";
constexpr std::array<std::string_view, 3> kUnits = {"number", "share", "pixels"};

std::string text_of(const Json& json) { return json_text(json, 2) + "\n"; }

Json to_json(const SweepRecord& record, std::span<const SweepFolder::NewRun> runs) {
  Json json = {{"config", record.config},
               {"grid", record.grid},
               {"overrides", record.overrides},
               {"measure",
                {{"name", record.measure.name},
                 {"lower_is_better", record.measure.lower_is_better},
                 {"shown", record.shown.name},
                 {"unit", kUnits[static_cast<size_t>(record.shown.unit)]}}},
               {"jobs", record.jobs},
               {"threads", record.threads},
               {"device", record.device},
               {"command", record.command},
               {"perceiver", record.version},
               {"runs", Json::array()}};
  for (const SweepFolder::NewRun& run : runs) {
    Json settings = Json::object();
    for (const auto& [key, value] : run.settings) settings[key] = value;
    json["runs"].push_back({{"name", run.name}, {"settings", settings}});
  }
  return json;
}

SweepRecord record_in(const Json& json) {
  const Json& measure = json.at("measure");
  const auto unit = std::ranges::find(kUnits, measure.at("unit").get<std::string>());
  if (unit == kUnits.end()) fail("unknown unit");
  return {.config = json.at("config"),
          .grid = json.at("grid"),
          .overrides = json.at("overrides"),
          .measure = {measure.at("name"), measure.at("lower_is_better")},
          .shown = {measure.at("shown"), static_cast<Unit>(unit - kUnits.begin())},
          .jobs = std::max<int64_t>(1, json.at("jobs")),
          .threads = std::max<int64_t>(1, json.at("threads")),
          .device = json.at("device"),
          .command = json.at("command"),
          .version = json.at("perceiver")};
}

std::vector<SweptRun> runs_in(const Json& json) {
  std::vector<SweptRun> runs;
  for (const Json& one : json.at("runs")) {
    SweptRun run{.name = one.at("name")};
    if (run.name.find('=') == run.name.npos || run.name.find('/') != run.name.npos) {
      fail("'{}' is no name of a run", run.name);
    }
    for (const auto& [key, value] : one.at("settings").items())
      run.settings.push_back({key, value});
    runs.push_back(std::move(run));
  }
  if (runs.empty()) fail("there are no runs");
  return runs;
}

Json read_json(const fs::path& path) {
  return Json::parse(read_file(path).bytes, nullptr, /*allow_exceptions=*/false);
}

// What is known of runs from before the sweep was stopped. A file that is not what it should be is
// passed over: to go on with a run that was finished takes a moment and changes nothing.
void take_results(const fs::path& results, std::vector<SweptRun>& runs) {
  if (!fs::exists(results)) return;
  const Json json = read_json(results);
  if (!json.is_object() || !json.contains("runs") || !json["runs"].is_array()) return;
  for (const Json& one : json["runs"]) {
    if (!one.is_object() || !one.contains("name")) continue;
    const Json& name = one["name"];
    const auto run =
        std::ranges::find_if(runs, [&](const SweptRun& r) { return name == Json(r.name); });
    if (run == runs.end()) continue;
    const auto seconds = one.find("seconds"), state = one.find("state");
    if (seconds != one.end() && seconds->is_number()) run->seconds = *seconds;
    const bool finished = state != one.end() && *state == to_word(RunState::kFinished);
    if (finished) run->state = RunState::kFinished;
  }
}

// 16 and true as such, words as strings.
Json value_of(const std::string& toml) {
  Json value = Json::parse(toml, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(toml) : value;
}

bool counts(const SweptRun& run) { return run.value && run.state != RunState::kFailed; }

}  // namespace

std::vector<size_t> ranking(std::span<const SweptRun> runs, bool lower_is_better) {
  std::vector<size_t> places(runs.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, [&](size_t a, size_t b) {
    if (counts(runs[a]) != counts(runs[b])) return counts(runs[a]);
    if (!counts(runs[a])) return false;
    return lower_is_better ? *runs[a].value < *runs[b].value : *runs[a].value > *runs[b].value;
  });
  return places;
}

bool SweepFolder::is_one(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / kSweep, ignored);
}

void SweepFolder::check_place(const fs::path& path) {
  std::error_code error;
  const bool is_empty = fs::is_directory(path, error) && fs::is_empty(path, error);
  if (fs::exists(path, error) && !is_empty) {
    fail("{}: is there already, expected a new or empty folder, or that of a sweep", path.string());
  }
}

void SweepFolder::create(const fs::path& path, const SweepRecord& record,
                         std::span<const NewRun> runs) {
  check_place(path);
  const fs::path place = fs::absolute(path / "").lexically_normal().parent_path();
  std::error_code error;
  const fs::path beside = place.parent_path() / ("." + place.filename().string() + ".new");
  fs::create_directories(place.parent_path(), error);
  if (error) fail("{}: cannot create: {}", path.string(), error.message());
  fs::remove_all(beside, error);
  try {
    for (const NewRun& run : runs) RunFolder::create(beside / run.name, run.config, run.about);
    write_file(beside / kSweep, text_of(to_json(record, runs)));
    fs::rename(beside, place, error);
    if (error) fail("{}: cannot create: {}", path.string(), error.message());
  } catch (const Error&) {
    fs::remove_all(beside, error);
    throw;
  }
}

SweepFolder::SweepFolder(const fs::path& path) : path_(path), lock_(path / kSweep, 5s) {
  if (!lock_.held()) {
    fail("{}: another sweep is at work in it; wait for its end, or stop it", path.string());
  }
  const Json json = read_json(path / kSweep);
  try {
    record_ = record_in(json);
    runs_ = runs_in(json);
  } catch (const std::exception& e) {
    fail("{}: is damaged: {}", (path / kSweep).string(), e.what());
  }
  take_results(path / kResults, runs_);
  for (SweptRun& run : runs_) look_at(run);
}

void SweepFolder::look_at(SweptRun& run) const {
  const fs::path folder = run_folder(run), metrics = folder / "metrics.jsonl";
  run.value.reset();
  run.steps = 0;
  if (!fs::exists(metrics)) return;
  for (const std::string& line : lines_of(read_file(metrics).bytes)) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;  // a line that is being written
    if (json.contains("step") && json["step"].is_number()) {
      run.steps = std::max(run.steps, json["step"].get<int64_t>());
    }
    const auto kind = json.find("kind"), value = json.find(record_.measure.name);
    const bool evaluates = kind != json.end() && *kind == "eval";
    if (!evaluates || value == json.end() || !value->is_number()) continue;
    const bool lower = run.value && value->get<double>() < *run.value;
    const bool higher = run.value && value->get<double>() > *run.value;
    if (!run.value || (record_.measure.lower_is_better ? lower : higher)) run.value = *value;
  }
}

const SweptRun* SweepFolder::best() const {
  const SweptRun& first = runs_[ranking(runs_, record_.measure.lower_is_better).front()];
  return counts(first) ? &first : nullptr;
}

std::string SweepFolder::results() const {
  Json rows = Json::array();
  for (const size_t place : ranking(runs_, record_.measure.lower_is_better)) {
    const SweptRun& run = runs_[place];
    Json settings = Json::object();
    for (const auto& [key, value] : run.settings) settings[key] = value_of(value);
    rows.push_back({{"name", run.name},
                    {"settings", settings},
                    {"value", run.value ? Json(*run.value) : Json()},
                    {"steps", run.steps},
                    {"state", to_word(run.state)},
                    {"seconds", run.seconds}});
    if (!run.error.empty()) rows.back()["error"] = run.error;
  }
  return text_of({{"config", record_.config},
                  {"measure", record_.measure.name},
                  {"runs", rows},
                  {"best", best() != nullptr ? Json(best()->name) : Json()}});
}

void SweepFolder::write_results() const {
  write_file(path_ / kResults, results());
  if (best() == nullptr) return;
  const fs::path beside = path_ / ".best.new";
  std::error_code error;
  fs::remove(beside, error);
  fs::create_directory_symlink(best()->name, beside, error);
  if (!error) fs::rename(beside, path_ / kBest, error);
  if (error) fail("{}: cannot link: {}", (path_ / kBest).string(), error.message());
}

}  // namespace perceiver
