// What every use of oneDNN needs: the engine, a stream, tensors as memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace harness::kernels {

dnnl::engine& engine();
/// One of this thread's own; oneDNN's CPU streams run at once, in the calling thread's team.
dnnl::stream& stream();

/// Scratchpads are ours to give: they come from LibTorch's allocator and are used again.
dnnl::primitive_attr scratchpad_attributes();

dnnl::memory as_memory(const dnnl::memory::desc& description, const at::Tensor& tensor);

/// float32 or bfloat16; throws std::invalid_argument for others.
dnnl::memory::data_type data_type_of(at::ScalarType type);

/// Runs with `scratchpad` bytes of scratch memory.
void execute(const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments,
             const dnnl::memory::desc& scratchpad);

}  // namespace harness::kernels
