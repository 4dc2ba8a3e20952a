#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <future>
#include <nlohmann/json.hpp>

#include "cli/classes.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct ClassifyArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  int64_t top = 5, batch = 8;
  bool json = false, jsonl = false, lines = false;
};

// What is to be classified: a file, or a line of one.
struct Source {
  std::string name;
  std::optional<std::string> text = {};
};

bool is_text_model(const Model& model) {
  const std::string task = read_config_key(model.settings, "task");
  return task == "text_classifier" || task == "glue";
}

// The files of a folder that a model of this task can read, in the order of their names.
std::vector<fs::path> files_for(const Model& model, const fs::path& folder) {
  if (read_config_key(model.settings, "task") == "imagenet") return images_in(folder);
  const bool texts = is_text_model(model);
  std::vector<fs::path> files;
  for (const fs::path& path : sorted_entries(folder)) {
    if (texts ? path.extension() == ".txt" : has_video_ending(path) || has_sound_ending(path)) {
      files.push_back(path);
    }
  }
  if (files.empty()) {
    fail("{}: no {} in this folder", folder.string(), texts ? ".txt file" : "clip or sound");
  }
  return files;
}

// The shipped sample for models of this task.
fs::path default_input(const Model& model) {
  const std::string task = read_config_key(model.settings, "task");
  if (task == "imagenet") return shipped("samples/pictures");
  if (is_text_model(model)) fail("give texts to classify: files, folders, or - for standard input");
  return shipped(video_is_built_in() ? "samples/clip.avi" : "samples/sound.wav");
}

std::vector<Source> sources(const ClassifyArgs& args, const Model& model) {
  if (args.lines && !is_text_model(model)) fail("--lines is for models of texts");
  std::vector<std::string> inputs = args.inputs;
  if (inputs.empty()) inputs = {default_input(model).string()};
  std::vector<Source> all;
  for (const std::string& input : inputs) {
    if (input != "-" && fs::is_directory(input)) {
      for (const fs::path& path : files_for(model, input)) all.push_back({path.string()});
    } else if (args.lines) {
      int64_t number = 0;
      for (const std::string& line : lines_of(read_input(input).bytes)) {
        all.push_back({fmt::format("{}:{}", input, ++number), line});
      }
    } else if (input == "-") {
      all.push_back({input, read_input(input).bytes});
    } else {
      all.push_back({input});
      if (has_sound_ending(input)) {
        note(fmt::format("{}: has no picture: the model sees black frames", input));
      }
    }
  }
  return all;
}

// A batch that was read and decoded: inputs of each source, or why there are none.
struct Prepared {
  std::vector<Example> inputs;
  std::vector<std::string> errors;
};

Prepared prepare(const Task& task, std::span<const Source> sources) {
  Prepared prepared;
  for (const Source& source : sources) {
    Example inputs;
    std::string error;
    try {
      const File file = source.text ? File{source.name, *source.text} : read_file(source.name);
      inputs = task.read(std::span(&file, 1));
    } catch (const Error& e) {
      error = e.what();
    }
    prepared.inputs.push_back(std::move(inputs));
    prepared.errors.push_back(std::move(error));
  }
  return prepared;
}

// Probabilities [classes] of each source; undefined where it could not be read. The views of a
// source are averaged.
std::vector<Tensor> classify_batch(Task& task, const Prepared& prepared) {
  std::map<std::string, std::vector<Tensor>> arrays;
  for (const Example& inputs : prepared.inputs) {
    for (const auto& [name, array] : inputs) arrays[name].push_back(array);
  }
  std::vector<Tensor> results(prepared.inputs.size());
  if (arrays.empty()) return results;
  Example batch;
  for (const auto& [name, parts] : arrays) batch[name] = at::cat(parts);
  const Tensor probabilities = task.classify(batch).cpu();
  int64_t row = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (prepared.inputs[i].empty()) continue;
    const int64_t views = prepared.inputs[i].begin()->second.size(0);
    results[i] = probabilities.narrow(0, row, views).mean(0);
    row += views;
  }
  return results;
}

Json to_json(const Model& model, const Source& source, const Tensor& probabilities, int64_t top) {
  return {{"file", source.name}, {"top", likeliest_classes(model, probabilities, top)}};
}

void print_text(const Json& result) {
  fmt::print("{}\n", result["file"].get<std::string>());
  for (const Json& c : result["top"]) {
    fmt::print("  {:5.1f} %  {}\n", 100.0 * c["probability"].get<double>(),
               c["name"].get<std::string>());
  }
  std::fflush(stdout);
}

void classify(const ClassifyArgs& args) {
  Session session(args.session);
  Task& task = *session.model.task;
  const std::vector<Source> all = sources(args, session.model);
  const std::span<const Source> span(all);
  const auto prepare_from = [&](size_t begin) {
    const size_t count = std::min<size_t>(args.batch, all.size() - begin);
    // The next pictures are decoded while the model looks at these.
    return std::async(std::launch::async, prepare, std::cref(task), span.subspan(begin, count));
  };

  PassProgress progress("classify", attention_work(task.summary(Split::kEval)) * all.size());
  Json document = Json::array();
  size_t unreadable = 0;
  std::future<Prepared> next = prepare_from(0);
  for (size_t begin = 0; begin < all.size();) {
    const Prepared prepared = next.get();
    const size_t end = begin + prepared.inputs.size();
    if (end < all.size()) next = prepare_from(end);
    const std::vector<Tensor> results = classify_batch(task, prepared);
    progress.clear();
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined()) {
        ++unreadable;
        if (all.size() == 1) fail("{}", prepared.errors[i]);
        fmt::print(stderr, "perceiver: {}\n", prepared.errors[i]);
        continue;
      }
      Json result = to_json(session.model, all[begin + i], results[i], args.top);
      if (args.jsonl) {
        fmt::print("{}\n", result.dump(-1, ' ', false, Json::error_handler_t::replace));
        std::fflush(stdout);
      } else if (!args.json) {
        print_text(result);
      }
      if (args.json) document.push_back(std::move(result));
    }
    begin = end;
  }
  if (args.json) fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  if (unreadable > 0) fail("{} of {} inputs could not be read", unreadable, all.size());
}

}  // namespace

void add_classify_command(CLI::App& app) {
  auto args = std::make_shared<ClassifyArgs>();
  CLI::App* command =
      add_command(app, "classify", "Say what is in pictures, clips, sounds or texts",
                  "  perceiver classify\n"
                  "  perceiver classify cat.jpg\n"
                  "  perceiver classify photos/ -m deepmind/vision-perceiver-conv --jsonl\n"
                  "  echo 'a fine film' | perceiver classify - --lines -m my-text-classifier");
  command->add_option("inputs", args->inputs,
                      "Files or folders, as the model's task asks; - is the standard input; "
                      "default: a shipped sample");
  command->add_option("-k,--top", args->top, "Classes to name")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--batch", args->batch, "Files classified together")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_flag("--lines", args->lines, "Each line of a file is a text of its own");
  command->add_flag("--json", args->json, "One JSON document");
  command->add_flag("--jsonl", args->jsonl, "A line of JSON for each input as it is ready");
  add_session_options(*command, args->session, "image-mini");
  command->callback([args] { classify(*args); });
}

}  // namespace perceiver
