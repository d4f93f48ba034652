// A RetinaNet small enough to be trained to its quality target in minutes, from random weights: the
// same code and kernels as the full benchmark, on 128x128 scenes.
#include "harness/workload/registry.hpp"
#include "workloads/retinanet/training.hpp"

namespace harness::workloads {
namespace {

TrainingSpec spec() {
  TrainingSpec spec;
  spec.architecture = mini_architecture();
  spec.classes = 10;
  spec.scenes = "mini";
  spec.schedule = Schedule::kCosine;
  spec.calibration_images = 64;
  return spec;
}

WorkloadInfo info() {
  return training_info(
      "retinanet-mini-train",
      "Training of a small RetinaNet on 128x128 scenes, from random weights to a target mAP.",
      "128x128", "1e-3", "1");
}

const RegisterWorkload registered(info, [] { return std::make_unique<RetinaNetTraining>(spec()); });

}  // namespace
}  // namespace harness::workloads
