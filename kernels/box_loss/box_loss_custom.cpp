// `box-loss=custom`: touches the codes of matched anchors only, where the head left them.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/box_loss/box_loss.hpp"
#include "kernels/check.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

using torch::autograd::variable_list;

/// Anchors that one thread looks at in one go. Sums are over chunks, whoever does them, so that the
/// loss does not depend on the number of threads.
constexpr int64_t kChunk = 2048;

/// Ids to look at from which on more threads are worth waking; less is done in 0.1 ms.
constexpr int64_t kWorthThreads = 1 << 18;
/// Of a matched anchor, in ids.
constexpr int64_t kMatchCost = 64;

/// One level as anchors: number `first` onwards, `per_location` of them at each (y, x).
struct Level {
  int64_t first = 0;
  int64_t per_location = 0;
  int64_t width = 0;

  /// Of the first of an anchor's four codes; the others follow at strides[1].
  int64_t offset(at::IntArrayRef strides, int64_t image, int64_t anchor) const {
    const int64_t local = anchor - first;
    const int64_t place = local / per_location;
    return image * strides[0] + local % per_location * 4 * strides[1] + place / width * strides[2] +
           place % width * strides[3];
  }
};

struct Match {
  int64_t anchor = 0;
  int64_t box = 0;
};

/// What encode_boxes() does for one row, in the same float32 operations.
std::array<float, 4> encode_box(const float* box, const float* anchor) {
  const float anchor_width = anchor[2] - anchor[0];
  const float anchor_height = anchor[3] - anchor[1];
  const float anchor_x = anchor[0] + 0.5F * anchor_width;
  const float anchor_y = anchor[1] + 0.5F * anchor_height;
  const float width = box[2] - box[0];
  const float height = box[3] - box[1];
  const float x = box[0] + 0.5F * width;
  const float y = box[1] + 0.5F * height;
  return {(x - anchor_x) / anchor_width, (y - anchor_y) / anchor_height,
          std::log(width / anchor_width), std::log(height / anchor_height)};
}

/// Anchors with a box, chunk by chunk. Throws std::invalid_argument for a box that does not exist.
std::vector<std::vector<Match>> find_matches(const at::Tensor& matched, int64_t boxes) {
  const at::Tensor ids = matched.contiguous();
  const int64_t* id = ids.const_data_ptr<int64_t>();
  const int64_t count = ids.numel();
  const int64_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<std::vector<Match>> found(static_cast<size_t>(chunks));
  int64_t highest = -1;
#pragma omp parallel for reduction(max : highest) if (count > kWorthThreads)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t i = chunk * kChunk; i < end; ++i) {
      if (id[i] < 0) continue;
      found[static_cast<size_t>(chunk)].push_back({i, id[i]});
      highest = std::max(highest, id[i]);
    }
  }
  require(highest < boxes, "box-loss: an anchor is matched to box " + std::to_string(highest) +
                               " of " + std::to_string(boxes));
  return found;
}

/// The loss of one call and its gradient.
class BoxLoss {
 public:
  /// Throws std::invalid_argument when shapes or types do not belong together.
  explicit BoxLoss(const BoxLossArguments& arguments)
      : arguments_(arguments), anchors_(arguments.anchors.contiguous()) {
    const auto images = static_cast<size_t>(check_levels());
    require(images > 0 && images == arguments_.matched.size() && images == arguments_.boxes.size(),
            "box-loss needs matched ids and boxes for each image");
    require(anchors_.dim() == 2 && anchors_.size(1) == 4 && anchors_.scalar_type() == at::kFloat,
            "box-loss=custom needs anchors as (anchors, 4) float32");
    for (size_t i = 0; i < images; ++i) {
      const at::Tensor& matched = arguments_.matched[i];
      require(matched.scalar_type() == at::kLong && matched.numel() == anchors_.size(0),
              "box-loss needs one int64 id for each anchor");
      const at::Tensor& boxes = arguments_.boxes[i];
      require(boxes.numel() == 0 ||
                  (boxes.dim() == 2 && boxes.size(1) == 4 && boxes.scalar_type() == at::kFloat),
              "box-loss=custom needs boxes as (boxes, 4) float32");
    }
  }

