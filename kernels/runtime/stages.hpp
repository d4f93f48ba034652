// Where the time inside an operator goes: ConvBench's breakdown of a convolution.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace harness::kernels {

/// Seconds since the last take_stages(), by stage; `pack` brings weights into a kernel's order,
/// `convolution` computes, `unpack` brings gradients back into the parameters'. Empty when no
/// kernel that reports them has run: LibTorch's own do not.
std::map<std::string, double> take_stages();

/// Adds its lifetime to a stage. `name` is one of the above.
class Stage {
 public:
  explicit Stage(const char* name) : name_(name), start_(std::chrono::steady_clock::now()) {}
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  const char* name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace harness::kernels
