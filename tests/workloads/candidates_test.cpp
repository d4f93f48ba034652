// What a detector looks at, against sorting everything.
#include "workloads/retinanet/candidates.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "workloads/retinanet/postprocess.hpp"

using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

std::vector<Candidate> sorted(const std::vector<float>& logits, float limit, std::size_t most) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > limit) all.push_back({logits[i], static_cast<std::int64_t>(i)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
  all.resize(std::min(all.size(), most));
  return all;
}

void check(const std::vector<float>& logits, float limit, std::int64_t most) {
  const std::vector<Candidate> expected = sorted(logits, limit, static_cast<std::size_t>(most));
  const std::vector<Candidate> found =
      best_candidates(logits.data(), static_cast<std::int64_t>(logits.size()), limit, most);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].place == expected[i].place);
    REQUIRE(found[i].logit == expected[i].logit);
  }
}

}  // namespace

TEST_CASE("the best candidates are those that sorting gives", "[retinanet][detect]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t count : {0, 1, 63, 64, 65, 1000, 300'000, 600'001}) {
    std::vector<float> logits(count);
    std::uint64_t state = count;
    for (float& logit : logits) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      // Few values: most of them are there many times.
      logit = static_cast<float>(state >> 54) / 64 - 8;
    }
    for (std::size_t i = 7; i < count; i += 997) logits[i] = std::nanf("");
    for (std::size_t i = 11; i < count; i += 99'991) logits[i] = kInfinity;
    for (std::size_t i = 13; i < count; i += 991) logits[i] = -kInfinity;
    for (const std::int64_t most : {1, 10, 1000}) {
      for (const float limit : {-kInfinity, -2.94F, 7.9F, kInfinity}) check(logits, limit, most);
    }
  }
}

TEST_CASE("candidates do not depend on the number of threads", "[retinanet][detect]") {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({40'000, 30});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<Candidate> one = level_candidates(logits);
  at::set_num_threads(4);
  const std::vector<Candidate> four = level_candidates(logits);
  at::set_num_threads(before);
  REQUIRE(one.size() == 1000);
  REQUIRE(four.size() == 1000);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].place == four[i].place);
}

TEST_CASE("a score on the threshold is no candidate, the next above is one",
          "[retinanet][detect]") {
  // Of one anchor and three classes: just below, about, and just above.
  const at::Tensor logits = at::tensor({-2.9445F, -2.944439F, -2.9443F}, at::kFloat).view({1, 3});
  const at::Tensor scores = logits.sigmoid();
  const Detections found =
      select_detections({level_candidates(logits)}, 3, {at::zeros({1, 4})},
                        {at::tensor({2., 2., 12., 12.}, at::kFloat).view({1, 4})}, {20, 20});
  const auto expected = (scores > kScoreThreshold).sum().item<std::int64_t>();
  CHECK((expected == 1 || expected == 2));
  REQUIRE(found.scores.size(0) == expected);
  CHECK(found.labels[0].item<std::int64_t>() == 2);
  CHECK(found.scores[0].item<float>() == Approx(scores[0][2].item<float>()));
  CHECK(at::equal(found.boxes[0], at::tensor({2., 2., 12., 12.}, at::kFloat)));
}
