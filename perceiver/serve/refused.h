// Why a request is not answered, with the code that says so.
#pragma once

#include "perceiver/core/error.h"

namespace perceiver {

class Refused : public Error {
 public:
  Refused(int status, const std::string& message) : Error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

template <typename... Args>
[[noreturn]] void refuse(int status, fmt::format_string<Args...> message, Args&&... args) {
  throw Refused(status, fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace perceiver
