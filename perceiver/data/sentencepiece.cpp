#include "perceiver/data/sentencepiece.h"

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/data/documents.h"

#ifdef PERCEIVER_SENTENCEPIECE
#include <sentencepiece_trainer.h>

#include <limits>
#include <sstream>
#include <unordered_map>

namespace perceiver {
namespace {

// The lines of all documents: the library leaves out what is longer than some thousand bytes.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const Documents& documents) : documents_(documents) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    while (!std::getline(text_, line_)) {
      done_ = index_ == documents_.size();
      if (done_) return;
      Rng rng(0);  // nothing is cut: nothing is random
      text_ = std::istringstream(
          documents_.window(index_++, 1, std::numeric_limits<int64_t>::max(), rng));
    }
  }

 private:
  const Documents& documents_;
  int64_t index_ = 0;
  std::istringstream text_;
  std::string line_;
  bool done_ = false;
};

// Behind the place in its code and the condition it asserts stands the library's own sentence. The
// one that most people meet is better said in our words: sometimes there is no sentence.
std::string reason_in(const std::string& message) {
  if (message.find("required_chars") != message.npos) {
    return "every character needs a piece, and there are more of them; take a larger --vocabulary";
  }
  const size_t end = message.rfind("] ");
  return end == message.npos ? message : message.substr(end + 2);
}

}  // namespace

void train_sentencepiece(const std::vector<std::string>& paths, const std::filesystem::path& output,
                         int64_t vocabulary_size) {
  const Documents documents(paths, DocumentUnit::kLine);
  if (documents.size() == 0) fail("{}: there is no text in it", paths[0]);
  Lines lines(documents);
  std::string model;
  const std::unordered_map<std::string, std::string> arguments = {
      {"model_type", "unigram"},
      {"vocab_size", std::to_string(vocabulary_size)},
      {"pad_id", "3"},
      {"control_symbols", "[MASK],[CLS],[SEP]"},
      {"input_sentence_size", "5000000"},  // as good as all, and they fit in memory
      {"minloglevel", "2"}};
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &lines, &model);
  if (!status.ok()) {
    fail("sentencepiece cannot make {} pieces of these texts: {}", vocabulary_size,
         reason_in(status.ToString()));
  }
  write_file(output, model);
}

}  // namespace perceiver

#else

namespace perceiver {

void train_sentencepiece(const std::vector<std::string>&, const std::filesystem::path& output,
                         int64_t) {
  fail("{}: this build has no SentencePiece; install libsentencepiece-dev and build again",
       output.string());
}

}  // namespace perceiver

#endif
