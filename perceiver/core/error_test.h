// For tests of what a user is told.
#pragma once

#include <functional>
#include <string>

#include "perceiver/core/error.h"

namespace perceiver {

// The message of the Error that `call` throws, or "no error".
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace perceiver
