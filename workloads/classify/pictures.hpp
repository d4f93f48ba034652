// Pictures as MobileNetV2 was trained on them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace harness::workloads {

inline constexpr std::int64_t kPictureSide = 96;

/// (1, 3, 96, 96), channels_last: a grey picture of Fashion-MNIST, 28x28, enlarged between its
/// pixels' centres, in three equal channels from 0 to 1, less ImageNet's mean, by its deviation.
at::Tensor prepared_picture(const std::uint8_t* grey);

}  // namespace harness::workloads
