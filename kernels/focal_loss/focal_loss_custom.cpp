// Implementation `custom` of focal-loss. The logits are read where they lie: in a channels_last map
// they are rows of one logit per class. Background is what nearly all of them are, so whole ranges
// of rows go through the vector code as background, interrupted only by the one target of a matched
// row and by rows that are ignored. The gradient, scaled by the normalisation, is written in the
// same pass; backward hands it out as it is.
#include "kernels/focal_loss/focal_loss_custom.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/check.hpp"
#include "kernels/focal_loss/focal_loss_simd.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {
namespace {

// Fixed, so that the order of additions is. Large enough for the memory to stream, small enough for
// even shares.
constexpr int64_t kBlockLogits = 32768;
// A gradient beyond this is written past the caches: it would be gone before anyone reads it.
constexpr int64_t kStreamBytes = int64_t{4} << 20;

struct Image {
  const int64_t* matched = nullptr;
  const int64_t* labels = nullptr;
  focal::Term background{};
  focal::Term target{};
};

/// Rows of one image in one level.
struct Block {
  size_t level = 0;
  size_t image = 0;
  int64_t logit = 0;   ///< index of the first one in the level's memory
  int64_t anchor = 0;  ///< index of the first row among the image's anchors
  int64_t rows = 0;
};

int64_t rows_an_image(const at::Tensor& level, int64_t classes) {
  return level.size(1) / classes * level.size(2) * level.size(3);
}

void check_level(const at::Tensor& level, const FocalLossArguments& arguments) {
  require(level.scalar_type() == at::kFloat || level.scalar_type() == at::kBFloat16,
          std::string("focal-loss=custom takes fp32 or bf16 logits, not ") +
              at::toString(level.scalar_type()));
  require(level.dim() == 4 && level.sym_size(1) % arguments.classes == 0,
          "a head output must be (N, A*" + std::to_string(arguments.classes) + ", H, W)");
  require(level.sym_size(0) == static_cast<int64_t>(arguments.matched.size()) &&
              arguments.matched.size() == arguments.labels.size(),
          "focal-loss needs matched ids and labels for each image");
}

void check_ids(const at::Tensor& ids, const char* what) {
  require(ids.dim() == 1 && ids.scalar_type() == at::kLong,
          std::string(what) + " must be one-dimensional int64");
}

/// Counts the matched anchors and makes sure that each has a label, and each label a logit.
int64_t count_matched(const at::Tensor& matched, const at::Tensor& labels, int64_t classes) {
  const int64_t* const ids = matched.const_data_ptr<int64_t>();
  int64_t count = 0;
  int64_t largest = -1;
#pragma omp parallel for num_threads(at::get_num_threads()) reduction(+ : count) \
    reduction(max : largest) if (matched.numel() > kBlockLogits)
  for (int64_t i = 0; i < matched.numel(); ++i) {
    count += ids[i] >= 0 ? 1 : 0;
    largest = std::max(largest, ids[i]);
  }
  require(largest < labels.numel(), "a matched id is beyond the image's boxes");
  const int64_t* const values = labels.const_data_ptr<int64_t>();
  require(std::all_of(values, values + labels.numel(),
                      [&](int64_t label) { return label >= 0 && label < classes; }),
          "a label is not from 0 to " + std::to_string(classes - 1));
  return count;
}

/// bf16 goes through the vector code as the 16 bits it is.
const float* raw(const float* values) { return values; }
float* raw(float* values) { return values; }
const uint16_t* raw(const at::BFloat16* values) {
  return reinterpret_cast<const uint16_t*>(values);
}
uint16_t* raw(at::BFloat16* values) { return reinterpret_cast<uint16_t*>(values); }

/// The loss of a block; `gradient` is null when none is wanted.
template <typename T>
double block_loss(const Block& block, const Image& image, int64_t classes, const T* logits,
                  T* gradient, bool stream) {
  double loss = 0;
  int64_t done = 0;
  const auto background_until = [&](int64_t end) {
    if (end > done) {
      loss += focal::background_loss(raw(logits + done), gradient ? raw(gradient + done) : nullptr,
                                     end - done, block.logit + done, image.background, stream);
    }
  };
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t id = image.matched[block.anchor + row];
    if (id == kIgnored) {
      background_until(row * classes);
      done = (row + 1) * classes;
      if (gradient) std::fill_n(gradient + row * classes, classes, T(0));
    } else if (id >= 0) {
      const int64_t place = row * classes + image.labels[id];
      background_until(place);
      done = place + 1;
      const focal::Value value =
          focal::target_loss(static_cast<double>(static_cast<float>(logits[place])), image.target);
      loss += value.loss;
      if (gradient) gradient[place] = T(static_cast<float>(value.derivative));
    }
  }
  background_until(block.rows * classes);
  return loss;
}

