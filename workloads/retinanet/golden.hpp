// Proof that the model computes what the MLPerf reference computes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "workloads/retinanet/golden_file.hpp"
#include "workloads/retinanet/golden_run.hpp"

namespace harness::workloads {

/// Runs the case of a golden file (format `retinanet-golden/1`) with the kernels chosen and
/// compares: losses, logits, box codes, anchors, matches, every parameter's gradient, the losses
/// after one Adam step, detections. One Check per quantity. `precision` is `fp32` or `bf16`. Throws
/// Error for a file that cannot be read or does not describe this model, std::invalid_argument for
/// kernels that do not exist. Several `ranks` share the case's images, and add up their gradients
/// as in training; where there are fewer images than ranks each does all.
std::vector<Check> verify_golden(const std::filesystem::path& path, const KernelSet& kernels,
                                 const std::string& precision, TorchRanks* ranks = nullptr);

/// Of that what inference has, by a model of its own: logits, box codes, anchors, detections. In
/// `int8`, too, calibrated on the case's own pictures.
std::vector<Check> verify_golden_answers(const GoldenCase& golden, const KernelSet& kernels,
                                         const std::string& precision);

/// The comparison alone, at the tolerances of `precision`.
std::vector<Check> compare_golden(const GoldenCase& golden, const GoldenRun& run,
                                  const std::string& precision);

}  // namespace harness::workloads
