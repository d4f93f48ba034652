#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/convolution/kernel.hpp"
#include "kernels/convolution/tuning.hpp"
#include "kernels/replay/replay.hpp"

namespace harness::kernels {
namespace {

/// What a pass stands in: a recorded step, whose weights are prepared elsewhere and whose ReLU
/// masks its gradients, or what a candidate is timed for.
enum class Around { kStep, kTraining, kInference };

class OwnConvolutionReplay final : public Replay {
 public:
  OwnConvolutionReplay(std::unique_ptr<ConvolutionKernel> convolution, ConvolutionPass pass,
                       Around around, ReplayMemory& memory)
      : convolution_(std::move(convolution)), pass_(pass), around_(around), memory_(memory) {
    const ConvolutionShape& s = convolution_->shape();
    memory_.check(static_cast<std::size_t>(4 * s.out_channels * s.in_channels / s.groups *
                                           s.kernel_height * s.kernel_width));
    memory_.reserve(
        static_cast<std::size_t>(4 * s.batch *
                                 std::max(s.in_channels * s.in_height * s.in_width,
                                          s.out_channels * s.out_height() * s.out_width())));
    weights_.weight =
        at::full({s.out_channels, s.in_channels / s.groups, s.kernel_height, s.kernel_width}, 0.5)
            .contiguous(at::MemoryFormat::ChannelsLast);
    bias_ = at::zeros({s.out_channels});
  }

  void chill() override {
    if (around_ == Around::kInference && input_.defined()) return;
    const ConvolutionShape& s = convolution_->shape();
    const auto activation = [&](std::int64_t channels, std::int64_t height, std::int64_t width) {
      const std::int64_t count = s.batch * channels * height * width;
      const auto bytes = static_cast<std::size_t>(count) * c10::elementSize(s.type);
      return at::from_blob(memory_.input(bytes), {s.batch, channels, height, width},
                           {channels * height * width, 1, channels * width, channels},
                           at::TensorOptions(s.type));
    };
    input_ = activation(s.in_channels, s.in_height, s.in_width);
    output_ = activation(s.out_channels, s.out_height(), s.out_width());
  }

  void run() override {
    if (around_ == Around::kTraining) weights_.weight.unsafeGetTensorImpl()->bump_version();
    switch (pass_) {
      case ConvolutionPass::kForward:
        convolution_->forward(input_, weights_, bias_, {});
        break;
      case ConvolutionPass::kData:
        convolution_->backward_data(output_, mask(), weights_);
        break;
      case ConvolutionPass::kWeights:
        convolution_->backward_weights(input_, output_, mask(), weights_, {});
        break;
    }
  }

  std::string implementation() const override { return convolution_->implementation(pass_); }

 private:
  // Where the kernel applies the ReLU's mask itself it reads a third activation.
  at::Tensor mask() const {
    const bool masked = around_ == Around::kStep && convolution_->applies_mask();
    return masked ? output_ : at::Tensor();
  }

  std::unique_ptr<ConvolutionKernel> convolution_;
  ConvolutionPass pass_;
  Around around_;
  ReplayMemory& memory_;
  ConvolutionWeights weights_{};
  at::Tensor bias_{};
  at::Tensor input_{}, output_{};  ///< of the next run
};

/// The kernel of that name, or where it was a library's what `custom` takes in its place.
const ConvolutionKernelInfo* own_kernel(const std::string& implementation,
                                        const ConvolutionShape& shape, ConvolutionPass pass) {
  const std::string name = implementation.substr(0, implementation.find(':'));
  for (const ConvolutionKernelInfo* info : convolution_kernels()) {
    if (info->name == name && info->computes(shape, pass)) return info;
  }
  // A layer of a chain that nothing computes by itself: in bf16, or a product with gathered rows.
  if (name == "product" || name == "depthwise") return nullptr;
  const std::string chosen = tuned_kernel(shape, pass);
  return chosen == "onednn" || chosen == "libtorch" ? nullptr : &convolution_kernel(chosen);
}

}  // namespace

std::unique_ptr<Replay> make_own_convolution_replay(const PrimitiveForm& form, int threads,
                                                    ReplayMemory& memory) {
  for (const char* name : {"src", "wei", "dst"}) {
    if (form.tensors.count(name) == 0) {
      throw std::invalid_argument(std::string("a convolution without ") + name);
    }
  }
  const TensorForm& src = form.tensors.at("src");
  const TensorForm& wei = form.tensors.at("wei");
  ConvolutionShape shape;
  shape.batch = src.extents.at(0);
  shape.in_channels = src.extents.at(1);
  shape.in_height = src.extents.at(2);
  shape.in_width = src.extents.at(3);
  shape.groups = wei.extents.size() == 5 ? wei.extents.at(0) : 1;
  shape.out_channels = form.tensors.at("dst").extents.at(1);
  shape.kernel_height = wei.extents.at(wei.extents.size() - 2);
  shape.kernel_width = wei.extents.at(wei.extents.size() - 1);
  shape.stride = form.strides.at(0);
  shape.padding = form.padding_begin.at(0);
  shape.type = src.type == "bf16" ? at::kBFloat16 : at::kFloat;
  shape.bias = true;
  shape.relu = true;
  shape.threads = threads;
  const ConvolutionPass pass = form.direction == "backward_data"      ? ConvolutionPass::kData
                               : form.direction == "backward_weights" ? ConvolutionPass::kWeights
                                                                      : ConvolutionPass::kForward;
  const ConvolutionKernelInfo* const kernel = own_kernel(form.implementation, shape, pass);
  if (kernel == nullptr) throw std::invalid_argument("no kernel of ours for this shape here");
  std::unique_ptr<ConvolutionKernel> convolution = kernel->make(shape, {pass});
  return std::make_unique<OwnConvolutionReplay>(std::move(convolution), pass, Around::kStep,
                                                memory);
}

std::unique_ptr<Replay> make_candidate_replay(const std::string& kernel,
                                              const ConvolutionShape& shape, ConvolutionPass pass,
                                              CandidateUse use, ReplayMemory& memory) {
  std::unique_ptr<ConvolutionKernel> convolution = convolution_kernel(kernel).make(shape, {pass});
  if (!convolution) throw std::invalid_argument(kernel + " cannot compute it here");
  const Around around = use == CandidateUse::kTraining ? Around::kTraining : Around::kInference;
  return std::make_unique<OwnConvolutionReplay>(std::move(convolution), pass, around, memory);
}

}  // namespace harness::kernels
