// What a model of somebody else's is asked, and what its answers are worth.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "workloads/model/samples.hpp"
#include "workloads/model/scores.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

TEST_CASE("drawn samples hang on the seed and their place alone", "[model]") {
  ModelTask task;
  task.inputs = {
      {"a", {5, 3}, "float32", -2, 2}, {"b", {400}, "int64", 3, 6}, {"c", {9}, "uint8", 0, 255}};
  task.samples.drawn = 20;
  const WorkloadContext context;
  const auto all = open_samples(task, context);
  CHECK(all->count() == 20);
  const std::vector<at::Tensor> one = all->sample(7);
  REQUIRE(one.size() == 3);
  CHECK(one[0].sizes() == at::IntArrayRef({1, 5, 3}));
  CHECK(one[0].abs().max().item<float>() <= 2);
  CHECK(one[1].scalar_type() == at::kLong);
  CHECK(one[1].min().item<std::int64_t>() == 3);
  CHECK(one[1].max().item<std::int64_t>() == 6);
  CHECK(one[2].scalar_type() == at::kByte);
  CHECK(at::equal(one[0], open_samples(task, context)->sample(7)[0]));
  CHECK_FALSE(at::equal(one[0], all->sample(8)[0]));
  task.samples.seed = 1;
  CHECK_FALSE(at::equal(one[0], open_samples(task, context)->sample(7)[0]));
}

TEST_CASE("metrics of a model", "[model]") {
  const at::Tensor rows = at::tensor({1., 2., 9., 4., 3., 0.}, at::kFloat).view({3, 2});
  const at::Tensor labels = at::tensor({1., 0., 1.}, at::kDouble);
  ModelAnswers answers{rows, 2, labels, nullptr, [&] { return rows * at::tensor({1.F, 0.F}); }};
  CHECK(*score_model("top-1", answers).value == Approx(2. / 3));
  // Of the reference (1, 0), (9, 0), (3, 0) the first value is always the largest.
  CHECK(*score_model("agreement", answers).value == Approx(2. / 3));
  CHECK(*score_model("relative-error", answers).value ==
        Approx(std::sqrt(4. + 16.) / std::sqrt(1. + 81. + 9.)));
  answers.labels = at::tensor({2., 18., 6.}, at::kDouble);
  CHECK(*score_model("correlation", answers).value == Approx(1));
  // More rows than are taken at a time.
  const at::Tensor many = at::rand({1000, 3}, at::kDouble);
  const at::Tensor near = many * 1.001;
  const ModelAnswers of_many{
      near.to(at::kFloat), 3, {}, nullptr, [&] { return many.to(at::kFloat); }};
  CHECK(*score_model("relative-error", of_many).value == Approx(0.001).epsilon(1e-3));
  answers.labels = at::ones({3}, at::kDouble);
  CHECK(score_model("correlation", answers).reason ==
        "the answers, or the labels, are all the same");
  answers.rows = rows / 0;
  CHECK(score_model("top-1", answers).reason == "not all answers are finite");
  answers = {rows, 2, {}, nullptr, [&] { return rows / 0; }};
  CHECK(score_model("agreement", answers).reason == "not all answers of the reference are finite");
  answers.reference = [&] { return rows * 0; };
  CHECK(score_model("relative-error", answers).reason == "all answers of the reference are 0");
  const auto fits = [](const char* metric, const std::vector<std::int64_t>& first,
                       const at::Tensor& held) {
    return metric_misfit(metric, first, held, nullptr).empty();
  };
  CHECK_FALSE(fits("agreement", {1}, {}));
  CHECK_FALSE(fits("top-1", {2}, {}));
  CHECK(fits("top-1", {2}, labels));
  CHECK_FALSE(fits("top-1", {2}, labels + 1));
  CHECK_FALSE(fits("top-1", {2}, labels - 1));
  CHECK_FALSE(fits("top-1", {2}, labels * 0.5));
  CHECK(fits("correlation", {2}, labels * 0.5));
  CHECK(fits("relative-error", {1}, {}));
  CHECK_FALSE(fits("mAP", {5, 6}, {}));
}

TEST_CASE("boxes of a model are judged in the pixels of their pictures", "[model]") {
  // A picture of 200x100 for an input of 50x50; two boxes of class 1, one of class 0.
  KnownBoxes known;
  known.pictures = {{7, 4, 2}, {8, 1, 1}};
  known.classes = 2;
  known.ground_truth = {
      {7, 1, {40, 20, 80, 40}, 3200}, {7, 0, {0, 0, 20, 20}, 400}, {8, 1, {5, 5, 10, 10}, 100}};
  const auto rows = [](const std::vector<float>& values) {
    return at::tensor(values).view({2, 12});
  };
  ModelAnswers answers{rows({10, 10, 30, 30, 0.9F, 1, 0, 0, 5, 10, 0.8F, 0,  //
                             5,  5,  15, 15, 0.7F, 1, 0, 0, 0, 0,  0,    0}),
                       12,
                       {},
                       &known,
                       {}};
  const Quality all = score_model("mAP", answers);
  CHECK(all.metric == "mAP");
  CHECK(*all.value == Approx(1));
  CHECK(all.details.at("ap_50") == Approx(1));
  answers.rows = rows({10, 10, 30, 30, 0.9F, 0, 0, 0, 5, 10, 0.8F, 1,  //
                       5,  5,  15, 15, 0.7F, 1, 0, 0, 0, 0,  0,    0});
  CHECK(*score_model("mAP", answers).value < 0.5);
  answers.rows = rows({10, 10, 30, 30, 0.9F, 2, 0, 0, 5, 10, 0.8F, 0,  //
                       5,  5,  15, 15, 0.7F, 1, 0, 0, 0, 0,  0,    0});
  CHECK_FALSE(score_model("mAP", answers).value);
  CHECK(metric_misfit("mAP", {2, 6}, {}, &known).empty());
  CHECK_FALSE(metric_misfit("mAP", {12}, {}, &known).empty());
}