  /// Scalar, float32, or float64 for codes in float64. Fills gradients() if `with_gradients`.
  at::Tensor compute(bool with_gradients) {
    for (const at::Tensor& level : arguments_.levels) {
      gradients_.push_back(with_gradients && level.requires_grad()
                               ? at::zeros_like(level, level.options().requires_grad(false))
                               : at::Tensor());
    }
    const at::ScalarType type = arguments_.levels.front().scalar_type();
    double loss = 0;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "box_loss_custom", [&] {
      for (size_t i = 0; i < arguments_.matched.size(); ++i) {
        loss += add_image<scalar_t>(static_cast<int64_t>(i));
      }
    });
    return at::scalar_tensor(loss / static_cast<double>(arguments_.matched.size()),
                             at::promote_types(type, at::kFloat));
  }

  /// Undefined for levels that need none.
  variable_list take_gradients() { return std::move(gradients_); }

 private:
  int64_t check_levels() {
    int64_t first = 0;
    for (const at::Tensor& level : arguments_.levels) {
      require(level.dim() == 4 && level.size(1) % 4 == 0, "a head output must be (N, A*4, H, W)");
      require(level.size(0) == arguments_.levels.front().size(0) &&
                  level.scalar_type() == arguments_.levels.front().scalar_type(),
              "the levels of a head must agree in batch size and type");
      levels_.push_back({first, level.size(1) / 4, level.size(3)});
      first += level.size(1) / 4 * level.size(2) * level.size(3);
    }
    require(!levels_.empty() && first == arguments_.anchors.size(0),
            "box-loss needs an anchor for each four codes of the levels");
    return arguments_.levels.front().size(0);
  }

  template <typename T>
  double add_image(int64_t image) {
    const at::Tensor boxes = arguments_.boxes[static_cast<size_t>(image)].contiguous();
    const std::vector<std::vector<Match>> chunks = find_matches(
        arguments_.matched[static_cast<size_t>(image)], boxes.numel() == 0 ? 0 : boxes.size(0));
    int64_t count = 0;
    for (const auto& chunk : chunks) count += static_cast<int64_t>(chunk.size());
    count = std::max<int64_t>(1, count);
    // In the type and order in which autograd would divide the reference's gradient of 1.
    using Wide = at::opmath_type<T>;
    const Wide share =
        Wide(1) / static_cast<Wide>(arguments_.matched.size()) / static_cast<Wide>(count);
    std::vector<double> sums(chunks.size());
    const auto* box_rows = static_cast<const float*>(boxes.const_data_ptr());
#pragma omp parallel for if (count * kMatchCost > kWorthThreads)
    for (size_t i = 0; i < chunks.size(); ++i) {
      sums[i] = add_matches<T>(image, chunks[i], box_rows, static_cast<T>(share));
    }
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum / static_cast<double>(count);
  }

  /// The sum of |code - target|; writes +-share where the gradient goes.
  template <typename T>
  double add_matches(int64_t image, const std::vector<Match>& matches, const float* boxes,
                     T share) const {
    using Wide = at::opmath_type<T>;
    const auto* anchors = anchors_.const_data_ptr<float>();
    double sum = 0;
    size_t at_level = 0;
    for (const Match& match : matches) {
      while (at_level + 1 < levels_.size() && match.anchor >= levels_[at_level + 1].first) {
        ++at_level;
      }
      const Level& level = levels_[at_level];
      const at::Tensor& codes = arguments_.levels[at_level];
      const at::Tensor& gradient = gradients_[at_level];
      const T* code =
          codes.const_data_ptr<T>() + level.offset(codes.strides(), image, match.anchor);
      T* slope = gradient.defined() ? gradient.data_ptr<T>() +
                                          level.offset(gradient.strides(), image, match.anchor)
                                    : nullptr;
      const std::array<float, 4> target =
          encode_box(boxes + 4 * match.box, anchors + 4 * match.anchor);
      for (size_t k = 0; k < 4; ++k) {
        const auto column = static_cast<int64_t>(k);
        const Wide difference =
            static_cast<Wide>(code[column * codes.stride(1)]) - static_cast<Wide>(target[k]);
        sum += static_cast<double>(std::abs(difference));
        if (slope == nullptr) continue;
        // The slope at 0 is 0, and so it is for NaN, as at::sgn has it.
        T& here = slope[column * gradient.stride(1)];
        if (difference > 0) here = share;
        if (difference < 0) here = -share;
      }
    }
    return sum;
  }

  const BoxLossArguments& arguments_;
  at::Tensor anchors_;
  std::vector<Level> levels_{};
  variable_list gradients_{};
};

struct BoxLossFunction : torch::autograd::Function<BoxLossFunction> {
  // The levels stand on their own because autograd finds tensors in lists, not in structures.
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList /*levels*/,
                            const BoxLossArguments& arguments, bool with_gradients) {
    BoxLoss loss(arguments);
    at::Tensor value = loss.compute(with_gradients);
    context->save_for_backward(loss.take_gradients());
    return value;
  }

  static variable_list backward(torch::autograd::AutogradContext* context,
                                const variable_list& incoming) {
    variable_list gradients = context->get_saved_variables();
    // A loss that is only added to others receives 1: nothing to multiply.
    if (incoming[0].requires_grad() || incoming[0].item<double>() != 1) {
      for (at::Tensor& gradient : gradients) {
        if (gradient.defined()) gradient = gradient * incoming[0];
      }
    }
    gradients.resize(gradients.size() + 2);  // of the arguments after the levels: none
    return gradients;
  }
};

at::Tensor box_loss_custom(const BoxLossArguments& arguments) {
  const KernelScope scope("box-loss");
  return BoxLossFunction::apply(at::TensorList(arguments.levels), arguments,
                                at::GradMode::is_enabled());
}

}  // namespace

const Register<BoxLossFn> registered_box_loss_custom{
    box_loss_operator(),
    {"custom", "Value and gradient in one pass over the matched anchors, no gather, no cat.",
     box_loss_custom}};

}  // namespace harness::kernels
