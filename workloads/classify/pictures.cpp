#include "workloads/classify/pictures.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/labelled_folder.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kFashionPicture = 96;
constexpr std::int64_t kPhotograph = 224;
constexpr std::int64_t kShorterSide = 256;
// Of its sides; what is longer would be scaled to more than memory holds.
constexpr int kMostStretched = 50;

at::Tensor per_channel(std::initializer_list<double> values) {
  return at::tensor(at::ArrayRef<double>(values), at::kFloat).view({1, 3, 1, 1});
}

/// Three channels from 0 to 1 as the network expects them.
at::Tensor normalised(const at::Tensor& pictures) {
  static const at::Tensor mean = per_channel({0.485, 0.456, 0.406});
  static const at::Tensor deviation = per_channel({0.229, 0.224, 0.225});
  return pictures.sub(mean).div_(deviation).contiguous(at::MemoryFormat::ChannelsLast);
}

class FashionPictures : public PictureSet {
 public:
  std::int64_t count() const override { return static_cast<std::int64_t>(data_.test.count()); }
  std::int64_t side() const override { return kFashionPicture; }
  std::int64_t classes() const override { return std::ssize(kFashionClasses); }
  std::int64_t label(std::int64_t picture) const override {
    return data_.test.labels[static_cast<std::size_t>(picture)];
  }
  at::Tensor prepared(std::int64_t picture) const override {
    return prepared_picture(data_.test.picture(static_cast<std::size_t>(picture)));
  }
  Artifact artifact() const override {
    return {"fashion-mnist",
            fashion_mnist_folder().string(),
            data_.sha256,
            {{"pictures", std::to_string(count())}}};
  }

 private:
  FashionMnist data_ = read_fashion_mnist(fashion_mnist_folder());
};

class FolderPictures : public PictureSet {
 public:
  explicit FolderPictures(LabelledFolder folder) : folder_(std::move(folder)) {}

  std::int64_t count() const override { return std::ssize(folder_.pictures); }
  std::int64_t side() const override { return kPhotograph; }
  std::int64_t classes() const override { return kImageNetClasses; }
  std::int64_t label(std::int64_t picture) const override {
    return folder_.pictures[static_cast<std::size_t>(picture)].label;
  }
  at::Tensor prepared(std::int64_t picture) const override {
    const std::filesystem::path file =
        folder_.root / folder_.pictures[static_cast<std::size_t>(picture)].file;
    return prepared_photograph(read_image(file), file.string());
  }
  Artifact artifact() const override {
    return {
        "folder", folder_.root.string(), folder_.sha256, {{"pictures", std::to_string(count())}}};
  }

 private:
  LabelledFolder folder_;
};

}  // namespace

std::unique_ptr<PictureSet> fashion_pictures() { return std::make_unique<FashionPictures>(); }

std::unique_ptr<PictureSet> folder_pictures(const std::filesystem::path& root,
                                            const Preparation& preparation) {
  return std::make_unique<FolderPictures>(
      read_labelled_folder(root, kImageNetClasses, preparation));
}

at::Tensor prepared_picture(const std::uint8_t* grey) {
  at::Tensor small = at::empty({1, 1, kFashionSide, kFashionSide}, at::kByte);
  std::copy_n(grey, small.numel(), small.mutable_data_ptr<std::uint8_t>());
  const at::Tensor large =
      at::upsample_bilinear2d(small.to(at::kFloat).div_(255), {kFashionPicture, kFashionPicture},
                              /*align_corners=*/false);
  return normalised(large.expand({1, 3, kFashionPicture, kFashionPicture}));
}

at::Tensor prepared_photograph(const Image& image, const std::string& name) {
  const auto [thin, wide] = std::minmax(image.height, image.width);
  if (wide > kMostStretched * thin) {
    throw Error(printable(name), "is " + std::to_string(wide / thin) +
                                     " times as long as it is wide, " +
                                     std::to_string(kMostStretched) + " are the most");
  }
  at::Tensor pixels = at::empty({1, image.height, image.width, 3}, at::kByte);
  std::copy(image.pixels.begin(), image.pixels.end(), pixels.mutable_data_ptr<std::uint8_t>());
  const std::int64_t shorter = std::min(image.height, image.width);
  const auto scaled = [&](std::int64_t side) { return kShorterSide * side / shorter; };
  const std::int64_t height = scaled(image.height);
  const std::int64_t width = scaled(image.width);
  // In whole numbers again behind each direction, as Pillow does it.
  const auto resized = [](const at::Tensor& maps, std::int64_t rows, std::int64_t columns) {
    return at::_upsample_bilinear2d_aa(maps, {rows, columns}, /*align_corners=*/false)
        .round_()
        .clamp_(0, 255);
  };
  const at::Tensor photograph = pixels.permute({0, 3, 1, 2}).to(at::kFloat).contiguous();
  const at::Tensor small = resized(resized(photograph, image.height, width), height, width);
  // Halves to even, as torchvision's crop.
  const auto margin = [](std::int64_t side) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side - kPhotograph) / 2));
  };
  return normalised(
      small.narrow(2, margin(height), kPhotograph).narrow(3, margin(width), kPhotograph).div(255));
}

}  // namespace harness::workloads
