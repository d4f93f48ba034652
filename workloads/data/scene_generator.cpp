#include "workloads/data/scene_generator.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "workloads/data/random.hpp"
#include "workloads/data/texture.hpp"

namespace harness::workloads {
namespace {

// Fainter pixels are noise of the photograph, not the item: they are neither drawn nor boxed.
constexpr int kFaintest = 24;
constexpr int kTriesPerItem = 24;
// Limits in percent: of the union, and of the smaller box.
constexpr int kMostOverlap = 15;
constexpr int kMostCoverage = 25;

// One stream of random numbers for each use: a change in one leaves the draws of others alone.
enum class Purpose { kBackground = 1, kItemCount = 2, kItem = 3 };

/// An item's picture scaled to side x side, and the tight bounds of its visible pixels.
struct ScaledPicture {
  int side = 0;
  std::vector<std::uint8_t> values{};
  int left = 0, top = 0, right = 0, bottom = 0;  ///< right and bottom excluded
};

/// Integer bilinear scaling, pixel centres aligned, edges clamped. Empty when nothing is visible.
std::optional<ScaledPicture> scale(const std::uint8_t* picture, int side) {
  ScaledPicture out;
  out.side = side;
  out.values.resize(row_start(side, side));
  out.left = out.top = side;
  // Source position in 1/256 of a pixel.
  const auto position = [&](int i) {
    return std::clamp((2 * i + 1) * kFashionSide * 128 / side - 128, 0, (kFashionSide - 1) * 256);
  };
  for (int y = 0; y < side; ++y) {
    const int sy = position(y);
    const std::uint8_t* upper = picture + row_start(sy >> 8, kFashionSide);
    const std::uint8_t* lower =
        picture + row_start(std::min((sy >> 8) + 1, kFashionSide - 1), kFashionSide);
    const int fy = sy & 255;
    for (int x = 0; x < side; ++x) {
      const int sx = position(x);
      const int x0 = sx >> 8;
      const int x1 = std::min(x0 + 1, kFashionSide - 1);
      const int fx = sx & 255;
      const int a = upper[x0] * (256 - fx) + upper[x1] * fx;
      const int b = lower[x0] * (256 - fx) + lower[x1] * fx;
      const int value = (a * (256 - fy) + b * fy + (1 << 15)) >> 16;
      if (value < kFaintest) continue;
      out.values[row_start(y, side) + static_cast<std::size_t>(x)] =
          static_cast<std::uint8_t>(value);
      out.left = std::min(out.left, x);
      out.right = std::max(out.right, x + 1);
      out.top = std::min(out.top, y);
      out.bottom = std::max(out.bottom, y + 1);
    }
  }
  if (out.left >= out.right) return std::nullopt;
  return out;
}

bool overlaps_too_much(const SceneItem& a, const SceneItem& b) {
  const long long w = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const long long h = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (w <= 0 || h <= 0) return false;
  const long long shared = w * h;
  const long long area_a = static_cast<long long>(a.width) * a.height;
  const long long area_b = static_cast<long long>(b.width) * b.height;
  return shared * 100 > kMostOverlap * (area_a + area_b - shared) ||
         shared * 100 > kMostCoverage * std::min(area_a, area_b);
}

/// Bright, and never grey-dark in all channels: backgrounds stay at or below 150.
std::array<int, 3> bright_tint(CounterRandom& random) {
  std::array<int, 3> tint = {random.between(90, 255), random.between(90, 255),
                             random.between(90, 255)};
  tint[random.below(3)] = 255;
  return tint;
}

/// The picture's brightness shades the tint; it also is the opacity, steeply, so that the shape
/// shows on any background while soft edges stay soft.
void draw(Scene& scene, const ScaledPicture& picture, const SceneItem& item,
          const std::array<int, 3>& tint) {
  Image& image = scene.image;
  for (int y = 0; y < item.height; ++y) {
    const std::uint8_t* values =
        picture.values.data() + row_start(picture.top + y, picture.side) + picture.left;
    const std::size_t first = row_start(item.y + y, image.width) + static_cast<std::size_t>(item.x);
    std::uint8_t* mask = scene.mask.data() + first;
    std::uint8_t* out = image.pixels.data() + first * 3;
    for (int x = 0; x < item.width; ++x, out += 3, ++mask) {
      const int value = values[x];
      if (value == 0) continue;
      *mask = static_cast<std::uint8_t>(item.label + 1);
      const int opacity = std::min(255, value * 5);
      const int light = 88 + value * 168 / 255;  // of 256
      for (std::size_t c = 0; c < 3; ++c) {
        const int colour = tint[c] * light >> 8;
        out[c] =
            static_cast<std::uint8_t>((out[c] * (255 - opacity) + colour * opacity + 127) / 255);
      }
    }
  }
}

}  // namespace

Scene compose_scene(const FashionMnist& source, const SceneSet& set, SceneSplit split, int index) {
  const auto stream = [&](Purpose purpose) {
    return CounterRandom(stream_key(kSceneGeneratorVersion, static_cast<int>(split), index,
                                    static_cast<int>(purpose)));
  };
  const FashionSplit& pictures = split == SceneSplit::kTrain ? source.train : source.test;

  Scene scene;
  scene.image = make_image(set.width, set.height, "scene");
  paint_background(scene.image, stream(Purpose::kBackground));
  scene.mask.resize(row_start(set.height, set.width));

  const int wanted = stream(Purpose::kItemCount).between(set.min_items, set.max_items);
  CounterRandom random = stream(Purpose::kItem);
  for (int n = 0; n < wanted; ++n) {
    const std::array<int, 3> tint = bright_tint(random);
    for (int attempt = 0; attempt < kTriesPerItem; ++attempt) {
      const std::uint32_t which = random.below(static_cast<std::uint32_t>(pictures.count()));
      const int side = random.between(set.min_side, set.max_side);
      const std::uint32_t across = random.below(1U << 16);
      const std::uint32_t down = random.below(1U << 16);
      const auto picture = scale(pictures.picture(which), side);
      if (!picture) continue;
      SceneItem item;
      item.width = picture->right - picture->left;
      item.height = picture->bottom - picture->top;
      item.x =
          static_cast<int>(across * static_cast<std::uint32_t>(set.width - item.width + 1) >> 16);
      item.y =
          static_cast<int>(down * static_cast<std::uint32_t>(set.height - item.height + 1) >> 16);
      item.label = pictures.labels[which];
      const bool free =
          std::none_of(scene.items.begin(), scene.items.end(),
                       [&](const SceneItem& other) { return overlaps_too_much(item, other); });
      if (!free) continue;
      draw(scene, *picture, item, tint);
      scene.items.push_back(item);
      break;
    }
  }
  return scene;
}

}  // namespace harness::workloads
