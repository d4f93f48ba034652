#include "harness/profile/primitive.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

// Larger ones are no shape that anybody trains with, and their products would be no numbers.
constexpr long long kLargestExtent = 1LL << 31;

constexpr std::array<std::string_view, 22> kExtentNames = {
    "g",  "mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd",
    "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};

bool is_extent(std::string_view name) {
  return std::find(kExtentNames.begin(), kExtentNames.end(), name) != kExtentNames.end();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "8x64x100x100" -> its numbers; empty for anything else.
std::optional<std::vector<double>> extents_of(std::string_view text) {
  std::vector<double> extents;
  for (const std::string& part : split(text, 'x')) {
    const auto number = parse_integer(part);
    if (!number || *number < 0 || *number > kLargestExtent) return std::nullopt;
    extents.push_back(static_cast<double>(*number));
  }
  return extents;
}

double product(const std::vector<double>& extents) {
  double all = 1;
  for (const double extent : extents) all *= extent;
  return all;
}

std::optional<double> matmul_flops(std::string_view problem) {
  const std::vector<std::string> sides = split(problem, ':');
  if (sides.size() < 2) return std::nullopt;
  const auto left = extents_of(sides[0]);
  const auto right = extents_of(sides[1]);
  if (!left || !right || left->size() < 2 || right->size() < 2) return std::nullopt;
  return 2 * product(*left) * right->back();
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
  const auto left = extents_of(sides[0]);
  const auto right = extents_of(sides[1]);
  if (!left || !right || left->empty() || right->empty() || left->back() <= 0) return std::nullopt;
  if (name == "src") return product(*left);
  if (name == "wei") return product(*right);
  if (name == "dst") return product(*left) / left->back() * right->back();
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

std::optional<ConvolutionExtents> ConvolutionExtents::parse(std::string_view problem) {
  ConvolutionExtents extents;
  std::size_t at = 0;
  while (at < problem.size()) {
    if (problem[at] == '_') {
      ++at;
      continue;
    }
    const std::size_t name_begin = at;
    while (at < problem.size() && is_letter(problem[at])) ++at;
    const std::string name(problem.substr(name_begin, at - name_begin));
    if (name == "n") break;  // benchdnn's name for the problem, to the end
    const std::size_t digits = at;
    while (at < problem.size() && is_digit(problem[at])) ++at;
    const auto number = parse_integer(problem.substr(digits, at - digits));
    if (!is_extent(name) || !number || *number > kLargestExtent) return std::nullopt;
    if (!extents.values_.emplace(name, *number).second) return std::nullopt;
  }
  for (const char* needed : {"ic", "oc", "ih", "oh", "kh"}) {
    if (!extents.values_.contains(needed) || extents.of(needed) < 1) return std::nullopt;
  }
  if (extents.of("g") < 1 || extents.of("mb") < 1) return std::nullopt;
  return extents;
}

std::int64_t ConvolutionExtents::of(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (name.size() == 2 && name[1] == 'w') return of({name[0], 'h'});
  return name[0] == 'p' || name[0] == 'd' ? 0 : 1;
}

double ConvolutionExtents::flops() const {
  const auto n = [this](const char* extent) { return static_cast<double>(of(extent)); };
  return 2 * n("mb") * n("oc") * n("od") * n("oh") * n("ow") * n("ic") / n("g") * n("kd") *
         n("kh") * n("kw");
}

std::optional<double> elements(const Primitive& primitive, const TensorLayout& tensor) {
  if (tensor.type == "undef") return 0;
  if (is_convolution(primitive)) {
    const auto extents = ConvolutionExtents::parse(primitive.problem);
    return extents ? convolution_elements(*extents, tensor.name) : std::nullopt;
  }
  if (primitive.kind == "matmul") return matmul_elements(primitive.problem, tensor.name);
  const auto extents = extents_of(primitive.problem);
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
