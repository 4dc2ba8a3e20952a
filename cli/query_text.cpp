#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <cctype>

#include "cli/format.h"
#include "cli/query.h"
#include "cli/selection.h"
#include "perceiver/core/error.h"
#include "perceiver/core/names.h"
#include "perceiver/tasks/glue/model.h"
#include "perceiver/tasks/language/latents.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

// "a", "\xC3", "[MASK]" as hardly anything else: "<3>".
std::string byte_name(int64_t id) {
  const int64_t byte = id - ByteTokenizer::kNumSpecial;
  if (byte < 0) return fmt::format("<{}>", id);
  if (byte > ' ' && byte < 0x7F) return std::string(1, static_cast<char>(byte));
  return byte == ' ' ? "' '" : fmt::format("\\x{:02X}", byte);
}

// One byte of a word: how likely the model finds it, and what it finds likelier.
struct ByteAnswer {
  std::string byte;
  double log_probability;
  std::vector<std::pair<std::string, double>> top;
};

ByteAnswer byte_answer(unsigned char byte, const Tensor& log_probabilities, int64_t top) {
  const int64_t id = byte + ByteTokenizer::kNumSpecial;
  ByteAnswer answer{byte_name(id), log_probabilities[id].item<double>(), {}};
  const auto [values, ids] = log_probabilities.exp().topk(std::min(top, log_probabilities.size(0)));
  for (int64_t i = 0; i < ids.size(0); ++i) {
    answer.top.emplace_back(byte_name(ids[i].item<int64_t>()), values[i].item<double>());
  }
  return answer;
}

Tensor ids_of(LanguageImpl& model, const LatentsFile& file, const std::string& path) {
  const int64_t rows = file.latents().size(0);
  const Tensor ids = required_array(file, "ids", at::kInt, {rows, kAny}, path);
  if (ids.size(1) > model.config().num_inputs || ids.lt(0).any().item<bool>() ||
      ids.ge(ByteTokenizer::kVocabularySize).any().item<bool>()) {
    fail("{}: 'ids' are not those of a text of at most {} bytes a row", path,
         model.config().num_inputs);
  }
  return ids;
}

}  // namespace

Answer ask_words(LanguageImpl& model, const LatentsFile& file, const QueryArgs& args) {
  const std::vector<PlacedWord> words = words_of(ids_of(model, file, args.file));
  const auto count = std::ssize(words);
  if (count == 0) fail("{}: its text has no words", args.file);
  const std::vector<int64_t> asked = parse_numbers(
      args.words.empty() ? fmt::format("1-{}", count) : args.words, count, "--words", "words");
  std::vector<BytePlace> places;
  for (const int64_t i : asked) {
    places.insert(places.end(), words[i].bytes.begin(), words[i].bytes.end());
  }
  const Tensor log_probabilities = log_probabilities_at(model, file.latents(), places);
  Answer answer{.json = {{"words", Json::array()}},
                .arrays = {{"log_probabilities", log_probabilities}}};
  std::vector<std::vector<std::string>> rows = {
      {"word", "byte", "log-probability", "likeliest bytes"}};
  int64_t place = 0;
  for (const int64_t i : asked) {
    Json bytes = Json::array();
    double sum = 0.0;
    for (const char byte : words[i].text) {
      const ByteAnswer one =
          byte_answer(static_cast<unsigned char>(byte), log_probabilities[place++], args.top);
      Json top = Json::array();
      std::vector<std::string> likeliest;
      for (const auto& [name, probability] : one.top) {
        top.push_back({{"byte", name}, {"probability", probability}});
        likeliest.push_back(fmt::format("{} {:.3f}", name, probability));
      }
      rows.push_back({bytes.empty() ? fmt::format("{} {}", i + 1, words[i].text) : "", one.byte,
                      fmt::format("{:.3f}", one.log_probability),
                      fmt::format("{}", fmt::join(likeliest, "  "))});
      sum += one.log_probability;
      bytes.push_back(
          {{"byte", one.byte}, {"log_probability", one.log_probability}, {"top", std::move(top)}});
    }
    answer.json["words"].push_back({{"number", i + 1},
                                    {"word", words[i].text},
                                    {"mean_log_probability", sum / words[i].text.size()},
                                    {"bytes", std::move(bytes)}});
  }
  answer.text = table(rows);
  return answer;
}

Answer ask_glue(GlueImpl& model, const LatentsFile& file, const QueryArgs& args) {
  const GlueConfig& config = model.config();
  const auto num_tasks = std::ssize(config.tasks);
  const bool own_latents = config.variant == GlueVariant::kTaskTokens;
  if (own_latents && file.latents().size(0) % num_tasks != 0) {
    fail("{}: {} arrays of latents are not one for each of {} tasks", args.file,
         file.latents().size(0), num_tasks);
  }
  Answer answer{.json = {{"tasks", Json::array()}}};
  std::vector<std::vector<std::string>> rows = {{"task", "answer"}};
  for (const std::string& task : args.tasks.empty() ? config.tasks : args.tasks) {
    const auto known = std::find(config.tasks.begin(), config.tasks.end(), task);
    if (known == config.tasks.end()) {
      fail("--tasks: the model has no task '{}'{}; it has {}", task,
           did_you_mean(task, config.tasks), fmt::join(config.tasks, ", "));
    }
    const int64_t index = known - config.tasks.begin();
    const Tensor own = own_latents ? file.latents().slice(0, index, {}, num_tasks) : file.latents();
    Tensor values =
        model.answers(own.to(model.parameters().front().options()), index).to(at::kCPU, at::kFloat);
    const bool classes = values.size(1) > 1;
    values = (classes ? values.softmax(-1) : values).mean(0);
    const std::vector<float> numbers(values.data_ptr<float>(),
                                     values.data_ptr<float>() + values.numel());
    answer.json["tasks"].push_back(
        {{"task", task}, {classes ? "probabilities" : "value", numbers}});
    rows.push_back({task, fmt::format("{:.3f}", fmt::join(numbers, " "))});
    answer.arrays.emplace_back(task, values);
  }
  answer.text = table(rows);
  return answer;
}

}  // namespace perceiver