double block_loss(const Block& block, const Image& image, int64_t classes, const at::Tensor& level,
                  const at::Tensor& gradient, bool stream) {
  const auto of_type = [&]<typename T>(T) {
    return block_loss<T>(
        block, image, classes, level.const_data_ptr<T>() + block.logit,
        gradient.numel() > 0 ? gradient.mutable_data_ptr<T>() + block.logit : nullptr, stream);
  };
  return level.scalar_type() == at::kFloat ? of_type(float()) : of_type(at::BFloat16());
}

std::vector<Block> cut_into_blocks(const std::vector<at::Tensor>& levels, int64_t classes) {
  const int64_t most = std::max<int64_t>(1, kBlockLogits / classes);
  std::vector<Block> blocks;
  int64_t anchor = 0;
  for (size_t level = 0; level < levels.size(); ++level) {
    const int64_t rows = rows_an_image(levels[level], classes);
    for (int64_t image = 0; image < levels[level].size(0); ++image) {
      for (int64_t row = 0; row < rows; row += most) {
        blocks.push_back({level, static_cast<size_t>(image), (image * rows + row) * classes,
                          anchor + row, std::min(most, rows - row)});
      }
    }
    anchor += rows;
  }
  return blocks;
}

KernelFacts pass_facts(const std::vector<at::Tensor>& levels, int64_t gradient_bytes) {
  KernelFacts facts{"focal-loss", "custom", "forward_training",
                    levels[0].scalar_type() == at::kFloat ? "f32" : "bf16"};
  int64_t logits = 0;
  for (const at::Tensor& level : levels) {
    logits += level.numel();
    facts.bytes += static_cast<double>(level.nbytes());
  }
  facts.problem = std::to_string(logits);
  facts.bytes += static_cast<double>(gradient_bytes);
  return facts;
}

class FocalLossFunction : public torch::autograd::Function<FocalLossFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList levels,
                            const std::function<FocalLossResult()>& compute) {
    context->saved_data["levels"] = static_cast<int64_t>(levels.size());
    FocalLossResult result = compute();
    context->saved_data["gradients"] = std::move(result.gradients);
    return result.loss;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstream) {
    require(!at::GradMode::is_enabled(), "focal-loss=custom has no second derivative");
    const auto saved = context->saved_data.find("gradients");
    require(saved != context->saved_data.end(),
            "backward through focal-loss a second time (the first did not retain the graph)");
    std::vector<at::Tensor> gradients = saved->second.toTensorVector();
    const bool keep = torch::autograd::get_current_graph_task_keep_graph();
    // Without our own reference the gradient becomes the leaf's, or the next function's, uncopied.
    if (!keep) context->saved_data.erase(saved);
    const at::Tensor& factor = upstream.at(0);
    // A compiler that traces this has no value to look at.
    const bool known = factor.is_cpu() && !at::isTensorSubclassLike(factor);
    const bool unchanged = known && factor.item<double>() == 1;
    for (size_t i = 0; i < gradients.size(); ++i) {
      at::Tensor& gradient = gradients[i];
      if (!context->needs_input_grad(i)) {
        gradient.reset();
      } else if (!unchanged) {
        gradient = known && !keep ? gradient.mul_(factor) : gradient * factor;
      }
    }
    gradients.emplace_back();  // of `compute`
    return gradients;
  }
};

}  // namespace

void check_focal_loss(const FocalLossArguments& arguments, const std::vector<bool>& wanted) {
  require(arguments.classes > 0 && !arguments.levels.empty() && !arguments.matched.empty(),
          "focal-loss needs levels, images and classes");
  require(arguments.gamma >= 0 && std::isfinite(static_cast<float>(arguments.gamma)) &&
              std::isfinite(static_cast<float>(arguments.alpha)),
          "focal-loss needs a finite alpha and a finite gamma of at least 0");
  require(wanted.size() == arguments.levels.size(), "focal-loss needs a level for each gradient");
  const at::Device device = arguments.levels.front().device();
  const auto check_device = [&](const at::Tensor& tensor) {
    require(tensor.device() == device, "focal-loss needs all tensors on one device, not on " +
                                           device.str() + " and " + tensor.device().str());
  };
  c10::SymInt anchors = 0;
  for (const at::Tensor& level : arguments.levels) {
    check_device(level);
    check_level(level, arguments);
    anchors += level.sym_size(1) / arguments.classes * level.sym_size(2) * level.sym_size(3);
  }
  for (size_t i = 0; i < arguments.matched.size(); ++i) {
    check_device(arguments.matched[i]);
    check_device(arguments.labels[i]);
    check_ids(arguments.matched[i], "matched ids");
    check_ids(arguments.labels[i], "labels");
    require(arguments.matched[i].sym_size(0) == anchors, "focal-loss needs a matched id an anchor");
  }
}

