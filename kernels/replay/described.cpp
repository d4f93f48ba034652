#include "kernels/replay/described.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

namespace harness::kernels {
namespace {

using Extents = std::vector<std::int64_t>;

/// Beyond what any model has, and small enough for a product of two of them.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 30;
/// Times what blocks of a layout add to it and eight bytes it is still a number.
constexpr std::int64_t kMostElements = std::int64_t{1} << 42;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 31;

const std::set<std::string, std::less<>> kExtentNames = {
    "g",  "mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd",
    "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};

/// The number at the beginning of `text`, which is taken away; empty for none, and for one above
/// 2^31.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMostNumber) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Of "8x64x100".
Extents extents_of(std::string_view text) {
  Extents extents;
  for (bool more = true; more; text.remove_prefix(more ? 1 : 0)) {
    const auto number = take_number(text);
    more = text.starts_with('x');
    if (!number || (!more && !text.empty())) {
      throw std::invalid_argument("the problem has no such extents");
    }
    extents.push_back(*number);
  }
  return extents;
}

/// Of "g8mb1_ic64oc64_ih13oh13kh3sh1dh0ph1" what each name stands for. A width that is not named is
/// like the height.
std::map<std::string, std::int64_t> convolution_numbers(std::string_view problem) {
  const auto refuse = [] { throw std::invalid_argument("the problem is no convolution's"); };
  std::map<std::string, std::int64_t> numbers = {{"g", 1},  {"mb", 1}, {"id", 1}, {"kd", 1},
                                                 {"sh", 1}, {"dh", 0}, {"ph", 0}};
  std::set<std::string> named;
  while (!problem.empty()) {
    if (problem.front() == '_') {
      problem.remove_prefix(1);
      continue;
    }
    const std::size_t letters = std::min(problem.find_first_of("0123456789"), problem.size());
    const std::string name(problem.substr(0, letters));
    if (name.starts_with('n')) break;  // benchdnn's name for the problem, to the end
    problem.remove_prefix(letters);
    const auto number = take_number(problem);
    if (!number || !kExtentNames.contains(name) || !named.insert(name).second) refuse();
    numbers[name] = *number;
  }
  for (const char* needed : {"g", "mb", "ic", "oc", "ih", "oh", "kh"}) {
    if (numbers.count(needed) == 0 || numbers.at(needed) < 1) refuse();
  }
  for (const std::string letter : {"i", "o", "k", "s", "d", "p"}) {
    numbers.try_emplace(letter + "w", numbers.at(letter + "h"));
  }
  return numbers;
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
  const auto numbers = convolution_numbers(problem);
  const auto of = [&](const char* name) { return numbers.at(name); };
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
  if (problem.rfind('g', 0) == 0) extents["wei"].insert(extents["wei"].begin(), groups);
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
  const std::size_t colon = problem.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("the problem is no product's");
  const std::string_view rest = std::string_view(problem).substr(colon + 1);
  extents["src"] = extents_of(std::string_view(problem).substr(0, colon));
  extents["wei"] = extents_of(rest.substr(0, rest.find(':')));
  extents["dst"] = extents["src"];
  extents["dst"].back() = extents["wei"].back();
  extents["bia"] = Extents(extents["dst"].size(), 1);
  extents["bia"].back() = extents["wei"].back();
}

PrimitiveForm form_of(const DescribedPrimitive& primitive) {
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
  for (const DescribedTensor& tensor : primitive.tensors) {
    const auto found = extents.find(tensor.name);
    if (tensor.type == "undef" || found == extents.end()) continue;
    form.tensors[tensor.name] = {tensor.type, tensor.layout.empty() ? "any" : tensor.layout,
                                 found->second};
  }
  return form;
}

/// A profile says of a kernel of ours what it reads, not more.
PrimitiveForm own_form_of(const DescribedPrimitive& primitive) {
  if (primitive.kind != "convolution" || primitive.tensors.empty()) {
    throw std::invalid_argument("kernels of this kind are not replayed");
  }
  DescribedPrimitive whole = primitive;
  const std::string type = primitive.tensors.front().type;
  whole.tensors.clear();
  for (const char* name : {"src", "wei", "dst"}) {
    whole.tensors.push_back({name, type, std::string_view(name) == "wei" ? "" : "acdb"});
  }
  return form_of(whole);
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

std::unique_ptr<Replay> make_replay(const DescribedPrimitive& primitive, bool ours, int threads,
                                    ReplayMemory& memory) {
  const PrimitiveForm form = ours ? own_form_of(primitive) : form_of(primitive);
  check_sizes(form, memory);
  if (ours) {
    try {
      return make_own_convolution_replay(form, threads, memory);
    } catch (const std::invalid_argument&) {
      // There the kernels take oneDNN's.
    }
  }
  return make_onednn_replay(form, memory);
}

}  // namespace harness::kernels
