#include "kernels/bench/case.hpp"
#include "kernels/optimizer/optimizer.hpp"

namespace harness::kernels::bench {
namespace {

/// Convolutions alike: output channels, input channels of a group, kernel.
struct Layers {
  int64_t count, out, in, kernel;
  bool bias = false;
};

/// What a detector trains (see kernels/conv_block/problems.hpp): body from layer2 on, pyramid, two
/// heads.
const Layers kTrained[] = {
    {1, 256, 256, 1},        {4, 256, 8, 3},          {5, 512, 256, 1},
    {3, 256, 512, 1},        {1, 512, 512, 1},        {6, 512, 16, 3},
    {7, 1024, 512, 1},       {5, 512, 1024, 1},       {1, 1024, 1024, 1},
    {3, 1024, 32, 3},        {4, 2048, 1024, 1},      {2, 1024, 2048, 1},
    {1, 256, 512, 1, true},  {1, 256, 1024, 1, true}, {1, 256, 2048, 1, true},
    {13, 256, 256, 3, true}, {1, 2376, 256, 3, true}, {1, 36, 256, 3, true},
};

/// Of all, or of one of each of the first three kinds.
std::vector<std::vector<int64_t>> parameter_shapes(bool all_layers) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Layers& layers : kTrained) {
    for (int64_t i = 0; i < (all_layers ? layers.count : 1); ++i) {
      shapes.push_back({layers.out, layers.in, layers.kernel, layers.kernel});
      if (layers.bias) shapes.push_back({layers.out});
    }
    if (!all_layers && shapes.size() == 3) break;
  }
  return shapes;
}

int64_t elements(const std::vector<std::vector<int64_t>>& shapes) {
  int64_t sum = 0;
  for (const std::vector<int64_t>& shape : shapes) sum += c10::multiply_integers(shape);
  return sum;
}

class OptimizerCase : public Case {
 public:
  OptimizerCase(bool all_layers, const std::string& implementation)
      : step_(optimizer_operator().get(implementation)) {
    at::manual_seed(3);
    std::vector<at::Tensor> parameters;
    for (const std::vector<int64_t>& shape : parameter_shapes(all_layers)) {
      const auto format =
          shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
      // From 0 they show every bit of what a step adds to them.
      parameters.push_back(at::zeros(shape).contiguous(format).set_requires_grad(true));
      parameters.back().mutable_grad() = (at::randn(shape) * 1e-2).contiguous(format);
    }
    state_ = make_adam_state(std::move(parameters));
  }

  void run() override { step_(state_, 1e-4); }
  std::vector<at::Tensor> results() const override {
    std::vector<at::Tensor> all;
    for (const auto* part : {&state_.parameters, &state_.first_moments, &state_.second_moments}) {
      for (const at::Tensor& tensor : *part) all.push_back(tensor.detach());
    }
    return all;
  }

 private:
  AdamFn* step_;
  AdamState state_;
};

CaseInfo optimizer_case(bool all_layers) {
  const auto shapes = parameter_shapes(all_layers);
  CaseInfo info{
      .op = &optimizer_operator(),
      .shape = std::to_string(shapes.size()) + "tensors_" + std::to_string(elements(shapes)),
      .typical = all_layers,
      // Four tensors read, three written.
      .bytes = 7 * 4 * static_cast<double>(elements(shapes)),
      .tolerance = 1e-5};
  info.make = [all_layers](const std::string& implementation) {
    return std::make_unique<OptimizerCase>(all_layers, implementation);
  };
  return info;
}

}  // namespace

std::vector<CaseInfo> optimizer_cases() { return {optimizer_case(false), optimizer_case(true)}; }

}  // namespace harness::kernels::bench
