// The gradient by the weights: for each position one product over all tiles.
#include <algorithm>

#include "kernels/convolution/winograd.hpp"
#include "kernels/convolution/winograd_plan.hpp"

namespace harness::kernels {
namespace {

using winograd::divide_up;
using winograd::GradientPlan;
using winograd::Int;
using winograd::Kernels;
using winograd::Products;
using winograd::Range;
using winograd::Tiles;

class GradientPass {
 public:
  GradientPass(const WinogradShape& shape, const void* input, const WinogradSource& gradient,
               float* workspace)
      : shape_(shape),
        input_{input},
        gradient_(gradient),
        plan_(shape),
        kernels_(winograd::kernels_of(shape)),
        zeros_(workspace),
        inputs_(zeros_ + plan_.zeros(shape)),
        gradients_(inputs_ + plan_.positions * plan_.input_stride()),
        products_(gradients_ + plan_.positions * plan_.gradient_stride()) {
    std::fill(zeros_, zeros_ + plan_.zeros(shape), 0.0F);
  }

  void run(const float* scale, float* grad_weights, float* grad_bias) const {
#pragma omp parallel
    for (Int begin = 0; begin < shape_.out_channels; begin += plan_.part) {
      const Range part{begin, std::min(shape_.out_channels, begin + plan_.part)};
      for (Int first = 0; first < plan_.tiles; first += plan_.block) {
        transform(first, part);
        multiply(first, part, grad_bias);
      }
      store(part, scale, grad_weights);
    }
  }

 private:
  Tiles tiles_from(Int first, Int channels, Int begin, float* values, Int positions) const {
    const Int count = std::min(plan_.block, plan_.tiles - first);
    return {values, count, count, divide_up(channels, plan_.cut.lanes), begin, positions};
  }
  Tiles inputs_from(Int first) const {
    return tiles_from(first, shape_.in_channels, 0, inputs_, plan_.input_stride());
  }
  Tiles gradients_from(Int first, Range part) const {
    return tiles_from(first, part.end - part.begin, part.begin, gradients_,
                      plan_.gradient_stride());
  }

  /// Within a parallel region, as what follows.
  void transform(Int first, Range part) const {
    const Tiles inputs = inputs_from(first);
    const Tiles gradients = gradients_from(first, part);
#pragma omp for schedule(dynamic, 1)
    for (Int begin = 0; begin < inputs.count; begin += winograd::kSlice) {
      const Range which{begin, std::min(inputs.count, begin + winograd::kSlice)};
      kernels_.transform_input(shape_, input_, first, which, {0, shape_.in_channels}, zeros_,
                               inputs);
      kernels_.transform_gradient(shape_, gradient_, first, which, part, zeros_, gradients);
    }
  }

  void multiply(Int first, Range part, float* grad_bias) const {
    const Tiles inputs = inputs_from(first);
    const Tiles gradients = gradients_from(first, part);
#pragma omp for schedule(static)
    for (Int piece = 0; piece < plan_.positions * gradients.vectors; ++piece) {
      const Int position = piece / gradients.vectors;
      const Int vector = piece % gradients.vectors;
      const Products products{products_ + vector * plan_.cut.lanes * plan_.depth, plan_.depth,
                              plan_.product_stride(), first > 0};
      kernels_.multiply_weights(gradients, vector, inputs, position, products);
      // At the point 1, the second one, a transformed tile is the sum of its values.
      if (position == shape_.tile + 3 && grad_bias != nullptr) {
        const Int begin = part.begin + vector * plan_.cut.lanes;
        const Int count = std::min(plan_.cut.lanes, part.end - begin);
        add_bias(gradients, position, vector, count, first > 0, grad_bias + begin);
      }
    }
  }

  void add_bias(const Tiles& gradients, Int position, Int vector, Int count, bool add,
                float* sums) const {
    const Int lanes = plan_.cut.lanes;
    const float* const values =
        gradients.values + position * gradients.positions + vector * gradients.count * lanes;
    for (Int i = 0; i < count; ++i) {
      double sum = add ? static_cast<double>(sums[i]) : 0;
      for (Int t = 0; t < gradients.count; ++t) sum += static_cast<double>(values[t * lanes + i]);
      sums[i] = static_cast<float>(sum);
    }
  }

  void store(Range part, const float* scale, float* grad_weights) const {
#pragma omp for schedule(static)
    for (Int o = part.begin; o < part.end; ++o) {
      const Products products{products_ + (o - part.begin) * plan_.depth, plan_.depth,
                              plan_.product_stride(), false};
      kernels_.store_weights(shape_, products, {o, o + 1}, scale, grad_weights);
    }
  }

  const WinogradShape& shape_;
  WinogradSource input_;
  const WinogradSource& gradient_;
  GradientPlan plan_;
  const Kernels& kernels_;
  float* zeros_;
  float* inputs_;
  float* gradients_;
  float* products_;
};

}  // namespace

std::size_t winograd_weights_workspace(const WinogradShape& shape) {
  const GradientPlan plan(shape);
  return static_cast<std::size_t>(
      plan.zeros(shape) +
      plan.positions * (plan.input_stride() + plan.gradient_stride() + plan.product_stride()));
}

void winograd_backward_weights(const WinogradShape& shape, const void* input,
                               const WinogradSource& grad_output, const float* scale,
                               float* grad_weights, float* grad_bias, float* workspace) {
  GradientPass(shape, input, grad_output, workspace).run(scale, grad_weights, grad_bias);
}

}  // namespace harness::kernels
