#include "kernels/replay/attributes.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include <map>
#include <sstream>
#include <stdexcept>

namespace harness::kernels {
namespace {

using dnnl::memory;

[[noreturn]] void refuse(const std::string& what, const std::string& name) {
  std::ostringstream text;
  text << what << " '" << name << "' is not known";
  throw std::invalid_argument(text.str());
}

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) found.push_back(part);
  return found;
}

float number(const std::string& text) {
  std::istringstream stream(text);
  float value = 0;
  if (!(stream >> value)) refuse("number", text);
  return value;
}

memory::format_tag tag_of(const std::string& name) {
  static const auto tags = [] {
    std::map<std::string, memory::format_tag> all;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      // Several names of one layout are one value; the first is the one in verbose lines.
      all.emplace(dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag)),
                  static_cast<memory::format_tag>(tag));
    }
    all.emplace("any", memory::format_tag::any);
    return all;
  }();
  const auto found = tags.find(name);
  if (found == tags.end()) refuse("layout", name);
  return found->second;
}

dnnl::algorithm algorithm_of(const std::string& name) {
  static const std::map<std::string, dnnl::algorithm> algorithms = {
      {"eltwise_relu", dnnl::algorithm::eltwise_relu},
      {"eltwise_logistic", dnnl::algorithm::eltwise_logistic},
      {"eltwise_tanh", dnnl::algorithm::eltwise_tanh},
      {"eltwise_gelu_erf", dnnl::algorithm::eltwise_gelu_erf},
      {"eltwise_gelu_tanh", dnnl::algorithm::eltwise_gelu_tanh},
      {"eltwise_swish", dnnl::algorithm::eltwise_swish},
      {"eltwise_linear", dnnl::algorithm::eltwise_linear},
      {"eltwise_clip", dnnl::algorithm::eltwise_clip},
      {"eltwise_hardswish", dnnl::algorithm::eltwise_hardswish},
      {"binary_add", dnnl::algorithm::binary_add},
      {"binary_mul", dnnl::algorithm::binary_mul},
      {"binary_sub", dnnl::algorithm::binary_sub},
      {"binary_div", dnnl::algorithm::binary_div},
      {"binary_max", dnnl::algorithm::binary_max},
      {"binary_min", dnnl::algorithm::binary_min},
  };
  const auto found = algorithms.find(name);
  if (found == algorithms.end()) refuse("operation", name);
  return found->second;
}

constexpr const char* kDense[] = {"", "a", "ab", "abc", "abcd", "abcde", "abcdef"};

// Bit i of the mask is set where the operand has the result's extent, else it has 1.
memory::desc operand_of(const std::vector<std::string>& words, const memory::desc& result) {
  if (words.size() < 3) refuse("operation", words.front());
  const float mask_number = number(words[2]);
  if (!(mask_number >= 0 && mask_number < 4096)) refuse("mask", words[2]);
  const int mask = static_cast<int>(mask_number);
  memory::dims extents = result.get_dims();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if ((mask >> i & 1) == 0) extents[i] = 1;
  }
  if (extents.size() >= std::size(kDense)) refuse("operation", words.front());
  const std::string layout = words.size() > 3 ? words[3] : kDense[extents.size()];
  return describe(extents, words[1], layout);
}

void add_post_op(const std::string& text, const memory::desc& result, dnnl::post_ops& operations,
                 ParsedAttributes& parsed) {
  const std::vector<std::string> words = parts(text, ':');
  const auto value = [&](std::size_t place, float otherwise) {
    return words.size() > place ? number(words[place]) : otherwise;
  };
  if (words.empty()) refuse("operation", text);
  if (words[0] == "sum") return operations.append_sum(value(1, 1.0F));
  if (words[0].starts_with("eltwise_")) {
    return operations.append_eltwise(algorithm_of(words[0]), value(1, 0.0F), value(2, 0.0F));
  }
  const memory::desc operand = operand_of(words, result);
  parsed.operands.emplace_back(operations.len(), operand);
  operations.append_binary(algorithm_of(words[0]), operand);
}

}  // namespace

memory::data_type data_type_of(const std::string& name) {
  static const std::map<std::string, memory::data_type> types = {
      {"f32", memory::data_type::f32}, {"bf16", memory::data_type::bf16},
      {"f16", memory::data_type::f16}, {"s32", memory::data_type::s32},
      {"s8", memory::data_type::s8},   {"u8", memory::data_type::u8}};
  const auto found = types.find(name);
  if (found == types.end()) refuse("data type", name);
  return found->second;
}

memory::desc describe(const std::vector<std::int64_t>& extents, const std::string& type,
                      const std::string& layout) {
  try {
    return {extents, data_type_of(type), tag_of(layout)};
  } catch (const dnnl::error&) {
    refuse("a tensor of these extents in layout", layout);
  }
}

ParsedAttributes parse_attributes(const std::string& words, const memory::desc& result) {
  ParsedAttributes parsed;
  for (const std::string& word : parts(words, ' ')) {
    if (word.empty()) continue;
    const std::size_t colon = word.find(':');
    const std::string name = word.substr(0, colon);
    const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
    if (name == "attr-scratchpad") continue;  // ours to give, always
    if (name != "attr-post-ops") refuse("attribute", name);
    dnnl::post_ops operations;
    for (const std::string& one : parts(value, '+')) add_post_op(one, result, operations, parsed);
    parsed.attributes.set_post_ops(operations);
  }
  parsed.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return parsed;
}

}  // namespace harness::kernels
