// What the report says of results, and that no text of theirs becomes more than text.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/report/page/html_findings.hpp"
#include "harness/report/page/html_history.hpp"
#include "harness/report/page/html_json.hpp"
#include "harness/report/page/html_page.hpp"
#include "harness/report/page/html_plots.hpp"
#include "harness/report/page/html_render.hpp"
#include "harness/report/page/html_runs.hpp"
#include "harness/report/page/html_series.hpp"
#include "harness/report/page/number_ranges.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/text/report_forms.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/text_lines.hpp"
#include "tests/support/validated.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

constexpr const char* kPayload =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;";

Result run_number(int number, double seconds, const std::string& commit) {
  Result run = sample_result();
  run.identity.uuid = std::to_string(number);
  run.identity.series_id = run.identity.uuid;
  run.identity.git_commit = commit;
  const std::string day = std::to_string(100 + number).substr(1);
  run.identity.started_at = "2026-01-" + day + "T12:00:00.000Z";
  run.identity.ended_at = "2026-01-" + day + "T12:01:00.000Z";
  run.metrics = {sample_metric("time.step", "s", std::vector<double>(10, seconds))};
  return run;
}

ReportData collected(const std::vector<Result>& runs) {
  ReportCollector collector;
  for (const Result& run : runs) collector.add(run.identity.uuid + ".json", validated(run), {});
  return collector.finish();
}

const PageSection* section_of(const ReportPage& page, const std::string& id) {
  for (const PageSection& section : page.sections) {
    if (section.id == id) return &section;
  }
  return nullptr;
}

