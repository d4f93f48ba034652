// oneDNN's attributes from the words of its verbose lines.
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace harness::kernels {

/// f32 -> data_type::f32. Throws std::invalid_argument for what this library does not know.
dnnl::memory::data_type data_type_of(const std::string& name);

/// Dense memory in the layout of that name. Throws std::invalid_argument for a name that this
/// library does not know or that does not fit the extents.
dnnl::memory::desc describe(const std::vector<std::int64_t>& extents, const std::string& type,
                            const std::string& layout);

struct ParsedAttributes {
  dnnl::primitive_attr attributes{};
  /// Second operands of binary post-ops, by the place of the post-op.
  std::vector<std::pair<int, dnnl::memory::desc>> operands{};
};

/// "attr-scratchpad:user attr-post-ops:binary_add:f32:14:acdb+eltwise_relu"; `result` is what the
/// primitive writes. Throws std::invalid_argument for what it does not know.
ParsedAttributes parse_attributes(const std::string& words, const dnnl::memory::desc& result);

}  // namespace harness::kernels