FocalLossResult focal_loss_and_gradients(const FocalLossArguments& arguments,
                                         const std::vector<bool>& wanted) {
  check_focal_loss(arguments, wanted);
  require(arguments.levels.front().is_cpu(), "focal-loss=custom takes tensors on the CPU");
  std::vector<at::Tensor> levels;
  FocalLossResult result;
  int64_t gradient_bytes = 0;
  for (size_t i = 0; i < arguments.levels.size(); ++i) {
    levels.push_back(arguments.levels[i].contiguous(at::MemoryFormat::ChannelsLast));
    result.gradients.push_back(wanted[i] ? at::empty_like(levels[i], at::MemoryFormat::ChannelsLast)
                                         : at::empty({0}, levels[i].options()));
    gradient_bytes += static_cast<int64_t>(result.gradients[i].nbytes());
  }

  std::vector<at::Tensor> ids;  // keeps contiguous copies alive
  std::vector<Image> images;
  const auto image_count = static_cast<double>(arguments.matched.size());
  for (size_t i = 0; i < arguments.matched.size(); ++i) {
    ids.push_back(arguments.matched[i].contiguous());
    const at::Tensor& matched = ids.back();
    const at::Tensor labels = arguments.labels[i].contiguous();
    const int64_t count = count_matched(matched, labels, arguments.classes);
    const double share = 1 / (static_cast<double>(std::max<int64_t>(1, count)) * image_count);
    const bool weighted = arguments.alpha >= 0;
    images.push_back({matched.const_data_ptr<int64_t>(),
                      labels.const_data_ptr<int64_t>(),
                      {weighted ? share * (1 - arguments.alpha) : share, arguments.gamma},
                      {weighted ? share * arguments.alpha : share, arguments.gamma}});
    ids.push_back(labels);
  }

  const KernelScope scope("focal-loss.pass", [&] { return pass_facts(levels, gradient_bytes); });
  const std::vector<Block> blocks = cut_into_blocks(levels, arguments.classes);
  std::vector<double> losses(blocks.size());
  const auto count = static_cast<int64_t>(blocks.size());
  const bool stream = gradient_bytes > kStreamBytes;
#pragma omp parallel num_threads(at::get_num_threads()) if (count > 1)
  {
#pragma omp for schedule(dynamic) nowait
    for (int64_t i = 0; i < count; ++i) {
      const Block& block = blocks[static_cast<size_t>(i)];
      losses[static_cast<size_t>(i)] =
          block_loss(block, images[block.image], arguments.classes, levels[block.level],
                     result.gradients[block.level], stream);
    }
    focal::fence();
  }
  const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
  result.loss = at::scalar_tensor(total, at::TensorOptions().dtype(at::kFloat));
  return result;
}

at::Tensor differentiable_focal_loss(
    const std::vector<at::Tensor>& levels,
    const std::function<FocalLossResult(const std::vector<bool>& wanted)>& compute) {
  std::vector<bool> wanted;
  for (const at::Tensor& level : levels) {
    wanted.push_back(at::GradMode::is_enabled() && level.requires_grad());
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return compute(wanted).loss;
  return FocalLossFunction::apply(
      at::TensorList(levels), std::function<FocalLossResult()>([&] { return compute(wanted); }));
}

namespace {

at::Tensor focal_loss_custom(const FocalLossArguments& arguments) {
  const KernelScope scope("focal-loss");
  return differentiable_focal_loss(arguments.levels, [&](const std::vector<bool>& wanted) {
    return focal_loss_and_gradients(arguments, wanted);
  });
}

}  // namespace

const Register<FocalLossFn> registered_focal_loss_custom{
    focal_loss_operator(),
    {"custom",
     "Loss and gradient in one pass over the head's logits, by class indices; fp32 and bf16.",
     focal_loss_custom}};

}  // namespace harness::kernels
