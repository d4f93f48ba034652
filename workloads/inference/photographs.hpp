// Photographs as networks were trained on them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "workloads/data/image.hpp"

namespace harness::workloads {

/// (1, 3, height, width), float32, whole numbers from 0 to 255: as Pillow makes a picture smaller
/// or larger, by a triangle filter as wide as the picture shrinks, in whole numbers behind each
/// direction.
at::Tensor scaled_photograph(const Image& image, std::int64_t height, std::int64_t width);

/// (1, 3, height, width), float32, whole numbers from 0 to 255: the shorter side made 8/7 of what
/// is wanted (256 for 224), and its middle, as torchvision evaluates. Throws Error, naming `name`,
/// for a picture far longer than wide.
at::Tensor middle_of_photograph(const Image& image, std::int64_t height, std::int64_t width,
                                const std::string& name);

/// Pictures of three channels from 0 to 1, less ImageNet's mean, by its deviation, channels_last.
at::Tensor by_imagenets_colours(const at::Tensor& pictures);

}  // namespace harness::workloads
