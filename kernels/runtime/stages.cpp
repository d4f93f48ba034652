#include "kernels/runtime/stages.hpp"

#include <mutex>
#include <utility>

namespace harness::kernels {
namespace {

std::mutex mutex;
std::map<std::string, double> seconds;

}  // namespace

std::map<std::string, double> take_stages() {
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(seconds, {});
}

Stage::~Stage() {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
  const std::lock_guard<std::mutex> lock(mutex);
  seconds[name_] += spent.count();
}

}  // namespace harness::kernels
