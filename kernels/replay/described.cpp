#include "kernels/replay/described.hpp"

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/problem.hpp"
#include "harness/base/text.hpp"

namespace harness::kernels {
namespace {

using Extents = std::vector<std::int64_t>;

/// Beyond what any model has, and small enough for a product of two of them.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 30;
/// Times what blocks of a layout add to it and eight bytes it is still a number.
constexpr std::int64_t kMostElements = std::int64_t{1} << 42;

/// Throws std::invalid_argument for anything but "8x64x100".
Extents extents_of(std::string_view text) {
  auto extents = parse_extents(text);
  if (!extents) throw std::invalid_argument("the problem has no such extents");
  return std::move(*extents);
}

/// A profile is what somebody wrote. Throws std::invalid_argument.
void check_extents(const Extents& extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1 || extent > kMostExtent || elements > kMostElements / extent) {
      throw std::invalid_argument("no tensor has such extents");
    }
    elements *= extent;
  }
}

void set_convolution(const std::string& problem, PrimitiveForm& form,
                     std::map<std::string, Extents>& extents) {
  const auto named = ConvolutionExtents::parse(problem);
  if (!named) throw std::invalid_argument("the problem is no convolution's");
  const auto of = [&](const char* name) { return named->of(name); };
  if (of("id") > 1 || of("kd") > 1) throw std::invalid_argument("has three dimensions");
  for (const char* name : {"g", "mb", "ic", "oc", "ih", "iw", "oh", "ow", "kh", "kw", "sh", "sw"}) {
    if (of(name) < 1 || of(name) > kMostExtent) {
      throw std::invalid_argument("no convolution has such extents");
    }
  }
  for (const char* name : {"dh", "dw", "ph", "pw"}) {
    if (of(name) < 0 || of(name) > kMostExtent) {
      throw std::invalid_argument("no convolution has such dilations or padding");
    }
  }
  const std::int64_t groups = of("g");
  extents["src"] = {of("mb"), of("ic"), of("ih"), of("iw")};
  extents["dst"] = {of("mb"), of("oc"), of("oh"), of("ow")};
  extents["bia"] = {of("oc")};
  extents["wei"] = {of("oc") / groups, of("ic") / groups, of("kh"), of("kw")};
  if (problem.starts_with('g')) extents["wei"].insert(extents["wei"].begin(), groups);
  form.strides = {of("sh"), of("sw")};
  form.dilations = {of("dh"), of("dw")};
  form.padding_begin = {of("ph"), of("pw")};
  // What the extents need at the other end, which a problem does not say.
  const auto end = [&](const char* in, const char* out, const char* kernel, std::size_t axis) {
    return (of(out) - 1) * form.strides[axis] + (of(kernel) - 1) * (form.dilations[axis] + 1) + 1 -
           of(in) - form.padding_begin[axis];
  };
  form.padding_end = {end("ih", "oh", "kh", 0), end("iw", "ow", "kw", 1)};
}

void set_matmul(const std::string& problem, std::map<std::string, Extents>& extents) {
  const std::vector<std::string> sides = split(problem, ':');
  if (sides.size() < 2) throw std::invalid_argument("the problem is no product's");
  extents["src"] = extents_of(sides[0]);
  extents["wei"] = extents_of(sides[1]);
  extents["dst"] = extents["src"];
  extents["dst"].back() = extents["wei"].back();
  extents["bia"] = Extents(extents["dst"].size(), 1);
  extents["bia"].back() = extents["wei"].back();
}

PrimitiveForm form_of(const Primitive& primitive) {
  PrimitiveForm form{.kind = primitive.kind, .direction = primitive.direction};
  form.attributes = primitive.attributes;
  std::map<std::string, Extents> extents;
  if (primitive.kind == "convolution") {
    set_convolution(primitive.problem, form, extents);
  } else if (primitive.kind == "matmul") {
    set_matmul(primitive.problem, extents);
  } else if (primitive.kind == "reorder") {
    extents["src"] = extents["dst"] = extents_of(primitive.problem);
  }
  for (const auto& [name, found] : extents) check_extents(found);
  for (const TensorLayout& tensor : primitive.tensors) {
    const auto found = extents.find(tensor.name);
    if (tensor.type == "undef" || found == extents.end()) continue;
    const bool any = tensor.chosen_by_library || tensor.layout.empty();
    form.tensors[tensor.name] = {tensor.type, any ? "any" : tensor.layout, found->second};
  }
  return form;
}

/// A profile says of a kernel of ours what it reads, not more.
PrimitiveForm own_form_of(const Primitive& primitive) {
  const bool product = primitive.kind == "matmul";
  if ((primitive.kind != "convolution" && !product) || primitive.tensors.empty()) {
    throw std::invalid_argument("kernels of this kind are not replayed");
  }
  Primitive whole = primitive;
  const std::string type = primitive.tensors.front().type;
  whole.tensors.clear();
  for (const char* name : {"src", "wei", "dst"}) {
    whole.tensors.push_back({name, type, product ? "ab" : "acdb", std::string_view(name) == "wei"});
  }
  PrimitiveForm form = form_of(whole);
  form.implementation = primitive.implementation;
  return form;
}

// Before a library is asked what it would make of them.
void check_sizes(const PrimitiveForm& form, const ReplayMemory& memory) {
  for (const auto& [name, tensor] : form.tensors) {
    std::size_t elements = 1;
    for (const std::int64_t extent : tensor.extents) elements *= static_cast<std::size_t>(extent);
    memory.check(elements * 4);
  }
}

}  // namespace

std::unique_ptr<Replay> make_replay(const Primitive& primitive, bool ours, int threads,
                                    ReplayMemory& memory) {
  const PrimitiveForm form = ours ? own_form_of(primitive) : form_of(primitive);
  check_sizes(form, memory);
  if (ours) {
    try {
      return form.kind == "matmul" ? make_own_product_replay(form, memory)
                                   : make_own_convolution_replay(form, threads, memory);
    } catch (const std::invalid_argument&) {
      // There the kernels take oneDNN's.
    }
  }
  return make_onednn_replay(form, memory);
}

}  // namespace harness::kernels
