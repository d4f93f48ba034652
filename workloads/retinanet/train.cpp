// The main workload: MLPerf Training v5.1's RetinaNet on detection data.
#include "harness/workload/registry.hpp"
#include "workloads/retinanet/training.hpp"

namespace harness::workloads {
namespace {

TrainingSpec spec() {
  TrainingSpec spec;
  spec.scenes = "full";
  return spec;
}

WorkloadInfo info() {
  return training_info("retinanet-train",
                       "Training of MLPerf Training v5.1's RetinaNet-ResNeXt50 on detection data.",
                       "800x800", "1e-4", "1");
}

const RegisterWorkload registered(info, [] { return std::make_unique<RetinaNetTraining>(spec()); });

}  // namespace
}  // namespace harness::workloads
