#include "kernels/convolution/onednn_weights.hpp"

#include <ATen/ATen.h>

#include <unordered_map>

#include "kernels/convolution/engine.hpp"
#include "kernels/convolution/prepared_weights.hpp"

namespace harness::kernels {

using Memory = dnnl::memory;
using Tag = dnnl::memory::format_tag;

Memory::dims weight_dims(const ConvolutionShape& s) {
  const int64_t in = s.in_channels / s.groups;
  if (s.groups == 1) return {s.out_channels, in, s.kernel_height, s.kernel_width};
  return {s.groups, s.out_channels / s.groups, in, s.kernel_height, s.kernel_width};
}

Memory::desc plain_weights(const ConvolutionShape& s) {
  return {weight_dims(s), Memory::data_type::f32, s.groups == 1 ? Tag::ohwi : Tag::gohwi};
}

WeightPacking::WeightPacking(const ConvolutionShape& shape, const Memory::desc& wanted)
    : plain_(plain_weights(shape)), wanted_(wanted) {
  if (plain_ == wanted_) return;
  const dnnl::reorder::primitive_desc description(engine(), plain_, engine(), wanted_,
                                                  scratchpad_attributes());
  reorder_ = dnnl::reorder(description);
  scratch_ = description.scratchpad_desc();
}

at::Tensor WeightPacking::of(const ConvolutionWeights& weights) const {
  return prepared_weights(weights, {.onednn = wanted_}, [&] { return pack(weights); });
}

at::Tensor WeightPacking::pack(const ConvolutionWeights& weights) const {
  at::Tensor source = weights.weight.contiguous(at::MemoryFormat::ChannelsLast);
  if (weights.scale.defined()) source = source * weights.scale.view({-1, 1, 1, 1});
  if (!reorder_) return source;
  at::Tensor target = at::empty({static_cast<int64_t>(wanted_.get_size())}, at::kByte);
  std::unordered_map<int, Memory> arguments{{DNNL_ARG_FROM, as_memory(plain_, source)},
                                            {DNNL_ARG_TO, as_memory(wanted_, target)}};
  at::Tensor scratch;
  if (scratch_.get_size() > 0) {
    scratch = at::empty({static_cast<int64_t>(scratch_.get_size())}, at::kByte);
    arguments.emplace(DNNL_ARG_SCRATCHPAD, as_memory(scratch_, scratch));
  }
  reorder_.execute(stream(), arguments);
  return target;
}

}  // namespace harness::kernels
