#include "workloads/torch/replayer.hpp"

#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/replay/replay.hpp"
#include "kernels/runtime/versions.hpp"

namespace harness::workloads {
namespace {

using Extents = std::vector<std::int64_t>;

/// Beyond what any model has, and small enough for a product of two of them.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 30;
/// Times what blocks of a layout add to it and eight bytes it is still a number.
constexpr std::int64_t kMostElements = std::int64_t{1} << 42;

Extents extents_of(const std::string& text) {
  Extents extents;
  for (const std::string& part : split(text, 'x')) {
    const auto number = parse_integer(part);
    if (!number) throw std::invalid_argument("the problem has no such extents");
    extents.push_back(*number);
  }
  return extents;
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

void set_convolution(const std::string& problem, kernels::PrimitiveForm& form,
                     std::map<std::string, Extents>& extents) {
  const auto parsed = ConvolutionExtents::parse(problem);
  if (!parsed) throw std::invalid_argument("the problem is no convolution's");
  const auto of = [&](const char* name) { return parsed->of(name); };
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
  const std::vector<std::string> sides = split(problem, ':');
  if (sides.size() < 2) throw std::invalid_argument("the problem is no product's");
  extents["src"] = extents_of(sides[0]);
  extents["wei"] = extents_of(sides[1]);
  extents["dst"] = extents["src"];
  extents["dst"].back() = extents["wei"].back();
  extents["bia"] = Extents(extents["dst"].size(), 1);
  extents["bia"].back() = extents["wei"].back();
}

kernels::PrimitiveForm form_of(const Primitive& primitive) {
  kernels::PrimitiveForm form{.kind = primitive.kind, .direction = primitive.direction};
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
    const std::string layout =
        tensor.chosen_by_library || tensor.layout.empty() ? "any" : tensor.layout;
    form.tensors[tensor.name] = {tensor.type, layout, found->second};
  }
  return form;
}

/// A profile says of a kernel of ours what it reads, not more.
kernels::PrimitiveForm own_form_of(const Primitive& primitive) {
  if (primitive.kind != "convolution" || primitive.tensors.empty()) {
    throw std::invalid_argument("kernels of this kind are not replayed");
  }
  Primitive whole = primitive;
  const TensorLayout first = primitive.tensors.front();
  whole.tensors.clear();
  for (const char* name : {"src", "wei", "dst"}) {
    whole.tensors.push_back(
        {name, first.type, std::string_view(name) == "wei" ? "" : "acdb", false});
  }
  return form_of(whole);
}

class Prepared final : public PreparedPrimitive {
 public:
  explicit Prepared(std::unique_ptr<kernels::Replay> replay) : replay_(std::move(replay)) {}
  double run() override {
    try {
      return replay_->run();
    } catch (const std::exception& error) {
      throw Error("replay", reason(error));
    }
  }
  std::string implementation() const override { return replay_->implementation(); }

 private:
  std::unique_ptr<kernels::Replay> replay_;
};

class TorchReplayer final : public Replayer {
 public:
  TorchReplayer(int threads, const ReplaySizes& sizes)
      : threads_(threads), memory_(sizes.cache_bytes, sizes.most_bytes) {}

  std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                             const std::string& library) override {
    try {
      const bool ours = library == "harness";
      const kernels::PrimitiveForm form = ours ? own_form_of(primitive) : form_of(primitive);
      check_sizes(form);
      return std::make_unique<Prepared>(ours ? own(form)
                                             : kernels::make_onednn_replay(form, memory_));
    } catch (const std::exception& error) {
      throw Error(primitive.kind + " " + primitive.problem, reason(error));
    }
  }

  std::string library() const override {
    return "oneDNN " + kernels::library_versions().at("onednn");
  }

 private:
  // Before a library is asked what it would make of them.
  void check_sizes(const kernels::PrimitiveForm& form) const {
    for (const auto& [name, tensor] : form.tensors) {
      std::size_t elements = 1;
      for (const std::int64_t extent : tensor.extents) elements *= static_cast<std::size_t>(extent);
      memory_.check(elements * 4);
    }
  }

  std::unique_ptr<kernels::Replay> own(const kernels::PrimitiveForm& form) {
    try {
      return kernels::make_own_convolution_replay(form, threads_, memory_);
    } catch (const std::invalid_argument&) {
      // Where ours has none (bf16, say) the kernels take oneDNN's.
      return kernels::make_onednn_replay(form, memory_);
    }
  }

  int threads_;
  kernels::ReplayMemory memory_;
};

}  // namespace

std::unique_ptr<Replayer> make_replayer(int threads, const ReplaySizes& sizes) {
  return std::make_unique<TorchReplayer>(threads, sizes);
}

}  // namespace harness::workloads