/// The data block of a page.
std::string data_block(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(open) + open.size();
  return html.substr(from, html.find("</script>", from) - from);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("data in a page cannot end their script element", "[report]") {
  const json document = {{"text", std::string(kPayload) + "<!-- \xe2\x80\xa8\xe2\x80\xa9 \xc3\xa4"},
                         {kPayload, 1}};
  const std::string safe = script_json(document);
  CHECK(safe.find_first_of("<>&") == std::string::npos);
  CHECK(std::all_of(safe.begin(), safe.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  CHECK(json::parse(safe) == document);
  // What is not UTF-8 (a file's name may be anything) does not stop the page.
  CHECK_NOTHROW(json::parse(script_json({{"name", "\xff\xfe"}})));
}

TEST_CASE("hostile results leave the page's markup as it is", "[report]") {
  Result hostile = sample_result();
  hostile.rules.workload = kPayload;
  hostile.identity.git_commit = kPayload;
  hostile.identity.command_line = {kPayload};
  hostile.system["fingerprint"] = kPayload;
  hostile.system[kPayload] = kPayload;
  hostile.settings.effective["precision"] = kPayload;
  hostile.settings.effective["set"][kPayload] = kPayload;
  hostile.kernels = {{kPayload, kPayload}};
  hostile.metrics[0].tag = kPayload;
  hostile.metrics[0].warnings = {kPayload};
  hostile.status.state = RunState::kInvalid;
  hostile.status.mistrusted = true;
  hostile.status.mistrust_reasons = {kPayload};
  hostile.status.violations = {{kPayload, kPayload, kPayload, kPayload, kPayload}};
  hostile.status.recommendations = {kPayload};
  ReportCollector collector;
  collector.add(kPayload, validated(hostile), {kPayload});
  ValidationReport broken;
  broken.problems = {{kPayload, kPayload}};
  broken.problems_code = ExitCode::kInvalid;
  collector.add(std::string(kPayload) + "2", broken, {});
  const ReportData data = collector.finish();
  const std::string html = render_html(make_page(data));
  const std::string plain = render_html(ReportPage{});
  for (const char* part : {"<script", "</script", "<img", "<!--"}) {
    CAPTURE(part);
    CHECK(count_of(html, part) == count_of(plain, part));
  }
  // It is there all the same, as text.
  const std::string shown = json::parse(data_block(html)).dump();
  CHECK(shown.find("<img src=x onerror=alert(2)>") != std::string::npos);
  CHECK(data.code() == ExitCode::kInvalid);
  const std::string text = render_report(data);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a page asks for nothing and allows only its own texts", "[report]") {
  const std::string html = render_html(make_page(collected({sample_result()})));
  CHECK_THAT(html, Catch::StartsWith("<!DOCTYPE html>"));
  CHECK(count_of(html, "default-src 'none'; script-src 'sha256-") == 1);
  CHECK(html.find("unsafe-inline") == std::string::npos);
  CHECK(html.find("{{") == std::string::npos);
  for (const char* part :
       {"Chart.js v3", "Released under the MIT License", "Permission is hereby granted"}) {
    CAPTURE(part);
    CHECK(count_of(html, part) > 0);
  }
  CHECK(count_of(data_block(html), "Result not verified by MLCommons Association.") > 0);
  CHECK(count_of(html, " src=") == 0);
  CHECK(count_of(html, "<link") == 1);  // the empty icon
}

TEST_CASE("nothing at all is an empty report", "[report]") {
  ReportCollector collector;
  collector.skip("schema.json", "no result");
  const ReportData data = collector.finish();
  CHECK(data.empty());
  const ReportPage page = make_page(data);
  CHECK(section_of(page, "runs") == nullptr);
  CHECK(section_of(page, "history") == nullptr);
  CHECK(section_of(page, "files")->tables[0].rows.size() == 1);
  CHECK_NOTHROW(render_html(page));
}

TEST_CASE("files are sorted, told apart and judged together", "[report]") {
  ReportCollector collector;
  collector.add("b.json", validated(run_number(2, 0.5, "aaaaaaa")), {});
  collector.add("a.json", validated(run_number(1, 0.5, "aaaaaaa")), {});
  collector.add("again.json", validated(run_number(1, 0.5, "aaaaaaa")), {});
  ValidationReport other;
  other.problems = {{"/kind", "missing, so this is not a result file"}};
  other.problems_code = ExitCode::kInvalid;
  collector.add("schema.json", other, {});
  ReportData data = collector.finish();
  REQUIRE(data.runs().size() == 2);
  CHECK(data.runs()[0].file.name == "a.json");
  REQUIRE(data.skipped.size() == 2);
  CHECK(data.skipped[0].notes[0] == "the same run as in a.json");
  CHECK(data.code() == ExitCode::kOk);
  data.groups[0].items[0].file.code = ExitCode::kInvalid;
  CHECK(data.code() == ExitCode::kInvalid);
  data.rejected.push_back({"damaged.json", "not valid: 1 problem", ExitCode::kUsage, {}, {}});
  CHECK(data.code() == ExitCode::kUsage);
  CHECK_FALSE(data.empty());
}

TEST_CASE("a file with problems never hides a sound one of the same run", "[report]") {
  ReportCollector collector;
  ValidationReport broken = validated(run_number(1, 0.5, "aaaaaaa"));
  broken.problems = {{"/metrics", "do not agree"}};
  broken.problems_code = ExitCode::kInvalid;
  collector.add("broken.json", broken, {});
  collector.add("sound.json", validated(run_number(1, 0.5, "aaaaaaa")), {});
  const ReportData data = collector.finish();
  CHECK(data.runs().size() == 2);
  CHECK(line_of(data.runs()[0]).status == "NOT VALID: 1 problem");
}

TEST_CASE("a terminal gets a line for each result", "[report]") {
  Result missed = run_number(2, 0.25, "bbbbbbbcccc");
  missed.status.state = RunState::kAborted;
  missed.status.mistrusted = true;
  missed.status.violations = {{"converged", "/training/target_reached", "true", "no", ""}};
  ReportCollector collector;
  collector.add("b.json", validated(missed), {});
  collector.add("a.json", validated(run_number(1, 0.5, "aaaaaaa")), {});
  collector.add("ablation.json", validated(sample_ablation()), {});
  const std::string text = render_report(collector.finish());
  CHECK_THAT(text, HasLines({"2026-01-01 12:00  null*time.step 500.00 ms (500.00 .. 500.00 ms)*"}));
  CHECK_THAT(text, HasLines({"*bbbbbbb*target missed, mistrusted*"}));
  CHECK_THAT(text, Catch::Contains("nothing 5.00 [5.00, 5.00] x first"));
  CHECK_THAT(text, Catch::Contains("accuracy 0.75, met"));
  CHECK_THAT(text, Catch::EndsWith("Result not verified by MLCommons Association.\n"));
}

TEST_CASE("numbers are told from names that hold digits", "[report]") {
  const auto numbers = [](const char* text) { return take_numbers(text).numbers; };
  using List = std::vector<std::string>;
  CHECK(numbers("load average 2.90 on 2 CPUs, 0 other tasks") == List{"2.90", "2", "0"});
  CHECK(numbers("12 % of 4096.") == List{"12", "4096"});
  CHECK(numbers("(7)") == List{"7"});
  CHECK(numbers("fp32 bf16x2 AVX-512 oneDNN 3.2.0 2026-11-21 12:30 x86_64 -4 0x1f").empty());
  CHECK(numbers("").empty());
  for (const char* text : {"", "2", "a 2 b", "2.5 of 3", "1.2.3"}) {
    const NumberedText taken = take_numbers(text);
    NumberRanges ranges;
    ranges.add(taken.numbers);
    ranges.add(taken.numbers);
    CHECK(ranges.text(taken.between) == text);
  }
}

TEST_CASE("findings that differ only in a number stand there once", "[report]") {
  std::vector<Result> runs;
  for (int i = 1; i <= 4; ++i) {
    runs.push_back(run_number(i, 0.5, "aaaaaaa"));
    const std::string load = "load average " + std::to_string(10 - i) + ".50 on 2 CPUs, ";
    const std::string machine = i == 4 ? "bf16" : "fp32";
    runs.back().status.recommendations = {load + std::to_string(i) + " other tasks: stop them",
                                          "no " + machine + " here"};
    runs.back().status.mistrusted = true;
    runs.back().status.mistrust_reasons = {load + "too much"};
    // What the rules ask for is no range.
    runs.back().status.violations = {{"steps", "/steps", "20", std::to_string(i) + " steps", ""}};
  }
  const PageSection section = findings_section(collected(runs));
  std::vector<std::string> found;
  for (const auto& row : section.tables.at(0).rows) {
    if (row[0].text != "departure") found.push_back(row[6].text + " " + row[1].text);
  }
  CHECK(found == std::vector<std::string>{
                     "1 1 steps", "1 2 steps", "1 3 steps", "1 4 steps",
                     "4 load average 6.50 to 9.50 on 2 CPUs, too much",
                     "4 load average 6.50 to 9.50 on 2 CPUs, 1 to 4 other tasks: stop them",
                     "1 no bf16 here", "3 no fp32 here"});
}

TEST_CASE("long names reach the page whole", "[report]") {
  const std::string block = "time.phase.classification_head.cls_logits.100.backward-";
  Result run = run_number(1, 0.5, "aaaaaaa");
  for (const char* pass : {"data-of-the-whole-step", "weights-of-the-whole-step"}) {
    run.metrics.push_back(sample_metric((block + pass).c_str(), "s", std::vector<double>(10, 0.1)));
  }
  const ReportData data = collected({run});
  const PageSection section = run_section(data.runs()[0], "run-1");
  std::vector<std::string> choices;
  for (const PagePlot& plot : section.plots) {
    if (choices.empty() || choices.back() != plot.choice) choices.push_back(plot.choice);
  }
  CHECK(choices == std::vector<std::string>{"time.step", block + "data-of-the-whole-step",
                                            block + "weights-of-the-whole-step"});
}

TEST_CASE("a history marks its change with the commit", "[report]") {
  std::vector<Result> runs;
  for (int i = 1; i <= 20; ++i) {
    const double noise = 1 + 0.001 * ((i * 7) % 5);
    runs.push_back(run_number(i, (i > 10 ? 0.55 : 0.5) * noise, i > 10 ? "bbbbbbb" : "aaaaaaa"));
  }
  // Another machine's runs are another history.
  for (int i = 21; i <= 23; ++i) {
    runs.push_back(run_number(i, 5, "bbbbbbb"));
    runs.back().system["fingerprint"] = std::string(64, 'f');
  }
  const PageSection section = history_section(collected(runs));
  REQUIRE(section.parts.size() == 2);
  const auto changed =
      std::find_if(section.parts.begin(), section.parts.end(),
                   [](const PageSection& part) { return !part.paragraphs.empty(); });
  REQUIRE(changed != section.parts.end());
  CHECK(changed->tables[0].rows.size() == 20);
  REQUIRE(changed->paragraphs.size() == 1);
  CHECK_THAT(changed->paragraphs[0],
             HasLines({"*From 2026-01-11T12:00:00.000Z*+10.0 %*(worse): commit aaaaaaa before, "
                       "bbbbbbb after*"}));
  REQUIRE(changed->plots[0].marks.size() == 1);
  CHECK(changed->plots[0].marks[0].at == 9.5);
  CHECK_THAT(changed->plots[0].marks[0].label, Catch::StartsWith("bbbbbbb"));
}

TEST_CASE("the runs of one night are one point of a history", "[report]") {
  std::vector<Result> runs;
  for (int night = 1; night <= 11; ++night) {
    for (int i = 0; i < 3; ++i) {
      runs.push_back(run_number(night, night > 5 ? 0.55 : 0.5, "aaaaaaa"));
      runs.back().identity.uuid += "-" + std::to_string(i);
      runs.back().identity.series_id = runs.back().identity.uuid;
      runs.back().identity.started_at.replace(11, 2, std::to_string(20 + i));
    }
  }
  const PageSection section = history_section(collected(runs));
  REQUIRE(section.parts.size() == 1);
  // Thirty-three runs, but eleven nights, of which no change can be told.
  CHECK(section.parts[0].tables[0].rows.size() == 33);
  CHECK(section.parts[0].plots[0].series[0].points.size() == 11);
  CHECK(section.parts[0].plots[0].marks.empty());
  CHECK(section.parts[0].paragraphs.empty());
  // A series that goes on over midnight and noon stays one.
  for (Result& run : runs) run.identity.series_id = "one";
  CHECK(history_section(collected(runs)).parts.empty());
}

TEST_CASE("set-ups of a workload stand side by side", "[report]") {
  std::vector<Result> runs;
  for (int i = 1; i <= 12; ++i) {
    const double noise = 1 + 0.001 * i;
    runs.push_back(run_number(i, (i % 2 == 0 ? 0.25 : 0.5) * noise, "aaaaaaa"));
    if (i % 2 == 0) runs.back().kernels = {{"focal-loss", "custom"}};
  }
  const PageSection section = series_section(collected(runs));
  REQUIRE(section.parts.size() == 1);
  REQUIRE(section.parts[0].plots.size() == 2);
  const PagePlot& strip = section.parts[0].plots[0];
  CHECK(strip.y.names == std::vector<std::string>{"kernels reference", "kernels custom"});
  CHECK(strip.series[1].points.size() == 6);
  const auto& rows = section.parts[0].tables[0].rows;
  const auto step = std::find_if(rows.begin(), rows.end(), [](const std::vector<PageCell>& row) {
    return row[0].text == "time.step" && row[1].text == "kernels custom";
  });
  REQUIRE(step != rows.end());
  CHECK((*step)[5].key.value() == Approx(0.5).margin(0.01));
  CHECK((*step)[6].text == "differs");
  CHECK(series_section(collected({runs[0], runs[2]})).parts.empty());
}

TEST_CASE("numbers without measure never reach a plot", "[report]") {
  Result run = run_number(1, 0.5, "aaaaaaa");
  run.metrics = {sample_metric("time.step", "s", {1, 1, 1e308, -1e308, 5e-324, 1, 2}),
                 sample_metric("loss.total", "1", std::vector<double>(5, 1e308))};
  ReportData data = collected({run});
  const PageSection section = run_section(data.runs()[0], "run-1");
  for (const PagePlot& plot : section.plots) {
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& point : series.points) CHECK(std::abs(point.y) <= 1e100);
    }
    for (const PlotMark& mark : plot.marks) CHECK(std::abs(mark.at) <= 1e100);
  }
  CHECK_THAT(section.plots.at(0).description, Catch::Contains("Not drawn: 2 samples"));
  CHECK(json::parse(script_json(to_json(make_page(data)))).is_object());
}

TEST_CASE("a roofline needs work, traffic and both peaks", "[report]") {
  Result run = sample_result();
  CHECK_FALSE(roofline_plot(run));  // its copy bandwidth is unknown
  run.peaks[1].value = Interval{5e10, std::nullopt, std::nullopt, 0};
  const auto plot = roofline_plot(run);
  REQUIRE(plot);
  CHECK(plot->x.logarithmic);
  CHECK(plot->series[1].points.at(0).x == Approx(250));
  CHECK(plot->series[1].points.at(0).y == Approx(2.5e11 / 0.505 / 1e9));
  run.cost->cost.step_bytes = 0;
  CHECK_FALSE(roofline_plot(run));
}
