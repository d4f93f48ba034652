// Of gloo, which LibTorch holds without its headers: what LibTorch's own header needs to see.
#pragma once

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
