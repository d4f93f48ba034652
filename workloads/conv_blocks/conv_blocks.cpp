// Conv blocks one by one: forward, gradient by data, gradient by weights, for every distinct block
// of RetinaNet or those of a file in benchdnn's problem syntax.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/quality.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/conv_block/block.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "kernels/runtime/stages.hpp"
#include "workloads/conv_blocks/problems.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {
namespace {

constexpr const char* kBuiltInShapes = "workloads/conv_blocks/retinanet.txt";
constexpr std::size_t kLargestFile = 1 << 20;

// bf16 keeps 8 bits: a rounded operand is off by 2^-9 at most and sums of many average out; eager
// bf16 shows up to 4e-3 on these shapes (see tests/kernels/conv_block_test.cpp), float32 up to
// 3e-7.
constexpr double kTolerance[2] = {1e-5, 1e-2};

/// A block with the names of its phases.
struct Block : kernels::ConvBlock {
  std::string forward{}, data{}, weights{};
};

Block make_block(const ConvProblem& problem, bool bf16) {
  return {kernels::make_conv_block(problem, bf16), problem.name + ".forward",
          problem.name + ".backward-data", problem.name + ".backward-weights"};
}

at::Tensor exact(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).set_requires_grad(tensor.requires_grad());
}

Block in_double(const Block& block) {
  Block copy = block;
  copy.input = exact(block.input);
  copy.weight = exact(block.weight);
  if (block.bias) copy.bias = exact(*block.bias);
  if (block.residual) copy.residual = exact(*block.residual);
  if (block.problem.norm) {
    copy.norm = {exact(block.norm.weight), exact(block.norm.bias), exact(block.norm.running_mean),
                 exact(block.norm.running_var), block.norm.eps};
  }
  return copy;
}

struct Shapes {
  Artifact artifact{};
  std::vector<ConvProblem> problems{};  ///< at the batch size of the run
};

Shapes read_shapes(const WorkloadContext& context) {
  const std::string& file = context.settings.at("shapes");
  const auto path = file.empty() ? context.home / kBuiltInShapes : std::filesystem::path(file);
  const std::string text = read_file(path, kLargestFile);
  Shapes shapes{{"shapes", path.filename().string(), sha256_hex(text), {}},
                parse_problems(text, path.string())};
  for (ConvProblem& problem : shapes.problems) problem.batch *= context.batch_size;
  return shapes;
}

class ConvBlocks : public TorchWorkload, public Steps {
 public:
  Description describe(const WorkloadContext& context) const override {
    double held = 0;
    double largest = 0;  // one block at a time runs, and is computed in double precision too
    for (const ConvProblem& problem : read_shapes(context).problems) {
      const double in = problem.input_elements();
      const double out = problem.output_elements();
      const double weights = problem.weight_elements();
      held += 4 * (in + (problem.residual ? 2 : 1) * out + weights);
      largest = std::max(
          largest, 4 * (2 * in + 3 * out + 4 * weights) + 8 * (4 * in + 6 * out + 4 * weights));
    }
    return {held + largest};
  }

  StepStats step() override {
    // As after an optimiser's step: kernels that prepare weights do it anew, once a step.
    for (const Block& block : blocks_) block.weight.unsafeGetTensorImpl()->bump_version();
    std::optional<kernels::MeasuredStages> stages;
    if (Stopwatch* const watch = context().stopwatch) {
      stages.emplace(kernels::StageClock{
          [watch] { return watch->now(); },
          [watch](const char* stage, double seconds) { watch->add(stage, seconds); }});
    }
    for (const Block& block : blocks_) run(block);
    return {static_cast<std::int64_t>(blocks_.size()), {}};
  }

  Quality evaluate() override {
    std::vector<Check> checks;
    for (const Block& block : blocks_) {
      context().interrupted();
      context().progress("checking against double precision",
                         static_cast<std::int64_t>(&block - blocks_.data()),
                         static_cast<std::int64_t>(blocks_.size()));
      for (Check& check : check_block(block)) checks.push_back(std::move(check));
    }
    return share_of_tolerance("error-share", std::move(checks));
  }

 private:
  void build() override {
    implementation_ = kernels::conv_block_operator().select(context().kernels);
    at::manual_seed(context().seeds.weights);
    std::map<std::pair<std::string, std::vector<std::int64_t>>, at::Tensor> layers;
    Shapes shapes = read_shapes(context());
    shapes_ = std::move(shapes.artifact);
    for (const ConvProblem& problem : shapes.problems) {
      context().interrupted();
      Block block = make_block(problem, bf16());
      // One layer applied to maps of several sizes has one weight, prepared once a step.
      std::string layer = problem.name.substr(0, problem.name.rfind('.'));
      layer += problem.trained ? " trained" : " frozen";
      block.weight =
          layers.try_emplace({layer, block.weight.sizes().vec()}, block.weight).first->second;
      blocks_.push_back(std::move(block));
    }
  }

