#include "harness/compare/set_up.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("a setting that nobody declared is part of the set-up", "[set-up][compare]") {
  const Result plain = sample_result();
  Result unknown = plain;
  unknown.settings.effective["wavelets"] = 3;
  CHECK(set_up_of(unknown) != set_up_of(plain));
  CHECK(part_of("setting wavelets") == SetUpPart::kAlways);
  CHECK(part_of("set pace") == SetUpPart::kAlways);
  unknown = plain;
  unknown.system["software"]["sparkle"] = "1.0";
  CHECK(set_up_of(unknown).at("software sparkle") == "1.0");
  CHECK(part_of("software sparkle") == SetUpPart::kChosen);
}

TEST_CASE("no two values look the same", "[set-up][compare]") {
  const Result plain = sample_result();
  const auto with = [&](const char* name, const json& value) {
    Result run = plain;
    run.settings.effective[name] = value;
    return set_up_of(run);
  };
  CHECK(with("wavelets", std::string(200, 'x') + "1") !=
        with("wavelets", std::string(200, 'x') + "2"));
  CHECK(with("wavelets", "5") != with("wavelets", 5));
  for (const char* fact : {"compiler", "processor", "commit", "machine", "weights", "software x"}) {
    CAPTURE(fact);
    CHECK(with(fact, "odd") != set_up_of(plain));
    CHECK(part_of(std::string("setting ") + fact) == SetUpPart::kAlways);
  }
  Result here = plain;
  here.dataset->sha256.reset();
  Result there = here;
  there.dataset->source = "elsewhere";
  CHECK(set_up_of(here) != set_up_of(there));
}

TEST_CASE("settings that could be taken for something else are not declared", "[set-up]") {
  SettingTable& table = SettingTable::instance();
  CHECK_THROWS_AS(table.add({.name = "precision"}), std::logic_error);
  CHECK_THROWS_AS(table.add({.name = "compiler"}), std::logic_error);
  CHECK_THROWS_AS(table.add({.name = "two words"}), std::logic_error);
  CHECK_THROWS_AS(table.add({.name = ""}), std::logic_error);
  CHECK_THROWS_AS(
      table.add({.name = "width", .kind = SettingKind::kInteger, .scope = SettingScope::kVariant}),
      std::logic_error);
}

TEST_CASE("a setting from after a file was written counts as its default", "[set-up][compare]") {
  Result before = sample_result();
  before.settings.effective.erase("device");
  Result now = before;
  now.settings.effective["device"] = "cpu";
  CHECK(set_up_of(before) == set_up_of(now));
  now.settings.effective["device"] = "cuda";
  CHECK(set_up_of(before) != set_up_of(now));
  CHECK(part_of("device") == SetUpPart::kAlways);
}

TEST_CASE("files are known by their hash, wherever they lie", "[set-up][compare]") {
  Result here = sample_result();
  here.settings.effective["set"]["weights"] = "/here/model.pth";
  here.weights = {{"weights", "/here/model.pth", std::string(64, 'a'), {}}};
  Result there = here;
  there.settings.effective["set"]["weights"] = "copy.pth";
  there.weights.front().source = "copy.pth";
  CHECK(set_up_of(here) == set_up_of(there));
  there.weights.front().sha256 = std::string(64, 'b');
  CHECK(set_up_of(here) != set_up_of(there));
  CHECK(part_of("weights") == SetUpPart::kAlways);
  // One of which the hash is not known is known by its path alone.
  there.weights.front().sha256.reset();
  CHECK(set_up_of(there).contains("set weights"));
  CHECK(part_of("data") == SetUpPart::kAlways);
}

TEST_CASE("length, repetition and draw of the same work are no part of it", "[set-up][compare]") {
  const Result once = sample_result();
  Result longer = once;
  longer.settings.effective["min_steps"] = 999;
  longer.settings.effective["runs"] = 7;
  longer.settings.effective["seed"] = 12345;
  CHECK(set_up_of(once) == set_up_of(longer));
  for (const char* chosen : {"kernels", "precision", "allocator", "threads", "cpus"}) {
    CHECK(part_of(chosen) == SetUpPart::kChosen);
  }
  for (const char* always : {"machine", "tier", "batch_size", "max_epochs", "quality_target"}) {
    CHECK(part_of(always) == SetUpPart::kAlways);
  }
}
