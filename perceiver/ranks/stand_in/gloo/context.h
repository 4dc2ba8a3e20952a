// In place of gloo's own header: see README.md.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = 0;
};

}  // namespace transport
}  // namespace gloo
