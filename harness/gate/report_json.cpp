#include "harness/gate/report_json.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/gate/row_text.hpp"
#include "harness/result/common_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

json ratio_json(const Interval& ratio) {
  return {{"median", ratio.center},
          {"low", or_null(ratio.low)},
          {"high", or_null(ratio.high)},
          {"confidence", ratio.confidence}};
}

json ratio_or_null(const std::optional<Interval>& ratio) {
  return ratio ? ratio_json(*ratio) : json();
}

json look_json(const RowLook& look) {
  json object = ratio_json(look.improvement);
  object["n"] = look.n;
  object["verdict"] = to_text(look.verdict);
  return object;
}

json difference_json(const GateDifference& one) {
  return {{"name", one.name}, {"baseline", one.baseline}, {"candidate", one.candidate}};
}

json row_json(const GateRow& row) {
  json object = {{"metric", row.tag},
                 {"unit", row.unit},
                 {"group", to_text(row.group)},
                 {"direction", to_text(row.direction)},
                 {"baseline", or_null(row.baseline)},
                 {"candidate", or_null(row.candidate)},
                 {"n", row.n},
                 {"counted", row.counted},
                 {"margin", row.margin},
                 {"verdict", to_text(row.verdict)},
                 {"exact", row.exact},
                 {"alarm_only", row.alarm_only},
                 {"note", row.note},
                 {"repeat", row.repeat}};
  object["improvement"] = ratio_or_null(row.improvement);
  object["same_interval"] = ratio_or_null(row.same);
  object["slow_starts"] = json();
  if (row.slow) {
    object["slow_starts"] = {{"candidate", row.slow->candidate},
                             {"baseline", row.slow->baseline},
                             {"excess_high", or_null(row.slow->excess_high)}};
  }
  object["improvements"] = row.improvements;
  object["looks"] = list_json(row.looks, look_json);
  return object;
}

/// A ratio, or a bound of one: what can be drawn on a logarithmic scale.
double checked_ratio(double value) {
  constexpr double kLargest = 1e300;
  if (!(value >= 1 / kLargest && value <= kLargest)) throw std::invalid_argument("no ratio");
  return value;
}

Interval ratio_from(const json& object) {
  Interval ratio = bounds_from(object, checked_ratio(object.at("median").get<double>()));
  for (const auto& bound : {ratio.low, ratio.high}) {
    if (bound) checked_ratio(*bound);
  }
  return ratio;
}

std::optional<Interval> ratio_or_nothing(const json& object) {
  return object.is_null() ? std::nullopt : std::optional(ratio_from(object));
}

template <class Word>
Word word_from(const json& text, const std::vector<Word>& words) {
  for (const Word word : words) {
    if (text.get<std::string>() == to_text(word)) return word;
  }
  throw std::invalid_argument("no such word");
}

Verdict verdict_from(const json& text) {
  return word_from<Verdict>(
      text, {Verdict::kSame, Verdict::kFaster, Verdict::kRegressed, Verdict::kInconclusive});
}

RowLook look_from(const json& object) {
  return {object.at("n").get<std::size_t>(), ratio_from(object),
          verdict_from(object.at("verdict"))};
}

GateDifference difference_from(const json& object) {
  return {object.at("name"), object.at("baseline"), object.at("candidate")};
}

GateRow row_from(const json& object) {
  GateRow row;
  row.tag = object.at("metric");
  row.unit = object.at("unit");
  row.group = word_from<GateGroup>(
      object.at("group"), {GateGroup::kPerformance, GateGroup::kMemory, GateGroup::kQuality});
  row.direction = direction_from(object.at("direction"));
  row.baseline = optional_of<double>(object, "baseline");
  row.candidate = optional_of<double>(object, "candidate");
  row.n = object.at("n");
  row.counted = object.value("counted", "");
  row.margin = object.at("margin");
  // Rows without a ratio have none.
  if (row.margin != 0) checked_ratio(row.margin);
  row.verdict = verdict_from(object.at("verdict"));
  row.exact = object.at("exact");
  row.alarm_only = object.at("alarm_only");
  row.note = object.at("note");
  row.repeat = object.at("repeat");
  row.improvement = ratio_or_nothing(object.at("improvement"));
  row.same = ratio_or_nothing(object.at("same_interval"));
  if (const json& slow = object.at("slow_starts"); !slow.is_null()) {
    row.slow =
        SlowStarts{slow.at("candidate").get<std::size_t>(), slow.at("baseline").get<std::size_t>(),
                   optional_of<double>(slow, "excess_high")};
  }
  row.improvements = object.at("improvements").get<std::vector<double>>();
  for (const double value : row.improvements) checked_ratio(value);
  row.looks = list_from<RowLook>(object.at("looks"), look_from);
  return row;
}

}  // namespace

json to_json(const GateReport& report, bool inconclusive_passes) {
  return {{"kind", "gate"},
          {"notice", kUnverifiedNotice},
          {"subject", report.subject},
          {"sentence", verdict_sentence(report)},
          {"method", report.method},
          {"errors", {{"false_alarm", report.alarm_error}, {"false_same", report.same_error}}},
          {"baseline", report.baseline},
          {"candidate", report.candidate},
          {"campaign", report.campaign},
          {"unit", report.unit},
          {"looks", report.looks},
          {"differences", list_json(report.differences, difference_json)},
          {"forbidding", list_json(report.forbidding, difference_json)},
          {"rules_accepted", report.rules_accepted},
          {"rows", list_json(rows_by_weight(report), row_json)},
          {"notes", report.notes},
          {"verdict", overall_word(report)},
          {"exit_code", static_cast<int>(exit_code(report, inconclusive_passes))}};
}

GateReport gate_report_from_json(const json& document) {
  GateReport report;
  report.subject = document.at("subject");
  report.method = document.at("method");
  report.alarm_error = document.at("errors").at("false_alarm");
  report.same_error = document.at("errors").at("false_same");
  report.baseline = document.at("baseline");
  report.candidate = document.at("candidate");
  report.campaign = document.at("campaign");
  report.unit = document.at("unit");
  report.looks = document.at("looks").get<std::vector<std::size_t>>();
  report.differences = list_from<GateDifference>(document.at("differences"), difference_from);
  report.forbidding = list_from<GateDifference>(document.at("forbidding"), difference_from);
  report.rules_accepted = document.value("rules_accepted", false);
  report.rows = list_from<GateRow>(document.at("rows"), row_from);
  report.notes = document.at("notes").get<std::vector<std::string>>();
  return report;
}

}  // namespace harness
