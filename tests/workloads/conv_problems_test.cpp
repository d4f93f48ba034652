#include <catch2/catch.hpp>

#include "harness/base/files.hpp"
#include "tests/support/refusal.hpp"
#include "workloads/conv_blocks/problems.hpp"

using harness::workloads::ConvProblem;
using harness::workloads::parse_problems;

namespace {

harness::ErrorParts refusal(const std::string& text) {
  return harness::refusal_of([&] { parse_problems(text, "FILE"); });
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
  for (const char* text : {"", "# nothing\n\n"}) CHECK(refusal(text).about == "FILE");
  CHECK(refusal("ic8ih4oc8\nhello").about == "FILE line 2");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "ic1ih1oc1\n";
  CHECK(refusal(many).about == "FILE line 1001");
  for (const auto& [text, what] : std::vector<std::pair<const char*, const char*>>{
           {"hello", "hello"},
           {"ic8ih4oc8kd3", "ic8ih4oc8kd3"},
           {"ic8ih4oc", "ic8ih4oc"},
           {"ic99999999999999999999ih4oc8", "ic99999999999999999999ih4oc8"},
           {"ic1048577ih4oc8", "ic is too large"},
           {"ic0ih4oc8", "makes no convolution"},
           {"g3ic8ih4oc8", "makes no convolution"},
           {"ic8ih4oc8kh9", "extents"},
           {"ic8ih4oc8oh3", "extents"},
           {"ic8ih4oc8kh3ph1dh1", "dilation"},
           {"--dir=BWD_W ic8ih4oc8", "direction BWD_W"},
           {"--stag=abx ic8ih4oc8", "option --stag=abx"},
           {"--mb=-1 ic8ih4oc8", "--mb=-1"},
           {"--attr-post-ops=relu+sum ic8ih4oc8", "relu+sum"},
           {"ic8ih4oc8n\"a\" ic8ih4oc8n\"a\"", "name a"},
           {"ic8ih4oc8n\"a*0\"", "multiplicity"}}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), harness::is_about("FILE line 1", {what}));
  }
}