  WorkloadFacts facts_of_model() const override {
    return {.cost = cost(),
            .hyperparameters = {{"blocks", std::to_string(blocks_.size())},
                                {"memory_format", "channels_last"}},
            .weights = {shapes_}};
  }

  Cost cost() const {
    Cost cost{.precision = bf16() ? "bf16" : "fp32"};
    for (const Block& block : blocks_) {
      const ConvProblem& p = block.problem;
      const double passes = p.trained ? 3 : 1;
      cost.forward_flops += p.flops();
      cost.step_flops += passes * p.flops();
      cost.step_bytes += passes * (bf16() ? 2 : 4) *
                         (p.input_elements() + p.output_elements() + p.weight_elements());
      ++cost.calls["convolutions"];
      cost.phase_flops[block.forward] = p.flops();
      if (!p.trained) continue;
      cost.phase_flops[block.data] = p.flops();
      cost.phase_flops[block.weights] = p.flops();
    }
    return cost;
  }

  at::Tensor forward(const Block& block) const {
    const kernels::AutocastScope autocast(bf16());
    return implementation_(block.arguments());
  }

  void run(const Block& block) const {
    if (!block.problem.trained) {
      const Phase phase = context().phase(block.forward.c_str());
      (void)forward(block);
      return;
    }
    at::Tensor output;
    {
      const Phase phase = context().phase(block.forward.c_str());
      output = forward(block);
    }
    const at::Tensor gradient = block.gradient.to(output.scalar_type());
    {
      const Phase phase = context().phase(block.data.c_str());
      (void)torch::autograd::grad({output}, {block.input}, {gradient}, true);
    }
    std::vector<at::Tensor> parameters{block.weight};
    if (block.bias) parameters.push_back(*block.bias);
    {
      const Phase phase = context().phase(block.weights.c_str());
      (void)torch::autograd::grad({output}, parameters, {gradient});
    }
  }

  std::vector<Check> check_block(const Block& block) const {
    const double tolerance = kTolerance[bf16() ? 1 : 0];
    const Block reference = in_double(block);
    kernels::ConvBlockArguments before_relu = reference.arguments();
    before_relu.relu = false;
    const at::Tensor linear = kernels::conv_block_operator().get("reference")(before_relu);
    const at::Tensor expected = block.problem.relu ? linear.relu() : linear;
    const at::Tensor output = forward(block);
    std::vector<Check> checks{relative_error(block.forward, output, expected, tolerance)};
    if (!block.problem.trained) return checks;
    at::Tensor gradient = block.gradient.to(output.scalar_type());
    // Next to the ReLU's edge the last bit decides whether a gradient comes through.
    if (block.problem.relu) gradient = gradient * (linear.abs() > (bf16() ? 0.1 : 1e-4));
    std::vector<at::Tensor> leaves{block.input, block.weight};
    std::vector<at::Tensor> exact_leaves{reference.input, reference.weight};
    if (block.bias) {
      leaves.push_back(*block.bias);
      exact_leaves.push_back(*reference.bias);
    }
    const auto actual = torch::autograd::grad({output}, leaves, {gradient});
    const auto wanted = torch::autograd::grad({expected}, exact_leaves, {gradient.to(at::kDouble)});
    checks.push_back(relative_error(block.data, actual[0], wanted[0], tolerance));
    checks.push_back(relative_error(block.weights, actual[1], wanted[1], tolerance));
    if (block.bias) {
      checks.push_back(
          relative_error(block.problem.name + ".backward-bias", actual[2], wanted[2], tolerance));
    }
    return checks;
  }

  kernels::ConvBlockFn* implementation_ = nullptr;
  Artifact shapes_;
  std::vector<Block> blocks_;
};

WorkloadInfo info() {
  return {"conv-blocks",
          "RetinaNet's conv blocks one by one: forward, gradient by data, gradient by weights.",
          {{"precision", {"fp32", "bf16"}}, {"allocator", kernels::allocator_names()}},
          {{"shapes", "", "file of blocks in benchdnn's problem syntax", {}}},
          operator_infos({"conv-block"})};
}

const RegisterWorkload registered(info, [] { return std::make_unique<ConvBlocks>(); });

}  // namespace
}  // namespace harness::workloads
