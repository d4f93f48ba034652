// Problems in benchdnn's syntax, as profiles hold them: what somebody wrote.
#include <catch2/catch.hpp>

#include "harness/base/problem.hpp"

namespace harness {

TEST_CASE("a convolution's extents are told from its problem", "[base][problem]") {
  const auto extents = ConvolutionExtents::parse(
      "g8mb2_ic64oc32_ih15oh8kh3sh2dh0ph1_iw14ow7kw3sw2dw0pw1n\"model:conv 1\"");
  REQUIRE(extents);
  CHECK(extents->of("mb") == 2);
  CHECK(extents->of("ow") == 7);
  CHECK(extents->flops() == 2.0 * 2 * 32 * 8 * 7 * 8 * 3 * 3);
}

TEST_CASE("an extent that is not named is like the height, or stands for none", "[base][problem]") {
  const auto extents = ConvolutionExtents::parse("ic64oc32_ih15oh8kh3sh2dh1ph1");
  REQUIRE(extents);
  for (const char* letter : {"i", "o", "k", "s", "d", "p"}) {
    CAPTURE(letter);
    CHECK(extents->of(std::string(letter) + "w") == extents->of(std::string(letter) + "h"));
  }
  for (const char* one : {"g", "mb", "id", "od", "kd", "sd"}) CHECK(extents->of(one) == 1);
  for (const char* none : {"dd", "pd"}) CHECK(extents->of(none) == 0);
}

TEST_CASE("hostile problems are no shapes", "[base][problem]") {
  for (const char* problem : {"", "mb1", "ic0oc1_ih1oh1kh1", "mb1_ic64ic64oc1_ih1oh1kh1",
                              "g0mb1_ic1oc1_ih1oh1kh1", "mb1_ic99999999999999999999oc1_ih1oh1kh1",
                              "mb1_ic4294967296oc1_ih1oh1kh1", "zz1_ic1oc1_ih1oh1kh1", "64x64"}) {
    CAPTURE(problem);
    CHECK_FALSE(ConvolutionExtents::parse(problem));
  }
  CHECK(parse_extents("8x64x0") == std::vector<std::int64_t>{8, 64, 0});
  for (const char* text : {"", "x", "8x", "8xx8", "8x-1", "8x 1", "+8", "8x4294967296"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_extents(text));
  }
}

}  // namespace harness
