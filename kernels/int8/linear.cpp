// Linear layers in int8 by oneDNN's product of matrices.
#include <ATen/ATen.h>

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/tensor_state.hpp"
#include "kernels/int8/int8.hpp"
#include "kernels/int8/kept.hpp"
#include "kernels/runtime/profiler.hpp"
#include "kernels/runtime/threads.hpp"

namespace harness::kernels {
namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;
using Type = Memory::data_type;

struct Problem {
  int64_t rows = 1, depth = 1, columns = 1;
  bool gelu = false, residual = false;
  Affine input{};
  std::optional<Affine> output{};  ///< absent: float32
  int threads = 1;
  bool operator==(const Problem&) const = default;
};

/// A primitive is made for a number of rows, and texts differ in length: a few rows more, which
/// nobody reads, spare making one for each length there is.
int64_t made_for(int64_t rows) {
  const int64_t step = rows <= 64 ? 8 : 32;
  return (rows + step - 1) / step * step;
}

/// `rows` in the memory of as many as made_for() says; the others hold whatever was there.
at::Tensor with_room(const at::Tensor& rows) {
  const int64_t count = made_for(rows.size(0));
  if (count == rows.size(0)) return rows;
  const auto bytes = static_cast<int64_t>(rows.nbytes());
  at::Tensor memory = at::empty({bytes / rows.size(0) * count}, at::kByte);
  std::memcpy(memory.mutable_data_ptr(), rows.const_data_ptr(), rows.nbytes());
  return memory;
}

dnnl::matmul::primitive_desc describe(const Problem& p) {
  dnnl::primitive_attr attributes = scratchpad_attributes();
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, 2);
  dnnl::post_ops steps;
  if (p.gelu) steps.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
  if (p.residual) {
    steps.append_binary(dnnl::algorithm::binary_add,
                        Memory::desc({p.rows, p.columns}, Type::f32, Tag::ab));
  }
  if (p.output) {
    steps.append_eltwise(dnnl::algorithm::eltwise_linear, 1 / p.output->scale,
                         static_cast<float>(p.output->zero));
  }
  attributes.set_post_ops(steps);
  return {engine(),
          Memory::desc({p.rows, p.depth}, Type::u8, Tag::ab),
          Memory::desc({p.depth, p.columns}, Type::s8, Tag::any),
          Memory::desc({1, p.columns}, Type::f32, Tag::ab),
          Memory::desc({p.rows, p.columns}, p.output ? Type::u8 : Type::f32, Tag::ab),
          attributes};
}

class Int8Product {
 public:
  using Problem = kernels::Problem;

  Int8Product(const Problem& problem, const ConvolutionWeights& weights, const at::Tensor& bias)
      : problem_(problem), description_(describe(problem)), primitive_(description_) {
    const Int8Weights narrow = int8_weights(weights);
    const KeepingScope keeping;
    weights_ = int8_in_layout(weights, narrow.values,
                              {{problem_.depth, problem_.columns}, Type::s8, Tag::ba},
                              description_.weights_desc());
    scales_ = narrow.scales * problem_.input.scale;
    const at::Tensor sums = narrow.values.to(at::kDouble).sum(1);
    bias_ = (sums.mul(scales_).mul(-problem_.input.zero) + bias).to(at::kFloat).contiguous();
  }

  const Problem& problem() const { return problem_; }

  /// Memory of as many rows as the problem has, and as many of a residual.
  at::Tensor run(const at::Tensor& rows, const at::Tensor& residual) const {
    const std::vector<int64_t> sizes{problem_.rows, problem_.columns};
    at::Tensor output = problem_.output
                            ? empty_quantised(sizes, *problem_.output, at::MemoryFormat::Contiguous)
                            : at::empty(sizes, at::kFloat);
    std::unordered_map<int, Memory> arguments{
        {DNNL_ARG_SRC, as_memory(description_.src_desc(), rows)},
        {DNNL_ARG_WEIGHTS, as_memory(description_.weights_desc(), weights_)},
        {DNNL_ARG_BIAS, as_memory(description_.bias_desc(), bias_)},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
         as_memory({{problem_.columns}, Type::f32, Tag::a}, scales_)},
        {DNNL_ARG_DST, as_memory(description_.dst_desc(), output)}};
    if (problem_.residual) {
      const int place = problem_.gelu ? 1 : 0;
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1,
                        as_memory({sizes, Type::f32, Tag::ab}, residual));
    }
    const KernelScope scope("encoder.product");
    execute(primitive_, std::move(arguments), description_.scratchpad_desc());
    return output;
  }

 private:
  Problem problem_;
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul primitive_;
  at::Tensor weights_{}, scales_{}, bias_{};
};

}  // namespace

at::Tensor int8_linear(const Int8Linear& arguments, const LayerRanges& ranges) {
  const at::Tensor input =
      quantised(arguments.input.contiguous(), affine_of(ranges.input)).contiguous();
  const int64_t columns = arguments.weight.size(0);
  require(input.dim() == 2 && input.size(0) > 0 && arguments.weight.dim() == 2 &&
              input.size(1) == arguments.weight.size(1) &&
              arguments.bias.sizes() == at::IntArrayRef{columns},
          "int8: a linear layer takes rows of as many values as its weights have columns");
  require(!arguments.residual ||
              (!arguments.narrow_output && arguments.residual->scalar_type() == at::kFloat &&
               arguments.residual->sizes() == at::IntArrayRef{input.size(0), columns}),
          "int8: the residual of a linear layer is float32, in the output's shape");
  Problem problem{.rows = made_for(input.size(0)),
                  .depth = arguments.weight.size(1),
                  .columns = columns,
                  .gelu = arguments.gelu,
                  .residual = arguments.residual.has_value(),
                  .input = affine_of(input),
                  .threads = threads()};
  if (arguments.narrow_output) problem.output = affine_of(ranges.output);
  at::Tensor residual;
  if (arguments.residual) residual = with_room(arguments.residual->contiguous());
  // Never destroyed, as what is kept in prepared_weights.cpp.
  static auto* const kept = new KeptKernels<Int8Product>();
  return kept->find(problem, {arguments.weight, {}}, arguments.bias)
      ->run(with_room(input), residual)
      .narrow(0, 0, input.size(0));
}

}  // namespace harness::kernels
