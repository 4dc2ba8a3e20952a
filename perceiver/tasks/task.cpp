#include "perceiver/tasks/task.h"

#include "perceiver/core/error.h"

namespace perceiver {

Example Task::read(std::span<const File>) const { fail("models of this task read no files yet"); }

Tensor Task::classify(const Example&) { fail("models of this task have no classes"); }

Tensor Task::encode(const Example&) { fail("models of this task have no latents"); }

}  // namespace perceiver
