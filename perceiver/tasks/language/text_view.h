#pragma once

#include "perceiver/tasks/application.h"

namespace perceiver {

// The first row of read_bytes() as a person reads it, byte by byte; marks show as [CLS].
InputView view_of_bytes(const Example& inputs);

}  // namespace perceiver
