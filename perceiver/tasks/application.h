// What people do with the models of a task: their files in; classes, latents, answers and pictures
// out.
#pragma once

#include "perceiver/tasks/task.h"

namespace perceiver {

class ModelTokenizer;
struct Answer;
struct Hooks;
struct LatentsFile;
struct Query;

// What files the models of a task read. A clip may be a sound alone. Files of arrays are left where
// they lie, to be mapped: a File of one without bytes is a name.
enum class InputKind { kText, kPicture, kFramePair, kClip, kArrays };

// How a part of the input array looks to a person.
struct InputView {
  std::string modality;
  int64_t first = 0;                    // of its elements in the input array
  std::vector<int64_t> grid;            // of its elements: {H, W}, {T, H, W}, or their number
  Tensor pictures = {};                 // uint8 [T, 3, H, W] of what is in the grid, if it is seen
  std::vector<std::string> texts = {};  // what each element stands for, if it is read
};

// One of several tasks that a model answers about a text: GLUE's.
struct TextTask {
  std::string name;
  bool takes_pair;                   // of texts
  std::vector<std::string> classes;  // none: a value
};

// A task that reads files. What else it does not define, it cannot do, and says so.
class Application : public Task {
 public:
  Application* application() override { return this; }

  virtual InputKind reads() const = 0;

  // A user's file, or two where the model takes pairs, as the model's inputs. Several rows are
  // views of one input: the overlapping clips of a longer one.
  virtual Example read(std::span<const File> files) const = 0;

  // Of a task that reads texts: what makes ids of them. Told once where the model lies.
  virtual ModelTokenizer* tokenizer() { return nullptr; }

  // inputs of read(), on any device -> probabilities of the classes [B, classes].
  virtual Tensor classify(const Example& inputs);

  // The tasks that a model of several answers; none where it has but one.
  virtual std::vector<TextTask> text_tasks() const { return {}; }

  // Of these some, by number: inputs of read() -> of each its probabilities [B, classes], or its
  // values [B, 1]. The texts are encoded once, or, where each task has a token, once for each.
  virtual std::vector<Tensor> answer_tasks(const Example& inputs, std::span<const int64_t> tasks);

  // inputs of read() -> latents [B, N, D]
  virtual Tensor encode(const Example& inputs);

  // The latents of a user's files, and what queries need beside them: into arrays and geometry.
  virtual void encode_files(std::span<const File> files, LatentsFile& file, const Hooks& hooks);

  // What can be asked of these latents, by the names of the options: "--pixels".
  virtual std::vector<std::string> questions() const { return {"--label"}; }

  // What the latents of encode_files() answer; `labels` are names of the classes.
  virtual Answer answer(const LatentsFile& file, const Query& query,
                        const std::vector<std::string>& labels);

  // The first row of what read() gave, to be drawn on.
  virtual std::vector<InputView> views(const Example& inputs) const;
};

}  // namespace perceiver
