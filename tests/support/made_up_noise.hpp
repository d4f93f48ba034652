// The text of a recording that nobody recorded: for tests of what reads and uses recordings.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace harness {

struct MadeUpNoise {
  std::size_t clusters = 60;
  std::size_t rounds = 10;
  std::size_t sides = 2;
  double of_a_start = 0.003;  ///< how much the level of a side differs from start to start
  double of_a_round = 0.01;   ///< how much single times differ
};

/// Lines as read_recording() takes them; the same for the same numbers everywhere but for the last
/// digits.
inline std::string made_up_noise(const MadeUpNoise& noise) {
  std::mt19937_64 random(7);
  // The sum of two even ones: the library's own distributions differ from one to the next.
  const auto drawn = [&](double width) {
    const auto one = [&] { return static_cast<double>(random() % 20001) / 10000 - 1; };
    return width * (one() + one());
  };
  std::string text = fmt::format("# made up, not recorded\nsides {}\n", noise.sides);
  for (std::size_t cluster = 0; cluster < noise.clusters; ++cluster) {
    std::vector<double> levels;
    text += "start";
    for (std::size_t side = 0; side < noise.sides; ++side) {
      levels.push_back(0.05 * (1 + drawn(noise.of_a_start)));
      text += fmt::format(" {:.6g}", 1.5 * (1 + drawn(0.05)));
    }
    text += "\n";
    for (std::size_t round = 0; round < noise.rounds; ++round) {
      text += "round";
      for (const double level : levels) {
        text += fmt::format(" {:.6g}", level * (1 + drawn(noise.of_a_round)));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace harness
