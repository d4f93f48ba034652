#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "harness/measure/progress.hpp"
#include "tests/support/text_lines.hpp"
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
  CHECK_THAT(text, HasLines({"step 1/4 (warm-up) 10.000 s  30 s left  total 1.5",
                             "step 2/4 10.000 s  20 s left*"}));
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

TEST_CASE("queries are told by the clock, however slow and overlapping they are", "[progress]") {
  TextScreen screen;
  double now = 0;
  {
    Progress progress(screen.file.get(), 0, [&] { return now; });
    progress.length({.warmup_steps = 1, .min_steps = 100, .min_seconds = 10, .unit = "query"});
    StepRecord query = step(1, true, 3);
    query.elapsed = now = 3;
    progress.step(query);
    // A thousand a second, each of which waited for two seconds.
    for (int i = 1; i <= 4000; ++i) {
      query = step(1 + i, false, 2);
      query.samples = 1;
      query.elapsed = now = 3 + 0.001 * i;
      progress.step(query);
    }
  }
  const std::string text = screen.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK_THAT(text, HasLines({"query 1/1 (warm-up)  3.000 s  10 s left",
                             "query 2000  2.000 s  8 s left", "query 4000  2.000 s  6 s left"}));
}

TEST_CASE("batches are told by their samples", "[progress]") {
  TextScreen screen;
  double now = 0;
  {
    Progress progress(screen.file.get(), 0, [&] { return now; });
    progress.length({.min_steps = 1000, .unit = "batch", .in_samples = true});
    StepRecord batch = step(1, false, 2);
    batch.samples = 100;
    batch.elapsed = now = 2;
    progress.step(batch);
  }
  CHECK_THAT(screen.text(), HasLines({"100 samples  2.000 s  18 s left"}));
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
