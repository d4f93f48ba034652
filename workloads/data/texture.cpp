#include "workloads/data/texture.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace harness::workloads {
namespace {

/// Value noise on a square lattice: random corners, interpolated by the smoothstep polynomial.
class Noise {
 public:
  Noise(int width, int height, int cell, CounterRandom& random)
      : cell_(cell), columns_(width / cell + 2), x_(static_cast<std::size_t>(width)) {
    corners_.resize(row_start(height / cell + 2, columns_));
    for (int& corner : corners_) corner = static_cast<int>(random.below(256));
    for (int x = 0; x < width; ++x) {
      x_[static_cast<std::size_t>(x)] = {x / cell, smooth(x % cell)};
    }
    row_.resize(x_.size());
  }

  /// The values of one row, 0..65280.
  const std::vector<int>& row(int y) {
    const int* upper = corners_.data() + row_start(y / cell_, columns_);
    const int* lower = upper + columns_;
    const int down = smooth(y % cell_);
    for (std::size_t x = 0; x < row_.size(); ++x) {
      const auto [column, right] = x_[x];
      const int a = upper[column] * (256 - right) + upper[column + 1] * right;
      const int b = lower[column] * (256 - right) + lower[column + 1] * right;
      row_[x] = (a * (256 - down) + b * down) >> 8;
    }
    return row_;
  }

 private:
  struct Place {
    int column;
    int right;  ///< weight of the right corner, 0..256
  };

  int smooth(int offset) const {
    const int t = offset * 256 / cell_;
    return t * t * (768 - 2 * t) >> 16;
  }

  int cell_;
  int columns_;
  std::vector<Place> x_;
  std::vector<int> corners_;
  std::vector<int> row_;
};

/// 0..256 and back over one period.
int triangle(int position, int period) {
  int p = position % period;
  if (p < 0) p += period;
  const int half = p * 512 / period;
  return half <= 256 ? half : 512 - half;
}

/// Largest r with r * r <= n.
int integer_root(int n) {
  int r = 0;
  for (int bit = 1 << 15; bit != 0; bit >>= 1) {
    if ((r + bit) * (r + bit) <= n) r += bit;
  }
  return r;
}

/// A regular figure, bent by noise so that it does not look ruled.
class Figure {
 public:
  Figure(int width, int height, CounterRandom& random) {
    const int shorter = std::min(width, height);
    kind_ = static_cast<int>(random.below(6));
    period_ = random.between(shorter / 8, shorter / 3);
    bend_ = random.between(0, period_);
    constexpr int kDirections[8][2] = {{5, 0}, {0, 5}, {4, 3},  {3, 4},
                                       {5, 1}, {1, 5}, {4, -3}, {3, -4}};
    const auto& direction = kDirections[random.below(8)];
    dx_ = direction[0];
    dy_ = direction[1];
    centre_x_ = random.between(0, width - 1);
    centre_y_ = random.between(0, height - 1);
    strength_ = kind_ < 2 ? 0 : random.between(60, 150);
  }

  /// How much of the third colour, 0..strength (of 256). `noise`: 0..65280.
  int at(int x, int y, int noise) const {
    if (kind_ < 2) return 0;
    const int bent = (noise >> 8) * bend_ >> 8;
    const int along = (x * dx_ + y * dy_) / 5 + bent;
    if (kind_ <= 3) return triangle(along, period_) * strength_ >> 8;
    if (kind_ == 4) {
      const int across = (y * dx_ - x * dy_) / 5 + bent;
      return (triangle(along, period_) * triangle(across, period_) >> 8) * strength_ >> 8;
    }
    const int ox = x - centre_x_;
    const int oy = y - centre_y_;
    return triangle(integer_root(ox * ox + oy * oy) + bent, period_) * strength_ >> 8;
  }

 private:
  int kind_;
  int period_;
  int bend_;
  int dx_;
  int dy_;
  int centre_x_;
  int centre_y_;
  int strength_;
};

std::array<int, 3> dark_colour(CounterRandom& random) {
  return {random.between(16, 150), random.between(16, 150), random.between(16, 150)};
}

/// The one of three colours that is farthest from `other`, so that no background is flat.
std::array<int, 3> contrasting_colour(const std::array<int, 3>& other, CounterRandom& random) {
  std::array<int, 3> best = other;
  int farthest = -1;
  for (int i = 0; i < 3; ++i) {
    const std::array<int, 3> colour = dark_colour(random);
    int distance = 0;
    for (std::size_t c = 0; c < 3; ++c) distance += std::abs(colour[c] - other[c]);
    if (distance > farthest) {
      farthest = distance;
      best = colour;
    }
  }
  return best;
}

}  // namespace

void paint_background(Image& image, CounterRandom random) {
  const int shorter = std::min(image.width, image.height);
  Noise coarse(image.width, image.height, random.between(shorter / 4, shorter / 2), random);
  Noise fine(image.width, image.height, random.between(shorter / 16, shorter / 8), random);
  const Figure figure(image.width, image.height, random);
  const std::array<int, 3> first = dark_colour(random);
  const std::array<int, 3> second = contrasting_colour(first, random);
  const std::array<int, 3> third = contrasting_colour(second, random);

  std::uint8_t* out = image.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    const std::vector<int>& slow = coarse.row(y);
    const std::vector<int>& fast = fine.row(y);
    for (int x = 0; x < image.width; ++x) {
      const auto i = static_cast<std::size_t>(x);
      const int blend = (slow[i] * 11 + fast[i] * 5) >> 4;  // 0..65280
      const int drawn = figure.at(x, y, slow[i]);
      for (std::size_t c = 0; c < 3; ++c) {
        const int base =
            first[c] * (65280 - blend) + second[c] * blend;  // 255 x 256 times a channel
        const int ground = base / 255;
        *out++ =
            static_cast<std::uint8_t>((ground * (256 - drawn) + (third[c] << 8) * drawn) >> 16);
      }
    }
  }
}

}  // namespace harness::workloads
