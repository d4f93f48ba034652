#include "workloads/segment/masked_scenes.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "workloads/data/scene_generator.hpp"
#include "workloads/data/scene_pixels.hpp"
#include "workloads/inference/photographs.hpp"

namespace harness::workloads {

MaskedScenes compose_masked(const SceneSet& set, SceneSplit split, const Preparation& preparation) {
  const FashionMnist source = read_fashion_mnist(fashion_mnist_folder());
  const std::int64_t count = set.count(split);
  const auto pixels = static_cast<std::size_t>(set.width) * static_cast<std::size_t>(set.height);
  // Rows of pixels of three bytes: channels_last, seen the usual way round.
  const at::Tensor rows = at::empty({count, set.height, set.width, 3}, at::kByte);
  MaskedScenes scenes;
  scenes.masks = at::empty({count, set.height, set.width}, at::kByte);
  std::vector<std::string> picture_hashes(static_cast<std::size_t>(count));
  std::vector<std::string> mask_hashes(picture_hashes.size());
  auto* const to = rows.mutable_data_ptr<std::uint8_t>();
  auto* const to_masks = scenes.masks.mutable_data_ptr<std::uint8_t>();
  parallel_for(picture_hashes.size(), "composing scenes", preparation, [&](std::size_t i) {
    const Scene scene = compose_scene(source, set, split, static_cast<int>(i));
    picture_hashes[i] = pixel_hash(scene.image);
    mask_hashes[i] =
        sha256_hex({reinterpret_cast<const char*>(scene.mask.data()), scene.mask.size()});
    std::copy(scene.image.pixels.begin(), scene.image.pixels.end(), to + i * pixels * 3);
    std::copy(scene.mask.begin(), scene.mask.end(), to_masks + i * pixels);
  });
  const std::string& frozen = set.frozen(split).pixels;
  if (const std::string found = split_hash(picture_hashes); !frozen.empty() && found != frozen) {
    throw Error("the scenes of " + set.name,
                "are not the frozen ones: their pixels hash to " + found,
                "another Fashion-MNIST? HARNESS_FASHION_MNIST names the folder");
  }
  picture_hashes.insert(picture_hashes.end(), mask_hashes.begin(), mask_hashes.end());
  scenes.sha256 = split_hash(picture_hashes);
  scenes.pictures = rows.permute({0, 3, 1, 2});
  return scenes;
}

at::Tensor scene_picture(const FashionMnist& source, const SceneSet& set, SceneSplit split,
                         std::int64_t scene) {
  const Scene composed = compose_scene(source, set, split, static_cast<int>(scene));
  const at::Tensor rows = at::empty({1, set.height, set.width, 3}, at::kByte);
  std::copy(composed.image.pixels.begin(), composed.image.pixels.end(),
            rows.mutable_data_ptr<std::uint8_t>());
  return rows.permute({0, 3, 1, 2});
}

Artifact masks_artifact(const SceneSet& set, const std::string& sha256, std::int64_t eval_count) {
  return {"fashion-masks-" + set.name,
          "composed from Fashion-MNIST",
          sha256,
          {{"eval_images", std::to_string(eval_count)},
           {"image_size", std::to_string(set.width) + "x" + std::to_string(set.height)}}};
}

at::Tensor prepared_scenes(const at::Tensor& pictures) {
  return by_imagenets_colours(pictures.to(at::kFloat).div(255));
}

}  // namespace harness::workloads
