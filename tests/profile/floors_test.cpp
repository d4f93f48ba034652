// The least time that a step's multiplications can take, by either algorithm.
#include "harness/profile/floors.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

// 2 * 100 outputs * 64 * 128 channels * 9 weights.
constexpr const char* k3x3 = "mb1_ic64oc128_ih10oh10kh3sh1dh0ph1_iw10ow10kw3sw1dw0pw1";
constexpr double kWork = 2.0 * 100 * 64 * 128 * 9;

ReplayTask convolution(const std::string& problem,
                       const std::string& direction = "forward_training",
                       const std::string& type = "f32") {
  ReplayTask task;
  task.primitive.kind = "convolution";
  task.primitive.direction = direction;
  task.primitive.problem = problem;
  task.primitive.tensors = {{"src", type, "acdb", false}};
  task.calls = 1;
  return task;
}

Peak peak(const std::string& tag, const std::vector<double>& samples) {
  Peak made;
  made.tag = tag;
  made.samples = samples;
  return made;
}

const std::vector<Peak> kPeaks = {peak("fma.fp32", {80, 100}), peak("fma.bf16", {400, 300})};

}  // namespace

TEST_CASE("a floor is multiplications over the best burst, with as many as the algorithm needs",
          "[floors]") {
  const auto forward = floors_of({convolution(k3x3)}, kPeaks);
  REQUIRE(forward);
  CHECK(forward->rate == 100);
  CHECK(forward->direct == Approx(kWork / 100));
  CHECK(forward->minimal == Approx(kWork / 2.25 / 100));
  // Gradients have room for tiles of 6x6.
  CHECK(floors_of({convolution(k3x3, "backward_weights")}, kPeaks)->minimal ==
        Approx(kWork / 5.0625 / 100));
  // Calls count, and tasks add up.
  ReplayTask thrice = convolution(k3x3);
  thrice.calls = 3;
  CHECK(floors_of({thrice, convolution(k3x3)}, kPeaks)->direct == Approx(4 * kWork / 100));
}

TEST_CASE("in bf16 each algorithm has the rate of its arithmetic", "[floors]") {
  const auto narrow = floors_of({convolution(k3x3, "forward_training", "bf16")}, kPeaks);
  CHECK(narrow->direct == Approx(kWork / 400));
  // Transforms in float32: 5 times fewer multiplications at a quarter of the rate.
  CHECK(narrow->minimal == Approx(kWork / 5.0625 / 100));
  // Where bf16 is so fast that they do not pay, direct convolution is both.
  const auto fast = floors_of({convolution(k3x3, "forward_training", "bf16")},
                              {peak("fma.fp32", {100}), peak("fma.bf16", {1600})});
  CHECK(fast->minimal == fast->direct);
  // And where no instruction multiplies it, it is widened.
  CHECK(floors_of({convolution(k3x3, "forward_training", "bf16")}, {peak("fma.fp32", {100})})
            ->direct == Approx(kWork / 100));
}

TEST_CASE("minimal filtering is counted for 3x3 convolutions of stride 1 alone", "[floors]") {
  for (const char* problem : {"mb1_ic64oc128_ih10oh5kh3sh2dh0ph1_iw10ow5kw3sw2dw0pw1",
                              "mb1_ic64oc128_ih10oh10kh1sh1dh0ph0_iw10ow10kw1sw1dw0pw0",
                              "g32mb1_ic64oc128_ih10oh10kh3sh1dh0ph1_iw10ow10kw3sw1dw0pw1",
                              "mb1_ic64oc128_ih10oh10kh3sh1dh1ph2_iw10ow10kw3sw1dw1pw2",
                              "mb1_ic64oc128_ih10oh6kh7sh1dh0ph1_iw10ow6kw7sw1dw0pw1"}) {
    CAPTURE(problem);
    const auto floors = floors_of({convolution(problem)}, kPeaks);
    REQUIRE(floors);
    CHECK(floors->minimal == floors->direct);
    CHECK(floors_text(*floors).find("Winograd") == std::string::npos);
  }
  ReplayTask product;
  product.primitive = {.kind = "matmul", .problem = "8x64:64x100"};
  product.calls = 1;
  CHECK(floors_of({product}, kPeaks)->minimal == Approx(2.0 * 8 * 64 * 100 / 100));
}

TEST_CASE("there is no floor without a rate or without multiplications", "[floors]") {
  CHECK(!floors_of({convolution(k3x3)}, {peak("copy.bandwidth", {1e9})}));
  CHECK(!floors_of({}, kPeaks));
  CHECK(!floors_of({convolution("no problem")}, kPeaks));
  CHECK(floors_json(std::nullopt).is_null());
}

TEST_CASE("floors are told to people and to programs", "[floors]") {
  const Floors floors{.direct = 4.1, .minimal = 1.6, .rate = 189e9};
  CHECK(
      floors_text(floors) ==
      "convolutions and products multiply for 4.100 s a step at least, at 189 GFLOP/s in fp32, the "
      "best seen here; with minimal filtering (Winograd) for 1.600 s");
  CHECK(floors_json(floors)["minimal_filtering_seconds"] == 1.6);
}
