#include "kernels/convolution/engine.hpp"

#include <ATen/ATen.h>

#include <stdexcept>
#include <utility>

#include "kernels/runtime/stages.hpp"

namespace harness::kernels {

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

dnnl::primitive_attr scratchpad_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory as_memory(const dnnl::memory::desc& description, const at::Tensor& tensor) {
  return {description, engine(), tensor.data_ptr()};
}

dnnl::memory::data_type data_type_of(at::ScalarType type) {
  if (type == at::kFloat) return dnnl::memory::data_type::f32;
  if (type == at::kBFloat16) return dnnl::memory::data_type::bf16;
  throw std::invalid_argument("convolutions run in float32 or bfloat16");
}

void execute(const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments,
             const dnnl::memory::desc& scratchpad) {
  const Stage stage("convolution");
  at::Tensor scratch;
  if (scratchpad.get_size() > 0) {
    scratch = at::empty({static_cast<int64_t>(scratchpad.get_size())}, at::kByte);
    arguments.emplace(DNNL_ARG_SCRATCHPAD, as_memory(scratchpad, scratch));
  }
  primitive.execute(stream(), arguments);
}

}  // namespace harness::kernels
