#include <set>
#include <sstream>

#include "kernels/bench/case.hpp"
#include "kernels/conv_block/block.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/conv_block/problems.hpp"
#include "kernels/runtime/autocast.hpp"

namespace harness::kernels::bench {
namespace {

/// In benchdnn's problem syntax, and what is fused behind it.
std::string shape_of(const ConvProblem& problem) {
  std::ostringstream text;
  if (problem.groups > 1) text << 'g' << problem.groups;
  text << "mb" << problem.batch << "ic" << problem.in_channels << "ih" << problem.in_height << "oc"
       << problem.out_channels << "oh" << problem.out_height << "kh" << problem.kernel_height;
  if (problem.stride > 1) text << "sh" << problem.stride;
  text << "ph" << problem.padding;
  if (problem.bias) text << "_bias";
  if (problem.norm) text << "_norm";
  if (problem.residual) text << "_add";
  if (problem.relu) text << "_relu";
  if (!problem.trained) text << "_frozen";
  return text.str();
}

class ConvBlockCase : public Case {
 public:
  ConvBlockCase(const ConvProblem& problem, bool bf16, const std::string& implementation)
      : convolve_(conv_block_operator().get(implementation)), bf16_(bf16) {
    at::manual_seed(4);
    block_ = make_conv_block(problem, bf16);
    leaves_ = {block_.input, block_.weight};
    if (block_.bias) leaves_.push_back(*block_.bias);
    if (!problem.trained) return;
    // Where the output is nearly 0, rounding decides whether the ReLU lets the gradient through.
    const at::Tensor output = forward(conv_block_operator().get("reference")).detach();
    if (problem.relu) block_.gradient.mul_(output.abs() > (bf16 ? 0.1 : 1e-3));
  }

  void run() override {
    for (at::Tensor& leaf : leaves_) leaf.mutable_grad() = at::Tensor();
    // As after an optimiser's step: what was made of the weights has to be made anew.
    block_.weight.unsafeGetTensorImpl()->bump_version();
    output_ = forward(convolve_);
    if (!block_.problem.trained) return;
    if (gradient_.dtype() != output_.dtype()) gradient_ = block_.gradient.to(output_.scalar_type());
    output_.backward(gradient_);
  }

  std::vector<at::Tensor> results() const override {
    std::vector<at::Tensor> all = {output_.detach()};
    for (const at::Tensor& leaf : leaves_) all.push_back(leaf.grad());
    return all;
  }

 private:
  at::Tensor forward(ConvBlockFn* convolve) const {
    const AutocastScope autocast(bf16_);
    return convolve(block_.arguments());
  }

  ConvBlockFn* convolve_;
  bool bf16_;
  ConvBlock block_;
  std::vector<at::Tensor> leaves_;
  at::Tensor gradient_{};  ///< in the output's type
  at::Tensor output_{};
};

CaseInfo conv_block_case(const ConvProblem& problem, bool bf16, bool typical) {
  const double passes = problem.trained ? 3 : 1;
  const double elements =
      problem.input_elements() + problem.output_elements() + problem.weight_elements();
  CaseInfo info{.op = &conv_block_operator(),
                .shape = shape_of(problem),
                .precision = bf16 ? "bf16" : "fp32",
                .typical = typical,
                .flops = passes * problem.flops(),
                .bytes = passes * elements * (bf16 ? 2 : 4),
                .tolerance = bf16 ? 2e-2 : 1e-5};
  info.make = [problem, bf16](const std::string& implementation) {
    return std::make_unique<ConvBlockCase>(problem, bf16, implementation);
  };
  return info;
}

/// One of each kind: grouped with and without stride, 1x1 with residual, 1x1 strided, the largest
/// of a tower and of the outputs, and the smallest.
bool is_typical(const ConvProblem& problem) {
  const std::set<std::string> chosen = {"layer2.0.conv2.100", "layer2.1.conv2.100",
                                        "layer3.1.conv2.50", "layer3.0.conv3.50",
                                        "layer3.0.downsample.0.50"};
  return chosen.contains(problem.name) || problem.name.ends_with(".conv.0.100") ||
         problem.name.ends_with("cls_logits.100") || problem.name.ends_with(".conv.0.7");
}

}  // namespace

std::vector<CaseInfo> conv_block_cases() {
  // Small enough for a test of the program itself.
  const ConvProblem tiny{.batch = 1,
                         .groups = 2,
                         .in_channels = 8,
                         .in_height = 8,
                         .in_width = 8,
                         .out_channels = 8,
                         .out_height = 8,
                         .out_width = 8,
                         .kernel_height = 3,
                         .kernel_width = 3,
                         .padding = 1,
                         .norm = true,
                         .relu = true};
  const auto problems = detector_problems();
  std::vector<CaseInfo> cases;
  for (const bool bf16 : {false, true}) {
    cases.push_back(conv_block_case(tiny, bf16, false));
    for (const ConvProblem& problem : problems) {
      cases.push_back(conv_block_case(problem, bf16, is_typical(problem)));
    }
  }
  return cases;
}

}  // namespace harness::kernels::bench
