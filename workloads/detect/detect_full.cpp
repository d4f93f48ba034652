// MLPerf's RetinaNet-ResNeXt50. Without weights of the user's it has those of the golden data: they
// find nothing in particular, but as much as a trained model does, by a model known to be right.
#include <ATen/core/grad_mode.h>

#include "harness/base/hash.hpp"
#include "harness/workload/registry.hpp"
#include "workloads/detect/detection_task.hpp"
#include "workloads/retinanet/golden.hpp"

namespace harness::workloads {
namespace {

// Of as many classes as the benchmark has.
constexpr const char* kGolden = "tests/golden/retinanet_a.json";

Artifact golden_weights(RetinaNet& model, const WorkloadContext& context) {
  const std::filesystem::path file = context.home / kGolden;
  const GoldenCase golden = read_golden_file(file);
  fill_by_golden(golden, model.parameters());
  const at::NoGradGuard no_grad;
  detection_bias(model.parameters()).add_(golden.detection_bias_shift);
  return {"golden weights", kGolden, sha256_of_file(file), {}};
}

DetectionSpec spec() {
  return {.model = "RetinaNet-ResNeXt50",
          .scenes = "full",
          .golden = kGolden,
          .own_weights = golden_weights};
}

WorkloadInfo info() {
  return detection_info(
      "detect-full",
      "Detection on pictures of 800x800 by MLPerf's RetinaNet, one query after another.");
}

const RegisterWorkload registered(info, [] { return std::make_unique<DetectionTask>(spec()); });

}  // namespace
}  // namespace harness::workloads
