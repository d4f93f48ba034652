#include "harness/kinds/ablation/scaling.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/kinds/ablation/consistency.hpp"
#include "harness/kinds/ablation/summary.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

Variant world(const std::string& kind, int ranks, int batch, double share) {
  Variant variant = sample_variant(kind + std::to_string(ranks), share);
  variant.settings.chosen["ranks"] = std::to_string(ranks);
  variant.settings.chosen["batch_size"] = std::to_string(batch);
  variant.settings.chosen["threads"] = "1";
  return variant;
}

/// One, two and four ranks of batch 2: a step of four takes 1.25 times as long as one of a single
/// rank, and a quarter and a bit of what the single one takes for their batch together.
Ablation scaling() {
  Ablation ablation = sample_ablation();
  ablation.settings.effective["scaling"] = "ranks";
  ablation.variants = {world("ranks-", 1, 2, 1), world("ranks-", 2, 2, 1.1),
                       world("ranks-", 4, 2, 1.25), world("strong-", 1, 8, 4),
                       world("strong-", 2, 4, 2.2)};
  const double shares[] = {1, 1.1, 1.25, 4, 2.2};
  for (std::size_t i = 0; i < 5; ++i) {
    ablation.variants[i].turns = sample_turns(i, 5, shares[i]);
  }
  summarise(ablation, {"", "ranks-1", "ranks-2", "", "strong-1"});
  return ablation;
}

}  // namespace

TEST_CASE("efficiency is what each rank does of what one does alone", "[ablation][scaling]") {
  const std::vector<ScaleRow> rows = scale_rows(scaling());
  REQUIRE(rows.size() == 6);
  const double expected[] = {1, 1 / 1.1, 1 / 1.25, 1, 4 / 2.2 / 2, 4 / 1.25 / 4};
  const std::int64_t ranks[] = {1, 2, 4, 1, 2, 4};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(i);
    CHECK(rows[i].strong == (i >= 3));
    CHECK(rows[i].ranks == ranks[i]);
    REQUIRE(rows[i].efficiency.value);
    CHECK(rows[i].efficiency.value->center == Approx(expected[i]));
    CHECK(rows[i].efficiency.value->low.has_value());
  }
  CHECK(rows.back().variant == "ranks-4");  // in both kinds
  CHECK(check_worlds(scaling()).empty());
  const std::string text = render_summary(scaling());
  for (const char* line : {"*scaling over 5 worlds*", "weak*4*2*8*80 %*", "strong*4*2*8*80 %*"}) {
    CHECK_THAT(text, HasLines({line}));
  }
}

TEST_CASE("an efficiency lasts through a file", "[ablation][scaling]") {
  const Ablation read = ablation_from_json(to_json(scaling()));
  CHECK(is_scaling(read));
  CHECK(scale_rows(read).back().efficiency.value->center == Approx(0.8));
  CHECK_FALSE(is_scaling(sample_ablation()));
}

TEST_CASE("worlds that cannot be of one campaign break a rule", "[ablation][scaling]") {
  const std::function<void(Ablation&)> edits[] = {
      [](Ablation& a) { a.variants[1].settings.chosen["batch_size"] = "3"; },
      [](Ablation& a) { a.variants[1].settings.chosen["ranks"] = "1"; },
      [](Ablation& a) { a.variants[1].settings.chosen["ranks"] = "two"; },
      [](Ablation& a) { a.variants[1].settings.chosen["ranks"] = "99999999999999999999"; },
      [](Ablation& a) { a.variants[1].settings.chosen.erase("ranks"); },
      [](Ablation& a) { a.variants[1].name = "pooled"; },
      [](Ablation& a) { a.variants[4].settings.chosen["batch_size"] = "2"; },
      [](Ablation& a) { std::swap(a.variants[1], a.variants[2]); },
      [](Ablation& a) { a.variants[2].to_previous.to = "ranks-1"; },
      [](Ablation& a) { a.variants.resize(1); }};
  for (const auto& edit : edits) {
    Ablation ablation = scaling();
    edit(ablation);
    INFO(&edit - edits);
    CHECK_FALSE(check_worlds(ablation).empty());
  }
}
