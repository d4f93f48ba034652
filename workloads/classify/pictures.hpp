// Pictures as MobileNetV2 was trained on them, and their classes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/base/types.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/parallel.hpp"

namespace harness::workloads {

inline constexpr std::int64_t kImageNetClasses = 1000;

/// The evaluation set of a run.
class PictureSet {
 public:
  virtual ~PictureSet() = default;
  virtual std::int64_t count() const = 0;
  virtual std::int64_t side() const = 0;  ///< of a prepared picture, pixels
  virtual std::int64_t classes() const = 0;
  virtual std::int64_t label(std::int64_t picture) const = 0;
  /// (1, 3, side, side), channels_last. Throws Error for a file that cannot be decoded.
  virtual at::Tensor prepared(std::int64_t picture) const = 0;
  virtual Artifact artifact() const = 0;
  /// Of its training set, where it has one.
  virtual std::int64_t training_count() const { return 0; }
  virtual at::Tensor prepared_training(std::int64_t /*picture*/) const { return {}; }
};

/// Fashion-MNIST's test pictures at 96x96. Throws Error as read_fashion_mnist() does.
std::unique_ptr<PictureSet> fashion_pictures();

/// Pictures of ImageNet's classes in a folder (data/labelled_folder.hpp) at 224x224. Throws Error
/// as read_labelled_folder() does.
std::unique_ptr<PictureSet> folder_pictures(const std::filesystem::path& root,
                                            const Preparation& preparation);

/// (1, 3, 96, 96), channels_last: a grey picture of Fashion-MNIST, 28x28, enlarged between its
/// pixels' centres, in three equal channels from 0 to 1, less ImageNet's mean, by its deviation.
at::Tensor prepared_picture(const std::uint8_t* grey);

/// (1, 3, 224, 224), channels_last, as torchvision evaluates: the middle of a photograph
/// (inference/photographs.hpp) from 0 to 1, then normalised as above. Throws Error, naming `name`,
/// for one far longer than wide.
at::Tensor prepared_photograph(const Image& image, const std::string& name);

}  // namespace harness::workloads
