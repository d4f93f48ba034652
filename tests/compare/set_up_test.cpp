#include "harness/compare/set_up.hpp"

#include <catch2/catch.hpp>

#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a setting that nobody declared is part of the set-up", "[set-up][compare]") {
  const Result plain = sample_result();
  Result unknown = plain;
  unknown.settings.effective["wavelets"] = 3;
  CHECK(set_up_of(unknown) != set_up_of(plain));
  CHECK(part_of("wavelets") == SetUpPart::kAlways);
  CHECK(part_of("set pace") == SetUpPart::kAlways);
  unknown = plain;
  unknown.system["software"]["sparkle"] = "1.0";
  CHECK(set_up_of(unknown).at("software sparkle") == "1.0");
  CHECK(part_of("software sparkle") == SetUpPart::kChosen);
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
