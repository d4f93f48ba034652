#include "kernels/convolution/tuning.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/convolution/kernel.hpp"

namespace harness::kernels {
namespace {

using Key = std::tuple<std::string, at::ScalarType, ConvolutionPass, int>;

struct Tuning {
  std::mutex mutex{};
  std::map<Key, std::string> kernels{};
  std::atomic<std::size_t> generation = 0;  ///< read without the mutex, at each call
};

Tuning& tuning() {
  static Tuning one;
  return one;
}

bool exact_enough(const ConvolutionKernelInfo& info, ConvolutionPass pass, at::ScalarType type) {
  return info.exact == nullptr || info.exact(pass, type);
}

}  // namespace

void use_tuning(const std::vector<TunedConvolution>& lines) {
  std::map<Key, std::string> kernels;
  for (const TunedConvolution& line : lines) {
    const std::string where = "'" + line.kernel + "' for " + line.problem;
    if (!exact_enough(convolution_kernel(line.kernel), line.pass, line.type)) {
      throw std::invalid_argument(where + " is not exact enough for that pass");
    }
    const Key key{line.problem, line.type, line.pass, line.threads};
    if (!kernels.emplace(key, line.kernel).second) {
      throw std::invalid_argument(where + " is the second line of that problem");
    }
  }
  Tuning& now = tuning();
  const std::lock_guard<std::mutex> lock(now.mutex);
  if (now.kernels == kernels) return;
  now.kernels = std::move(kernels);
  ++now.generation;
}

std::string tuned_kernel(const ConvolutionShape& shape, ConvolutionPass pass) {
  Tuning& now = tuning();
  const std::lock_guard<std::mutex> lock(now.mutex);
  const auto found = now.kernels.find({problem_of(shape), shape.type, pass, shape.threads});
  // A table may name what cannot compute this after all.
  const bool known =
      found != now.kernels.end() && convolution_kernel(found->second).computes(shape, pass);
  return known ? found->second : untuned_kernel(shape, pass);
}

std::string untuned_kernel(const ConvolutionShape& shape, ConvolutionPass pass) {
  return choose_kernel(shape, pass, ConvolutionAlgorithm::kTuned);
}

std::size_t tuning_generation() { return tuning().generation; }

std::vector<std::string> convolution_candidates(const ConvolutionShape& shape,
                                                ConvolutionPass pass) {
  std::vector<std::string> names;
  for (const ConvolutionKernelInfo* info : convolution_kernels()) {
    if (exact_enough(*info, pass, shape.type) && info->computes(shape, pass)) {
      names.push_back(info->name);
    }
  }
  return names;
}

}  // namespace harness::kernels
