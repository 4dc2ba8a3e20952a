// What Python sees of an error: one sentence.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <utility>

#include "perceiver/core/error.h"

namespace perceiver {

// work(); LibTorch's errors lose the C++ stack that they carry.
template <typename Work>
auto plainly(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const c10::Error& e) {
    const std::string message = e.what_without_backtrace();
    throw Error(message.substr(0, message.find('\n')));
  }
}

}  // namespace perceiver
