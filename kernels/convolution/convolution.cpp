#include "kernels/convolution/convolution.hpp"

#include <ATen/ATen.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/tuning.hpp"

namespace harness::kernels {
namespace {

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kData,
                                       ConvolutionPass::kWeights};

struct Found {
  /// The last: of the tuning that it follows, else 0.
  using Key = std::tuple<ConvolutionShape, ConvolutionAlgorithm, std::size_t>;
  std::mutex mutex{};
  std::map<Key, std::unique_ptr<Convolution>> convolutions{};
};

Found& all_found() {
  static Found one;
  return one;
}

/// What this thread found last for a few shapes. A model asks for the same ones again at each step,
/// and the map of all takes longer to look through than a small convolution's product.
class FoundLately {
 public:
  struct Entry {
    ConvolutionShape shape{};
    ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kDirect;
    std::size_t generation = 0;
    Convolution* convolution = nullptr;  ///< null: nothing yet
  };

  /// Where the one for that shape is if it is there, and is to be put if not.
  Entry& at(const ConvolutionShape& s) {
    auto hash = static_cast<std::uint64_t>(s.batch);
    for (const int64_t part : {s.in_channels, s.in_height, s.in_width, s.out_channels,
                               s.kernel_height, s.stride, s.groups, int64_t{s.relu}}) {
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
    }
    return entries_[hash >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 8;
  std::array<Entry, std::size_t{1} << kBits> entries_{};
};

/// The gradient before the ReLU, for whoever applies no mask.
at::Tensor masked(const at::Tensor& grad_output, const at::Tensor& activated) {
  return activated.defined() ? at::threshold_backward(grad_output, activated, 0) : grad_output;
}

}  // namespace

std::string problem_of(const ConvolutionShape& s) {
  std::ostringstream text;
  const auto along = [&](char axis, int64_t in, int64_t out, int64_t kernel) {
    text << "_i" << axis << in << 'o' << axis << out << 'k' << axis << kernel << 's' << axis
         << s.stride << 'd' << axis << 0 << 'p' << axis << s.padding;
  };
  if (s.groups > 1) text << 'g' << s.groups;
  text << "mb" << s.batch << "_ic" << s.in_channels << "oc" << s.out_channels;
  along('h', s.in_height, s.out_height(), s.kernel_height);
  along('w', s.in_width, s.out_width(), s.kernel_width);
  return text.str();
}

KernelFacts convolution_facts(const ConvolutionShape& s, const char* implementation,
                              const char* direction) {
  const auto in = static_cast<double>(s.batch * s.in_channels * s.in_height * s.in_width);
  const auto out = static_cast<double>(s.batch * s.out_channels * s.out_height() * s.out_width());
  const int64_t depth = s.in_channels / s.groups * s.kernel_height * s.kernel_width;
  const auto weights = static_cast<double>(s.out_channels * depth);
  const bool bf16 = s.type == at::kBFloat16;
  const double width = bf16 ? 2 : 4;
  return {"convolution",
          implementation,
          direction,
          bf16 ? "bf16" : "f32",
          problem_of(s),
          2 * out * static_cast<double>(depth),
          width * (in + out) + 4 * weights};
}

std::map<ConvolutionChoice, std::int64_t> convolutions_run() {
  std::map<ConvolutionChoice, std::int64_t> choices;
  Found& found = all_found();
  const std::lock_guard<std::mutex> lock(found.mutex);
  for (const auto& [key, convolution] : found.convolutions) {
    if (!convolution) continue;
    const ConvolutionShape& shape = convolution->shape();
    for (const ConvolutionPass pass : kPasses) {
      const Convolution::OfPass& chosen = convolution->of(pass);
      if (chosen.calls == 0) continue;
      choices[{problem_of(shape), shape.type, pass, chosen.name,
               chosen.kernel->implementation(pass), convolution_kernel(chosen.name).work}] +=
          chosen.calls;
    }
  }
  return choices;
}

Convolution* Convolution::find(const ConvolutionShape& shape, ConvolutionAlgorithm algorithm) {
  const std::size_t generation =
      algorithm == ConvolutionAlgorithm::kTuned ? tuning_generation() : 0;
  thread_local FoundLately lately;
  FoundLately::Entry& last = lately.at(shape);
  if (last.convolution == nullptr || last.generation != generation || last.algorithm != algorithm ||
      last.shape != shape) {
    last = {shape, algorithm, generation, find_or_make(shape, algorithm, generation)};
  }
  return last.convolution;
}

Convolution* Convolution::find_or_make(const ConvolutionShape& shape,
                                       ConvolutionAlgorithm algorithm, std::size_t generation) {
  const bool tuned = algorithm == ConvolutionAlgorithm::kTuned;
  Found& found = all_found();
  const std::lock_guard<std::mutex> lock(found.mutex);
  const auto [place, fresh] = found.convolutions.try_emplace({shape, algorithm, generation});
  if (!fresh) return place->second.get();
  std::map<ConvolutionPass, std::string> names;
  for (const ConvolutionPass pass : kPasses) {
    names[pass] = tuned ? tuned_kernel(shape, pass) : choose_kernel(shape, pass, algorithm);
  }
  std::unique_ptr<Convolution> made(new Convolution(shape));
  const ConvolutionPasses left = made->take(names);
  if (!left.empty()) {
    names.clear();
    for (const ConvolutionPass pass : left) {
      names[pass] = choose_kernel(shape, pass, ConvolutionAlgorithm::kDirect);
    }
    if (!made->take(names).empty()) return nullptr;
  }
  place->second = std::move(made);
  return place->second.get();
}

ConvolutionPasses Convolution::take(const std::map<ConvolutionPass, std::string>& names) {
  std::map<std::string, ConvolutionPasses> passes_of;
  for (const auto& [pass, name] : names) passes_of[name].insert(pass);
  ConvolutionPasses left;
  for (const auto& [name, passes] : passes_of) {
    const std::shared_ptr<ConvolutionKernel> kernel = convolution_kernel(name).make(shape_, passes);
    for (const ConvolutionPass pass : passes) {
      if (kernel) {
        of(pass).name = name;
        of(pass).kernel = kernel;
      } else {
        left.insert(pass);
      }
    }
  }
  return left;
}

Convolution::OfPass& Convolution::of(ConvolutionPass pass) {
  return passes_.at(static_cast<std::size_t>(pass));
}

const Convolution::OfPass& Convolution::of(ConvolutionPass pass) const {
  return passes_.at(static_cast<std::size_t>(pass));
}

Convolution& Convolution::direct() {
  Convolution* const found = find(shape_, ConvolutionAlgorithm::kDirect);
  if (found == nullptr) throw std::runtime_error("no direct convolution of " + problem_of(shape_));
  return *found;
}

at::Tensor Convolution::forward(const at::Tensor& input, const ConvolutionWeights& weights,
                                const at::Tensor& bias, const at::Tensor& residual) {
  OfPass& chosen = of(ConvolutionPass::kForward);
  at::Tensor output = chosen.kernel->forward(input, weights, bias, residual);
  if (!output.defined()) return direct().forward(input, weights, bias, residual);
  ++chosen.calls;
  return output;
}

bool Convolution::applies_mask() const {
  return of(ConvolutionPass::kData).kernel->applies_mask() &&
         of(ConvolutionPass::kWeights).kernel->applies_mask();
}

at::Tensor Convolution::backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                                      const ConvolutionWeights& weights) {
  OfPass& chosen = of(ConvolutionPass::kData);
  at::Tensor gradient = chosen.kernel->backward_data(grad_output, activated, weights);
  if (!gradient.defined()) {
    return direct().backward_data(masked(grad_output, activated), {}, weights);
  }
  ++chosen.calls;
  return gradient;
}

at::Tensor Convolution::backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                                         const at::Tensor& activated,
                                         const ConvolutionWeights& weights,
                                         const at::Tensor& grad_bias) {
  OfPass& chosen = of(ConvolutionPass::kWeights);
  at::Tensor gradient =
      chosen.kernel->backward_weights(input, grad_output, activated, weights, grad_bias);
  if (!gradient.defined()) {
    return direct().backward_weights(input, masked(grad_output, activated), {}, weights, grad_bias);
  }
  ++chosen.calls;
  return gradient;
}

at::Tensor Convolution::backward_bias(const at::Tensor& grad_output, const at::Tensor& activated) {
  return masked(grad_output, activated).sum({0, 2, 3}, false, at::kFloat);
}

std::string Convolution::description() const {
  std::string text;
  for (const ConvolutionPass pass : kPasses) {
    text += (text.empty() ? "" : ", ") + of(pass).kernel->implementation(pass);
  }
  return text;
}

}  // namespace harness::kernels
