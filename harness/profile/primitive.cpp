#include "harness/profile/primitive.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <vector>

#include "harness/base/problem.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

double product(const std::vector<std::int64_t>& extents) {
  double all = 1;
  for (const std::int64_t extent : extents) all *= static_cast<double>(extent);
  return all;
}

std::optional<double> matmul_flops(std::string_view problem) {
  const std::vector<std::string> sides = split(problem, ':');
  if (sides.size() < 2) return std::nullopt;
  const auto left = parse_extents(sides[0]);
  const auto right = parse_extents(sides[1]);
  if (!left || !right || left->size() < 2 || right->size() < 2) return std::nullopt;
  return 2 * product(*left) * static_cast<double>(right->back());
}

std::optional<double> convolution_elements(const ConvolutionExtents& c, const std::string& name) {
  const auto n = [&c](const char* extent) { return static_cast<double>(c.of(extent)); };
  if (name == "src") return n("mb") * n("ic") * n("id") * n("ih") * n("iw");
  if (name == "dst") return n("mb") * n("oc") * n("od") * n("oh") * n("ow");
  if (name == "bia") return n("oc");
  if (name == "wei") return n("oc") * n("ic") / n("g") * n("kd") * n("kh") * n("kw");
  return std::nullopt;
}

/// "8x64:64x100[:8x100]", src and weights; the result has the rows of one and the columns of the
/// other.
std::optional<double> matmul_elements(std::string_view problem, const std::string& name) {
  const std::vector<std::string> sides = split(problem, ':');
  if (sides.size() < 2) return std::nullopt;
  const auto left = parse_extents(sides[0]);
  const auto right = parse_extents(sides[1]);
  if (!left || !right || left->empty() || right->empty() || left->back() <= 0) return std::nullopt;
  if (name == "src") return product(*left);
  if (name == "wei") return product(*right);
  if (name == "dst")
    return product(*left) / static_cast<double>(left->back()) * static_cast<double>(right->back());
  return std::nullopt;
}

bool is_convolution(const Primitive& primitive) {
  return primitive.kind == "convolution" || primitive.kind == "deconvolution";
}

/// f32 -> 4; empty for a type that is not known.
std::optional<double> bytes_of_type(std::string_view type) {
  static const std::map<std::string_view, double> widths = {
      {"f64", 8}, {"f32", 4}, {"s32", 4},     {"bf16", 2},   {"f16", 2},
      {"s8", 1},  {"u8", 1},  {"f8_e5m2", 1}, {"f8_e4m3", 1}};
  const auto found = widths.find(type);
  return found == widths.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<double> elements(const Primitive& primitive, const TensorLayout& tensor) {
  if (tensor.type == "undef") return 0;
  if (is_convolution(primitive)) {
    const auto extents = ConvolutionExtents::parse(primitive.problem);
    return extents ? convolution_elements(*extents, tensor.name) : std::nullopt;
  }
  if (primitive.kind == "matmul") return matmul_elements(primitive.problem, tensor.name);
  const auto extents = parse_extents(primitive.problem);
  return extents ? std::optional(product(*extents)) : std::nullopt;
}

std::optional<double> flops(const Primitive& primitive) {
  if (is_convolution(primitive)) {
    const auto extents = ConvolutionExtents::parse(primitive.problem);
    return extents ? std::optional(extents->flops()) : std::nullopt;
  }
  if (primitive.kind == "matmul") return matmul_flops(primitive.problem);
  if (primitive.kind == "inner_product") return std::nullopt;
  return 0;
}

std::optional<double> bytes(const Primitive& primitive) {
  double all = 0;
  for (const TensorLayout& tensor : primitive.tensors) {
    if (tensor.type == "undef") continue;
    const auto count = elements(primitive, tensor);
    const auto width = bytes_of_type(tensor.type);
    if (!count || !width) return std::nullopt;
    all += *count * *width;
  }
  if (all <= 0) return std::nullopt;
  return all;
}

bool is_blocked(const TensorLayout& tensor) {
  return std::any_of(tensor.layout.begin(), tensor.layout.end(),
                     [](unsigned char c) { return std::isupper(c) != 0; });
}

std::string pass_name(const std::string& kind, const std::string& direction) {
  return direction.empty() || direction == "undef" ? kind : kind + " " + direction;
}

bool is_reference_implementation(std::string_view implementation) {
  // "ref:any", "ref_int8:any", "simple:any": loops without vectors, except for reorders, where
  // `simple` is a family of fast ones.
  return implementation.rfind("ref", 0) == 0;
}

}  // namespace harness
