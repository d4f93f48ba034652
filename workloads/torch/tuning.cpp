#include "workloads/torch/tuning.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/problem.hpp"
#include "harness/base/text.hpp"
#include "kernels/convolution/tuning.hpp"
#include "kernels/replay/replay.hpp"
#include "workloads/torch/replayer.hpp"

namespace harness::workloads {
namespace {

using kernels::ConvolutionPass;

constexpr std::array<std::pair<ConvolutionPass, const char*>, 3> kPassNames = {
    {{ConvolutionPass::kForward, "forward"},
     {ConvolutionPass::kData, "backward_data"},
     {ConvolutionPass::kWeights, "backward_weights"}}};

ConvolutionPass pass_of(const std::string& name) {
  for (const auto& [pass, known] : kPassNames) {
    if (name == known) return pass;
  }
  throw std::invalid_argument("no pass is named '" + name + "'");
}

std::string name_of(ConvolutionPass wanted) {
  for (const auto& [pass, name] : kPassNames) {
    if (pass == wanted) return name;
  }
  throw std::logic_error("a pass without a name");
}

kernels::ConvolutionShape shape_of(const TuningProblem& problem) {
  const auto named = ConvolutionExtents::parse(problem.problem);
  if (!named) throw Error(printable(problem.problem), "is no convolution's problem");
  kernels::ConvolutionShape shape{.batch = named->of("mb"),
                                  .in_channels = named->of("ic"),
                                  .in_height = named->of("ih"),
                                  .in_width = named->of("iw"),
                                  .out_channels = named->of("oc"),
                                  .kernel_height = named->of("kh"),
                                  .kernel_width = named->of("kw"),
                                  .stride = named->of("sh"),
                                  .padding = named->of("ph"),
                                  .groups = named->of("g"),
                                  .type = problem.type == "bf16" ? at::kBFloat16 : at::kFloat,
                                  .threads = problem.threads};
  // As most layers have it; what is fused changes little, and nothing about the order.
  shape.bias = shape.relu = problem.pass == "forward";
  return shape;
}

class Candidates final : public KernelCandidates {
 public:
  Candidates(kernels::CandidateUse use, const ReplaySizes& sizes)
      : use_(use), memory_(sizes.cache_bytes, sizes.most_bytes) {}

  std::string instruction_set() const override { return kernels::onednn_instruction_set(); }

  std::vector<std::string> names(const TuningProblem& problem) override {
    const kernels::ConvolutionShape shape = shape_of(problem);
    const ConvolutionPass pass = pass_of(problem.pass);
    std::vector<std::string> names = kernels::convolution_candidates(shape, pass);
    const std::string usual = kernels::untuned_kernel(shape, pass);
    std::stable_partition(names.begin(), names.end(),
                          [&](const std::string& name) { return name == usual; });
    return names;
  }

  std::unique_ptr<PreparedPrimitive> prepare(const TuningProblem& problem,
                                             const std::string& kernel) override {
    try {
      return as_prepared(kernels::make_candidate_replay(kernel, shape_of(problem),
                                                        pass_of(problem.pass), use_, memory_));
    } catch (const std::exception& error) {
      throw Error(kernel + " for " + problem.problem, reason(error));
    }
  }

 private:
  kernels::CandidateUse use_;
  kernels::ReplayMemory memory_;
};

}  // namespace

std::unique_ptr<KernelCandidates> make_candidates(kernels::CandidateUse use,
                                                  const ReplaySizes& sizes) {
  return std::make_unique<Candidates>(use, sizes);
}

void use_tuning(const TuningTable& table) {
  try {
    std::vector<kernels::TunedConvolution> lines;
    for (const auto& [problem, line] : table.lines) {
      lines.push_back({problem.problem, problem.type == "bf16" ? at::kBFloat16 : at::kFloat,
                       pass_of(problem.pass), problem.threads, line.kernel});
    }
    kernels::use_tuning(lines);
  } catch (const std::invalid_argument& error) {
    throw Error("the tuning table", error.what(), "make one with this version: harness tune");
  }
}

std::vector<KernelChoice> kernel_choices() {
  std::vector<KernelChoice> choices;
  for (const auto& [choice, calls] : kernels::convolutions_run()) {
    choices.push_back({"conv-block", choice.problem, choice.type == at::kBFloat16 ? "bf16" : "f32",
                       name_of(choice.pass), choice.kernel, choice.implementation, calls,
                       choice.work});
  }
  return choices;
}

}  // namespace harness::workloads
