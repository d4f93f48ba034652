// The fuzz targets over their own seeds, whole and broken, and over what fuzzing once found.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/seeds.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

const std::map<std::string, std::function<void(std::string_view)>>& targets() {
  static const std::map<std::string, std::function<void(std::string_view)>> table = {
      {"result", fuzz_result},
      {"rules", fuzz_rules},
      {"coco_json", fuzz_coco_json},
      {"weights", fuzz_weights},
      {"safetensors", fuzz_safetensors},
      {"mllog", fuzz_mllog},
      {"words", fuzz_words}};
  return table;
}

}  // namespace

TEST_CASE("every fuzz target has seeds, and takes them whole, cut short and altered", "[fuzz]") {
  const auto seeds = fuzz_seeds();
  std::mt19937 random(1);
  for (const auto& [name, target] : targets()) {
    CAPTURE(name);
    REQUIRE(seeds.contains(name));
    for (const std::string& seed : seeds.at(name)) {
      CHECK_NOTHROW(target(seed));
      for (int i = 0; i < 40; ++i) {
        CHECK_NOTHROW(target(seed.substr(0, random() % seed.size())));
        std::string altered = seed;
        altered[random() % altered.size()] = static_cast<char>(random());
        CHECK_NOTHROW(target(altered));
      }
    }
  }
}

TEST_CASE("inputs that once were findings are refused or taken", "[fuzz]") {
  const std::multimap<std::string, std::string> findings = {
      {"result", "[]"},
  };
  for (const auto& [name, input] : findings) {
    CAPTURE(name, input);
    CHECK_NOTHROW(targets().at(name)(input));
  }
}
