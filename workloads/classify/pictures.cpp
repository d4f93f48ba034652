#include "workloads/classify/pictures.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/labelled_folder.hpp"
#include "workloads/inference/photographs.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kFashionPicture = 96;
constexpr std::int64_t kPhotograph = 224;

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
  std::int64_t training_count() const override {
    return static_cast<std::int64_t>(data_.train.count());
  }
  at::Tensor prepared_training(std::int64_t picture) const override {
    return prepared_picture(data_.train.picture(static_cast<std::size_t>(picture)));
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
  return by_imagenets_colours(large.expand({1, 3, kFashionPicture, kFashionPicture}));
}

at::Tensor prepared_photograph(const Image& image, const std::string& name) {
  return by_imagenets_colours(middle_of_photograph(image, kPhotograph, kPhotograph, name).div(255));
}

}  // namespace harness::workloads
