#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "harness/measure/progress.hpp"
#include "tests/support/text_screen.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

StepRecord step(std::int64_t number, bool warmup, double seconds) {
  StepRecord record;
  record.step = number;
  record.warmup = warmup;
  record.seconds = seconds;
  record.losses = {{"total", 1.5}};
  return record;
}

}  // namespace

TEST_CASE("without a terminal progress is plain lines with the time left", "[progress]") {
  TextScreen screen;
  double now = 0;
  {
    Progress progress(screen.file.get(), 0, [&] { return now; });
    progress.stage("steps");
    progress.length({1, 3, 0});
    progress.step(step(1, true, 10));
    now += 10;
    progress.step(step(2, false, 10));
  }
  const std::string text = screen.text();
  CHECK(text.find('\r') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("step 1/4 (warm-up) 10.000 s  30 s left  total 1.5\n"));
  CHECK_THAT(text, Catch::Contains("step 2/4 10.000 s  20 s left"));
}

TEST_CASE("fast steps do not flood a log", "[progress]") {
  TextScreen screen;
  double now = 0;
  {
    Progress progress(screen.file.get(), 0, [&] { return now; });
    progress.length({0, 1000, 0});
    for (int i = 1; i <= 1000; ++i) {
      now += 0.001;
      progress.step(step(i, false, 0.001));
    }
  }
  const std::string text = screen.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("on a terminal one line rewrites itself and is gone at the end", "[progress]") {
  TextScreen screen;
  double now = 0;
  {
    Progress progress(screen.file.get(), 40, [&] { return now; });
    progress.length({0, 2, 5});
    progress.step(step(1, false, 2));
    now += 2;
    progress.step(step(2, false, 2));
  }
  const std::string text = screen.text();
  CHECK(text.find('\n') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("\rstep 1/2"));
  // Two seconds of five are measured: two more steps of two seconds.
  CHECK_THAT(text, Catch::Contains("4 s left"));
  CHECK(text.substr(text.size() - 41) == "\r" + std::string(39, ' ') + "\r");
}
