// Copies the weights of a file into a model's tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "workloads/checkpoint/weights_match.hpp"

namespace harness::workloads {

/// Loads a file of torch.save() into `destinations`: the model's parameters and buffers by their
/// names in the reference's state dict, float32 on the CPU, of any strides. Values are copied in
/// place, so gradients, views and memory formats stay; whether a tensor is trained stays too.
/// Throws Error as TensorFile::open(), match_weights() and read_weight() do; every value is checked
/// before the first is copied, so that after an error the model is as it was.
WeightsReport load_weights(const std::filesystem::path& path,
                           const std::map<std::string, at::Tensor>& destinations);

}  // namespace harness::workloads
