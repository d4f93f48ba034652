// The main workload: MLPerf Training v5.1's RetinaNet on detection data.
#include "harness/run/registry.hpp"
#include "kernels/runtime/allocator.hpp"
#include "workloads/operator_infos.hpp"
#include "workloads/retinanet_training.hpp"

namespace harness::workloads {
namespace {

TrainingSpec spec() {
  TrainingSpec spec;
  spec.scenes = "full";
  return spec;
}

WorkloadInfo info() {
  return {"retinanet-train",
          "Training of MLPerf Training v5.1's RetinaNet-ResNeXt50 on detection data.",
          {"fp32", "bf16"},
          kernels::allocator_names(),
          training_settings("800x800", "1e-4", "1"),
          operator_infos(),
          {"retinanet-golden/1"},
          true};
}

const RegisterWorkload registered(info, [] { return std::make_unique<RetinaNetTraining>(spec()); });

}  // namespace
}  // namespace harness::workloads
