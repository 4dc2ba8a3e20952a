// What a caller can learn while a function of the library works. Nothing is printed by itself.
#pragma once

#include <functional>
#include <string>

#include "perceiver/model/summary.h"

namespace perceiver {

struct Hooks {
  // Something worth knowing that is no error.
  std::function<void(const std::string& message)> note = {};

  // Called before the model runs: what it is about to do, and how much attention that will be, in
  // the unit of attention_work(). An AttentionCounter made there sees how far it has come.
  std::function<void(const std::string& what, double work)> work = {};

  void tell(const std::string& message) const {
    if (note) note(message);
  }
  void begin(const std::string& what, double amount) const {
    if (work) work(what, amount);
  }
};

// The attention of a forward pass of one example, in multiplications.
double attention_work(const ModelSummary& summary);

// The same of the parts whose names begin so: "encoder.", "decoder.".
double attention_work(const ModelSummary& summary, std::string_view prefix);

}  // namespace perceiver
