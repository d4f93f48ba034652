// FLOPs, bytes and memory of RetinaNet, from shapes alone.
#pragma once

#include <cstdint>

#include "harness/base/types.hpp"
#include "workloads/retinanet/architecture.hpp"

namespace harness::workloads {

/// Of a training step. Only convolutions count as FLOPs (over 99 % of the arithmetic): with
/// MLPerf's model 111 calls, 402 GF forward and 1161 GF a step for one 800x800 image and 264
/// classes. Bytes: each operand of each convolution read once and each result written once in the
/// step's data type, logits read and their gradient written once, Adam's four tensors read and
/// three written in float32.
Cost retinanet_cost(std::int64_t batch, std::int64_t height, std::int64_t width,
                    std::int64_t num_classes, bool bf16, const Architecture& architecture = {});

/// Bytes of tensors at the peak of a training step with the reference kernels in either precision,
/// on the safe side (measured: see the comment there). `boxes`: most ground-truth boxes of an
/// image.
double retinanet_memory_bytes(std::int64_t batch, std::int64_t height, std::int64_t width,
                              std::int64_t num_classes, std::int64_t boxes,
                              const Architecture& architecture = {});

/// Bytes of tensors at the peak of an answer to `batch` images, on the safe side, their weights and
/// what kernels make of them included.
double retinanet_answer_bytes(std::int64_t batch, std::int64_t height, std::int64_t width,
                              std::int64_t num_classes, const Architecture& architecture = {});

/// Installed memory of this machine.
double physical_memory_bytes();

}  // namespace harness::workloads
