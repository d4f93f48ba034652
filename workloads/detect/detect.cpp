// The small RetinaNet that retinanet-mini-train trains, with weights of one of its runs.
#include "harness/workload/registry.hpp"
#include "workloads/detect/detection_task.hpp"
#include "workloads/torch/weights_loading.hpp"

namespace harness::workloads {
namespace {

// Of a run to the target of retinanet-mini-train; its result lies beside them.
constexpr const char* kWeights = "workloads/detect/mini_retinanet.safetensors";

DetectionSpec spec() {
  return {.model = "RetinaNet, small",
          .architecture = mini_architecture(),
          .classes = 10,
          .side = 128,
          .scenes = "mini",
          .own_weights = [](RetinaNet& model, const WorkloadContext& context) {
            return load_weights(context.home / kWeights, model.parameters().by_name()).artifact;
          }};
}

WorkloadInfo info() {
  return detection_info(
      "detect", "Detection on pictures of 128x128 by a small RetinaNet, one query after another.");
}

const RegisterWorkload registered(info, [] { return std::make_unique<DetectionTask>(spec()); });

}  // namespace
}  // namespace harness::workloads
