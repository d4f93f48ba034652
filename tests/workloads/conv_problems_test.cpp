#include <catch2/catch.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "workloads/conv_blocks/problems.hpp"

using harness::workloads::ConvProblem;
using harness::workloads::parse_problems;

namespace {

std::string refusal(const std::string& text) {
  try {
    parse_problems(text, "FILE");
  } catch (const harness::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the shapes file holds every conv block of RetinaNet's training step", "[conv-blocks]") {
  const auto expected = harness::workloads::retinanet_problems(1, 800, 800, 264);
  const std::string text =
      harness::read_file(harness::home_folder() / "workloads/conv_blocks/retinanet.txt", 1 << 20);
  INFO(harness::workloads::to_text(expected));
  CHECK((parse_problems(text, "retinanet.txt") == expected));
  CHECK((harness::kernels::detector_problems() == expected));
  std::int64_t calls = 0;
  double flops = 0;
  for (const ConvProblem& problem : expected) {
    calls += problem.multiplicity;
    flops += problem.flops() * static_cast<double>(problem.multiplicity);
  }
  CHECK(calls == 111);
  CHECK(flops == Approx(402e9).epsilon(0.005));
}

TEST_CASE("problems in benchdnn's syntax are read with its defaults", "[conv-blocks]") {
  const auto problems = parse_problems(
      "# a comment\n"
      "ic64ih56oc64oh56kh3ph1n\"plain\"\n"
      "--mb=4 --dir=FWD_I --attr-post-ops=mul:f32:per_oc+add:f32:per_oc+relu\n"
      "mb2_g32ic128oc128_ih20oh10kh3sh2ph1_iw30ow15kw3sw2pw1_n\"grouped*3\"  # and another\n"
      "--reset --dir=FWD_D --attr-post-ops=add:f32:per_tensor+relu ic8ih1oc8\n",
      "FILE");
  REQUIRE(problems.size() == 3);
  CHECK((problems[0] == ConvProblem{.name = "plain",
                                    .batch = 2,
                                    .in_channels = 64,
                                    .in_height = 56,
                                    .in_width = 56,
                                    .out_channels = 64,
                                    .out_height = 56,
                                    .out_width = 56,
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .padding = 1,
                                    .bias = true}));
  CHECK((problems[1] == ConvProblem{.name = "grouped",
                                    .multiplicity = 3,
                                    .batch = 4,
                                    .groups = 32,
                                    .in_channels = 128,
                                    .in_height = 20,
                                    .in_width = 30,
                                    .out_channels = 128,
                                    .out_height = 10,
                                    .out_width = 15,
                                    .kernel_height = 3,
                                    .kernel_width = 3,
                                    .stride = 2,
                                    .padding = 1,
                                    .norm = true,
                                    .relu = true,
                                    .trained = false}));
  CHECK(problems[2].name == "problem3");
  CHECK((problems[2].residual && problems[2].relu && !problems[2].norm && !problems[2].bias));
  CHECK((parse_problems(harness::workloads::to_text(problems), "again") == problems));
  CHECK(problems[0].flops() == 2.0 * 2 * 56 * 56 * 64 * 64 * 9);
}

TEST_CASE("what is no problem is refused with its line", "[conv-blocks]") {
  using Catch::Contains;
  CHECK_THAT(refusal(""), Contains("no convolution problem"));
  CHECK_THAT(refusal("# nothing\n\n"), Contains("no convolution problem"));
  CHECK_THAT(refusal("ic8ih4oc8\nhello"), Contains("line 2") && Contains("hello"));
  CHECK_THAT(refusal("ic8ih4oc8kd3"), Contains("line 1"));
  CHECK_THAT(refusal("ic8ih4oc"), Contains("no convolution problem"));
  CHECK_THAT(refusal("ic99999999999999999999ih4oc8"), Contains("line 1"));
  CHECK_THAT(refusal("ic1048577ih4oc8"), Contains("too large"));
  CHECK_THAT(refusal("ic0ih4oc8"), Contains("makes no convolution"));
  CHECK_THAT(refusal("g3ic8ih4oc8"), Contains("makes no convolution"));
  CHECK_THAT(refusal("ic8ih4oc8kh9"), Contains("do not follow"));
  CHECK_THAT(refusal("ic8ih4oc8oh3"), Contains("do not follow"));
  CHECK_THAT(refusal("ic8ih4oc8kh3ph1dh1"), Contains("no dilation"));
  CHECK_THAT(refusal("--dir=BWD_W ic8ih4oc8"), Contains("BWD_W"));
  CHECK_THAT(refusal("--stag=abx ic8ih4oc8"), Contains("--stag=abx"));
  CHECK_THAT(refusal("--mb=-1 ic8ih4oc8"), Contains("no batch size"));
  CHECK_THAT(refusal("--attr-post-ops=relu+sum ic8ih4oc8"), Contains("relu+sum"));
  CHECK_THAT(refusal("ic8ih4oc8n\"a\" ic8ih4oc8n\"a\""), Contains("there already"));
  CHECK_THAT(refusal("ic8ih4oc8n\"a*0\""), Contains("multiplicity"));
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "ic1ih1oc1\n";
  CHECK_THAT(refusal(many), Contains("more than 1000"));
}
