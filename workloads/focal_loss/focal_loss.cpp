// Focal loss and its gradient by the logits, by itself: the shape of MLPerf's RetinaNet, and a
// sweep of image sizes and numbers of classes around it.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/registry.hpp"
#include "kernels/focal_loss/focal_loss.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "workloads/retinanet/anchors.hpp"
#include "workloads/torch/operator_infos.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {
namespace {

// The first is MLPerf's; then COCO's and LVIS's classes, one class, smaller pictures.
constexpr const char* kDefaultCases =
    "800x800x264,800x800x91,400x400x1203,800x800x1,400x400x264,200x200x264";
constexpr std::int64_t kBoxes = 8;

// Of loss and gradient in the Euclidean norm. A gradient stored in bf16 is rounded by up to 2^-9
// and the reference rounds every step to it there; float32 shows up to 3e-7.
constexpr double kTolerance[2] = {1e-5, 1e-2};

struct Case {
  std::string name{};
  std::int64_t height = 0, width = 0, classes = 0;

  double logits() const {
    return static_cast<double>(anchor_count(height, width)) * static_cast<double>(classes);
  }
};

std::vector<Case> parse_cases(const std::string& text) {
  std::vector<Case> cases;
  std::set<std::string> seen;
  for (const std::string& name : split(text, ',')) {
    const std::vector<std::string> parts = split(name, 'x');
    const auto number = [&](std::size_t i, std::int64_t least, std::int64_t most) -> std::int64_t {
      const auto value = i < parts.size() ? parse_integer(parts[i]) : std::nullopt;
      if (parts.size() == 3 && value && *value >= least && *value <= most) return *value;
      std::string expected = "not HEIGHTxWIDTHxCLASSES with pictures of 128 to 4096 pixels a side ";
      expected += "and 1 to 100000 classes";
      throw Error("--set cases: '" + printable(name) + "'", expected,
                  "for example --set cases=800x800x264,400x400x91");
    };
    Case parsed{"", number(0, 128, 4096), number(1, 128, 4096), number(2, 1, 100'000)};
    for (const std::int64_t part : {parsed.height, parsed.width, parsed.classes}) {
      if (!parsed.name.empty()) parsed.name += 'x';
      parsed.name += std::to_string(part);
    }
    if (!seen.insert(parsed.name).second) throw Error("--set cases: " + parsed.name, "named twice");
    cases.push_back(std::move(parsed));
  }
  return cases;
}

/// A case with logits as the heads write them at the start of training, and boxes matched to the
/// model's own anchors.
struct Problem {
  Case shape{};
  kernels::FocalLossArguments arguments{};
};

Problem make_problem(const Case& shape, std::int64_t batch, bool bf16) {
  Problem problem{shape, {}};
  kernels::FocalLossArguments& arguments = problem.arguments;
  arguments.classes = shape.classes;
  for (const MapSize& map : pyramid_sizes(shape.height, shape.width)) {
    // The head's bias starts at -log(99): each class has a probability of about 1 %.
    arguments.levels.push_back(
        at::randn({batch, kAnchorsPerLocation * shape.classes, map.height, map.width})
            .sub_(std::log(99.0))
            .to(bf16 ? at::kBFloat16 : at::kFloat)
            .contiguous(at::MemoryFormat::ChannelsLast)
            .set_requires_grad(true));
  }
  const at::Tensor anchors = at::cat(level_anchors(shape.height, shape.width));
  const auto smallest = static_cast<double>(std::min(shape.height, shape.width));
  for (std::int64_t i = 0; i < batch; ++i) {
    const at::Tensor corner = at::rand({kBoxes, 2}) * (smallest / 2);
    const at::Tensor extent = at::rand({kBoxes, 2}) * (smallest / 2 - 24) + 24;
    const at::Tensor boxes = at::cat({corner, corner + extent}, 1);
    arguments.matched.push_back(
        kernels::matcher_operator().get("reference")({.boxes = boxes, .anchors = anchors}));
    arguments.labels.push_back(at::randint(0, shape.classes, {kBoxes}, at::kLong));
  }
  return problem;
}

kernels::FocalLossArguments in_double(const kernels::FocalLossArguments& arguments) {
  kernels::FocalLossArguments copy = arguments;
  for (at::Tensor& level : copy.levels) {
    level = level.detach().to(at::kDouble).set_requires_grad(true);
  }
  return copy;
}

/// All gradients as one row.
at::Tensor row_of_gradients(const std::vector<at::Tensor>& levels) {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& level : levels) {
    rows.push_back(level.grad().permute({0, 2, 3, 1}).flatten());
  }
  return at::cat(rows);
}

class FocalLoss : public TorchWorkload, public Steps {
 public:
  Description describe(const WorkloadContext& context) const override {
    double held = 0;
    double largest = 0;
    for (const Case& item : parse_cases(context.settings.at("cases"))) {
      const double logits = item.logits() * static_cast<double>(context.batch_size);
      held += 4 * logits;
      // The reference in double precision, gradient included, holds about 13 such arrays.
      largest = std::max(largest, 13 * 8 * logits);
    }
    return {held + largest};
  }

  StepStats step() override {
    StepStats stats{context().batch_size * static_cast<std::int64_t>(problems_.size()), {}};
    for (const Problem& problem : problems_) {
      stats.losses[problem.shape.name] = loss_and_gradient(problem).item<double>();
      for (const at::Tensor& level : problem.arguments.levels) level.mutable_grad().reset();
    }
    return stats;
  }

  Quality evaluate() override {
    std::vector<Check> checks;
    const double tolerance = kTolerance[bf16() ? 1 : 0];
    for (const Problem& problem : problems_) {
      context().interrupted();
      context().progress("checking against double precision",
                         static_cast<std::int64_t>(&problem - problems_.data()),
                         static_cast<std::int64_t>(problems_.size()));
      const at::Tensor loss = loss_and_gradient(problem);
      const at::Tensor gradient = row_of_gradients(problem.arguments.levels);
      for (const at::Tensor& level : problem.arguments.levels) level.mutable_grad().reset();
      const kernels::FocalLossArguments exact = in_double(problem.arguments);
      const at::Tensor wanted = kernels::focal_loss_operator().get("reference")(exact);
      wanted.backward();
      checks.push_back(relative_error(problem.shape.name + ".loss", loss, wanted, tolerance));
      checks.push_back(relative_error(problem.shape.name + ".gradient", gradient,
                                      row_of_gradients(exact.levels), tolerance));
    }
    return share_of_tolerance("error-share", std::move(checks));
  }

 private:
  void build() override {
    implementation_ = kernels::focal_loss_operator().select(context().kernels);
    at::manual_seed(context().seeds.weights);
    for (const Case& item : parse_cases(context().settings.at("cases"))) {
      context().interrupted();
      problems_.push_back(make_problem(item, context().batch_size, bf16()));
    }
  }

  WorkloadFacts facts_of_model() const override {
    WorkloadFacts facts{
        .cost = Cost{.precision = bf16() ? "bf16" : "fp32"},
        .hyperparameters = {
            {"alpha", "0.25"}, {"gamma", "2"}, {"boxes_per_image", std::to_string(kBoxes)}}};
    for (const Problem& problem : problems_) {
      // Logits read once, their gradients written once.
      const double bytes =
          2 * (bf16() ? 2 : 4) * problem.shape.logits() * static_cast<double>(context().batch_size);
      facts.cost->phase_bytes[problem.shape.name] = bytes;
      facts.cost->step_bytes += bytes;
    }
    return facts;
  }

  /// One phase: a kernel may do both in one pass, so the parts by themselves would say nothing.
  at::Tensor loss_and_gradient(const Problem& problem) const {
    const Phase phase = context().phase(problem.shape.name.c_str());
    at::Tensor loss;
    {
      const kernels::AutocastScope autocast(bf16());
      loss = implementation_(problem.arguments);
    }
    loss.backward();
    return loss;
  }

  kernels::FocalLossFn* implementation_ = nullptr;
  std::vector<Problem> problems_;
};

WorkloadInfo info() {
  return {"focal-loss",
          "Sigmoid focal loss and its gradient: MLPerf RetinaNet's shape and a sweep around it.",
          {{"precision", {"fp32", "bf16"}}, {"allocator", kernels::allocator_names()}},
          {{"cases", kDefaultCases, "HEIGHTxWIDTHxCLASSES of each case, separated by commas", {}}},
          operator_infos({"focal-loss"})};
}

const RegisterWorkload registered(info, [] { return std::make_unique<FocalLoss>(); });

}  // namespace
}  // namespace harness::workloads
