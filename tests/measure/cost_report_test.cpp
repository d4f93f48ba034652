// How much of a step's work was done, by the kernels that did it.
#include "harness/measure/cost_report.hpp"

#include <catch2/catch.hpp>

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("the work that was done is told from problems, calls and kernels", "[cost]") {
  CHECK_FALSE(work_done({}));
  const KernelChoice direct{
      "conv-block", "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1", "f32", "forward", "onednn", "jit", 2, 1};
  CHECK(work_done({direct}) == 1);
  KernelChoice minimal = direct;
  minimal.calls = 6;
  minimal.work = 0.25;
  CHECK(*work_done({direct, minimal}) == Approx((2 + 6 * 0.25) / 8));
  KernelChoice larger = minimal;
  larger.problem = "mb2_ic8oc8_ih4oh4kh3sh1dh0ph1";
  CHECK(*work_done({direct, larger}) == Approx((2 + 12 * 0.25) / 14));
  larger.problem = "what is none";
  CHECK(*work_done({direct, larger}) == 1);
}
