// Which of a task's examples and queries are meant.
#pragma once

namespace perceiver {

enum class Split { kTrain, kEval };

}  // namespace perceiver
