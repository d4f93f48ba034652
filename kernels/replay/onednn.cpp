#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <unordered_map>

#include "kernels/convolution/engine.hpp"
#include "kernels/replay/attributes.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::kernels {
namespace {

using dnnl::memory;

struct Argument {
  int index = 0;
  memory::desc description{};
  bool written = false;
};

class OneDnnReplay final : public Replay {
 public:
  OneDnnReplay(dnnl::primitive primitive, std::vector<Argument> arguments,
               std::string implementation, ReplayMemory& memory)
      : primitive_(std::move(primitive)),
        arguments_(std::move(arguments)),
        implementation_(std::move(implementation)),
        memory_(memory) {
    for (const Argument& argument : arguments_) memory_.reserve(argument.description.get_size());
  }

  void chill() override {
    ready_.clear();
    for (const Argument& argument : arguments_) {
      const std::size_t bytes = argument.description.get_size();
      void* const at = argument.written ? memory_.output(bytes) : memory_.input(bytes);
      ready_.emplace(argument.index, memory(argument.description, engine(), at));
    }
  }

  void run() override {
    primitive_.execute(stream(), ready_);
    stream().wait();
  }

  std::string implementation() const override { return implementation_; }

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::unordered_map<int, memory> ready_{};  ///< for the next run
  std::string implementation_;
  ReplayMemory& memory_;
};

/// Dense memory as the form says; empty for a tensor that it does not have.
memory::desc tensor_of(const PrimitiveForm& form, const std::string& name) {
  const auto found = form.tensors.find(name);
  if (found == form.tensors.end()) return {};
  return describe(found->second.extents, found->second.type, found->second.layout);
}

template <class Description>
std::unique_ptr<Replay> make(const Description& made, const dnnl::primitive& primitive,
                             std::vector<Argument> arguments, const ParsedAttributes& parsed,
                             ReplayMemory& memory) {
  for (const auto& [place, operand] : parsed.operands) {
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1, operand, false});
  }
  arguments.push_back({DNNL_ARG_SCRATCHPAD, made.scratchpad_desc(), true});
  std::erase_if(arguments, [](const Argument& argument) {
    return argument.description.is_zero() || argument.description.get_size() == 0;
  });
  return std::make_unique<OneDnnReplay>(primitive, std::move(arguments), made.impl_info_str(),
                                        memory);
}

std::unique_ptr<Replay> convolution(const PrimitiveForm& form, ReplayMemory& memory) {
  const memory::desc src = tensor_of(form, "src"), wei = tensor_of(form, "wei"),
                     bia = tensor_of(form, "bia"), dst = tensor_of(form, "dst");
  const ParsedAttributes parsed =
      parse_attributes(form.attributes, form.direction == "backward_data" ? src : dst);
  const auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  if (form.direction == "forward_training" || form.direction == "forward_inference") {
    const auto kind = form.direction == "forward_training" ? dnnl::prop_kind::forward_training
                                                           : dnnl::prop_kind::forward_inference;
    const Forward::primitive_desc made(engine(), kind, direct, src, wei, bia, dst, form.strides,
                                       form.dilations, form.padding_begin, form.padding_end,
                                       parsed.attributes);
    return make(made, Forward(made),
                {{DNNL_ARG_SRC, made.src_desc(), false},
                 {DNNL_ARG_WEIGHTS, made.weights_desc(), false},
                 {DNNL_ARG_BIAS, made.bias_desc(), false},
                 {DNNL_ARG_DST, made.dst_desc(), true}},
                parsed, memory);
  }
  // A gradient asks for the forward primitive it belongs to, for its choice of algorithm only; that
  // one reads weights of its input's type, whatever the gradient's.
  if (src.is_zero() || wei.is_zero() || dst.is_zero()) {
    throw std::invalid_argument("a gradient without src, wei or dst");
  }
  const memory::desc weights(form.tensors.at("wei").extents,
                             data_type_of(form.tensors.at("src").type), memory::format_tag::any);
  const Forward::primitive_desc hint(engine(), dnnl::prop_kind::forward_training, direct, src,
                                     weights, dst, form.strides, form.dilations, form.padding_begin,
                                     form.padding_end);
  if (form.direction == "backward_data") {
    using Backward = dnnl::convolution_backward_data;
    const Backward::primitive_desc made(engine(), direct, src, wei, dst, form.strides,
                                        form.dilations, form.padding_begin, form.padding_end, hint,
                                        parsed.attributes);
    return make(made, Backward(made),
                {{DNNL_ARG_DIFF_DST, made.diff_dst_desc(), false},
                 {DNNL_ARG_WEIGHTS, made.weights_desc(), false},
                 {DNNL_ARG_DIFF_SRC, made.diff_src_desc(), true}},
                parsed, memory);
  }
  if (form.direction != "backward_weights") {
    throw std::invalid_argument("a convolution has no such direction");
  }
  using Backward = dnnl::convolution_backward_weights;
  const Backward::primitive_desc made(engine(), direct, src, wei, bia, dst, form.strides,
                                      form.dilations, form.padding_begin, form.padding_end, hint,
                                      parsed.attributes);
  return make(made, Backward(made),
              {{DNNL_ARG_SRC, made.src_desc(), false},
               {DNNL_ARG_DIFF_DST, made.diff_dst_desc(), false},
               {DNNL_ARG_DIFF_WEIGHTS, made.diff_weights_desc(), true},
               {DNNL_ARG_DIFF_BIAS, made.diff_bias_desc(), true}},
              parsed, memory);
}

std::unique_ptr<Replay> matmul(const PrimitiveForm& form, ReplayMemory& memory) {
  const memory::desc dst = tensor_of(form, "dst");
  const ParsedAttributes parsed = parse_attributes(form.attributes, dst);
  const dnnl::matmul::primitive_desc made(engine(), tensor_of(form, "src"), tensor_of(form, "wei"),
                                          tensor_of(form, "bia"), dst, parsed.attributes);
  return make(made, dnnl::matmul(made),
              {{DNNL_ARG_SRC, made.src_desc(), false},
               {DNNL_ARG_WEIGHTS, made.weights_desc(), false},
               {DNNL_ARG_BIAS, made.bias_desc(), false},
               {DNNL_ARG_DST, made.dst_desc(), true}},
              parsed, memory);
}

std::unique_ptr<Replay> reorder(const PrimitiveForm& form, ReplayMemory& memory) {
  const memory::desc dst = tensor_of(form, "dst");
  const ParsedAttributes parsed = parse_attributes(form.attributes, dst);
  const dnnl::reorder::primitive_desc made(engine(), tensor_of(form, "src"), engine(), dst,
                                           parsed.attributes);
  return make(made, dnnl::reorder(made),
              {{DNNL_ARG_FROM, made.src_desc(), false}, {DNNL_ARG_TO, made.dst_desc(), true}},
              parsed, memory);
}

}  // namespace

std::unique_ptr<Replay> make_onednn_replay(const PrimitiveForm& form, ReplayMemory& memory) {
  try {
    if (form.kind == "convolution") return convolution(form, memory);
    if (form.kind == "matmul") return matmul(form, memory);
    if (form.kind == "reorder") return reorder(form, memory);
  } catch (const dnnl::error& error) {
    throw std::invalid_argument(error.what());
  }
  throw std::invalid_argument("primitives of this kind are not replayed");
}

}  // namespace harness::kernels
