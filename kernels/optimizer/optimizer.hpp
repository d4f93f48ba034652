// Operator `optimizer`: one Adam step over a list of parameters (Kingma and Ba 2015).
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "kernels/registry.hpp"

namespace harness::kernels {

/// Everything Adam remembers; entry i of each list belongs to parameter i. No weight decay.
struct AdamState {
  std::vector<at::Tensor> parameters{};
  std::vector<at::Tensor> first_moments{};   ///< like the parameters, zero at first
  std::vector<at::Tensor> second_moments{};  ///< like the parameters, zero at first
  std::vector<int64_t> steps{};              ///< steps taken per parameter
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

/// A fresh state; moments take over shape, type and memory layout of the parameters.
AdamState make_adam_state(std::vector<at::Tensor> parameters);

/// Drops all gradients, as optimizer.zero_grad() does by default.
void clear_gradients(AdamState& state);

/// One step with the gradients that the parameters hold; those without a gradient are left alone.
/// What changes says so by its version counter (kernels keep prepared weights by it).
using AdamFn = void(AdamState& state, double learning_rate);

Operator<AdamFn>& optimizer_operator();

}  // namespace harness::kernels
