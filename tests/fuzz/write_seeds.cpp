// Writes the seeds of every target: fuzz_seeds DIR makes DIR/TARGET/seed-N.
#include <cstdio>
#include <exception>

#include "tests/fuzz/seeds.hpp"

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: fuzz_seeds DIR");
    for (const auto& [target, seeds] : harness::fuzz_seeds()) {
      const std::filesystem::path folder = std::filesystem::path(argv[1]) / target;
      std::filesystem::create_directories(folder);
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        harness::write_bytes(folder / ("seed-" + std::to_string(i)), seeds[i]);
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
    return 1;
  }
}
