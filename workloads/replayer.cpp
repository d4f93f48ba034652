#include "workloads/replayer.hpp"

#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "kernels/replay/replay.hpp"
#include "kernels/runtime/versions.hpp"

namespace harness::workloads {
namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const std::string& text) {
  Extents extents;
  for (const std::string& part : split(text, 'x')) {
    const auto number = parse_integer(part);
    if (!number || *number < 1) throw std::invalid_argument("the problem has no such extents");
    extents.push_back(*number);
  }
  return extents;
}

void set_convolution(const std::string& problem, kernels::PrimitiveForm& form,
                     std::map<std::string, Extents>& extents) {
  const auto parsed = ConvolutionExtents::parse(problem);
  if (!parsed) throw std::invalid_argument("the problem is no convolution's");
  const auto of = [&](const char* name) { return parsed->of(name); };
  if (of("id") > 1 || of("kd") > 1) throw std::invalid_argument("has three dimensions");
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
  double run() override { return replay_->run(); }
  std::string implementation() const override { return replay_->implementation(); }

 private:
  std::unique_ptr<kernels::Replay> replay_;
};

class TorchReplayer final : public Replayer {
 public:
  explicit TorchReplayer(int threads) : threads_(threads) {}

  std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                             const std::string& library) override {
    try {
      if (library != "harness") {
        return std::make_unique<Prepared>(kernels::make_onednn_replay(form_of(primitive), memory_));
      }
      return std::make_unique<Prepared>(own(own_form_of(primitive)));
    } catch (const std::invalid_argument& error) {
      throw Error(primitive.kind + " " + primitive.problem, error.what());
    }
  }

  std::string library() const override {
    return "oneDNN " + kernels::library_versions().at("onednn");
  }

 private:
  std::unique_ptr<kernels::Replay> own(const kernels::PrimitiveForm& form) {
    try {
      return kernels::make_own_convolution_replay(form, threads_, memory_);
    } catch (const std::invalid_argument&) {
      // Where ours has none (bf16, say) the kernels take oneDNN's.
      return kernels::make_onednn_replay(form, memory_);
    }
  }

  int threads_;
  kernels::ReplayMemory memory_{};
};

}  // namespace

std::unique_ptr<Replayer> make_replayer(int threads) {
  return std::make_unique<TorchReplayer>(threads);
}

}  // namespace harness::workloads
