// Data-dependent initialisation of the frozen norms, for training from random weights.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "workloads/retinanet/model.hpp"

namespace harness::workloads {

/// Runs `images`, (N, 3, height, width) as transform() gives them, through the body layer by layer
/// and sets each norm's statistics to what it sees there, so that over these images each channel
/// leaves the normalisation (before weight and bias) with mean 0 and variance 1: frozen norms then
/// start a training as batch norms would (Salimans and Kingma 2016; Kraehenbuehl et al. 2016). The
/// stored variance is the one seen less the norm's eps, which the norm adds again. A channel whose
/// variance is not above eps counts as constant: its mean is set, its variance is 1, so that it is
/// not blown up when it begins to vary.
///
/// `residual_gain`: weight of the last norm of each residual branch; 0 lets every block start as
/// its shortcut, 1 as it is. Empty: all weights stay as they are.
///
/// In float32 on one thread with plain ATen operators, whatever the model's precision, kernels and
/// the threads set: the same weights and images give the same bits for all of them. Throws
/// std::invalid_argument for no images or another shape, Error for values that are not finite.
void calibrate_norms(RetinaNet& model, const at::Tensor& images,
                     std::optional<double> residual_gain = {});

}  // namespace harness::workloads
