#include "harness/report/page/html_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/base/text.hpp"
#include "harness/report/common_text.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/page/number_ranges.hpp"
#include "harness/report/report_lines.hpp"
#include "harness/report/shown_kind.hpp"

namespace harness {
namespace {

using nlohmann::json;

std::string shown(const json& value) { return printable(plain_text(value), 200); }

std::string fact_at(const json& system, const char* pointer) {
  const json::json_pointer place(pointer);
  if (!system.contains(place) || system.at(place).is_null()) return "-";
  return shown(system.at(place));
}

PageCell bytes_cell(const json& system, const char* pointer) {
  const json::json_pointer place(pointer);
  if (!system.contains(place) || !system.at(place).is_number()) return {"-"};
  return quantity_cell(system.at(place).get<double>(), "B");
}

/// All that a file knows of its machine, a row each.
PageSection machine_part(const json& system, const std::string& name) {
  PageSection part;
  part.title = "Machine " + name;
  part.folded = true;
  PageTable table{.caption = "As the latest result of this machine describes it"};
  table.columns = {{"fact"}, {"value"}};
  const json flat = system.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    table.rows.push_back({{printable(pointer, 120)}, {shown(value)}});
  }
  limit_rows(table);
  part.tables.push_back(std::move(table));
  return part;
}

/// Two that are equal stand in one row.
struct Finding {
  std::string kind{};
  std::string rule{};
  std::string path{};
  std::string expected{};
  std::vector<std::string> found{};  ///< between the numbers that may differ
  std::string hint{};

  auto key() const { return std::tie(kind, rule, path, expected, found, hint); }
  bool operator<(const Finding& other) const { return key() < other.key(); }
};

/// A finding and the numbers in what was found.
using FindingOfOne = std::pair<Finding, std::vector<std::string>>;

FindingOfOne about_machine(const char* kind, const std::string& text) {
  NumberedText taken = take_numbers(text);
  return {Finding{kind, "", "", "", std::move(taken.between), ""}, std::move(taken.numbers)};
}

std::vector<FindingOfOne> findings_of(const ResultCommon& result) {
  std::vector<FindingOfOne> findings;
  for (const Violation& one : result.status.violations) {
    const char* kind = is_incomplete(one) ? "2 not complete" : "1 violation";
    // What was stopped was asked for nothing that it did not do.
    const bool stopped = one.rule == kCompletedRule;
    findings.push_back({{kind,
                         stopped ? "" : one.rule,
                         stopped ? "" : one.path,
                         stopped ? "" : one.expected,
                         {one.actual},
                         one.hint},
                        {}});
  }
  for (const std::string& reason : mistrust_texts(result.status)) {
    findings.push_back(about_machine("3 mistrust", reason));
  }
  for (const Departure& one : result.rules.departures) {
    findings.push_back(
        {{"4 departure", result.rules.file, one.path, one.expected, {one.actual}, "division open"},
         {}});
  }
  for (const std::string& advice : advice_texts(result.status)) {
    findings.push_back(about_machine("5 advice", advice));
  }
  return findings;
}

struct Seen {
  NumberRanges numbers{};
  std::size_t count = 0;
  std::string first{};   ///< which result it stands in
  std::string target{};  ///< its section
};

Tone tone_of(const std::string& kind) {
  if (kind.starts_with("1")) return Tone::kBad;
  return kind.starts_with("2") || kind.starts_with("3") ? Tone::kDoubt : Tone::kPlain;
}

}  // namespace

PageSection machines_section(const ReportData& data) {
  struct Machine {
    const json* system = nullptr;
    std::string latest{};
    std::size_t results = 0;
  };
  std::map<std::string, Machine> machines;
  for_each_section(data, [&](const ReportItem& item, const std::string& /*target*/) {
    const ResultCommon& result = *item.result;
    Machine& machine = machines[machine_of(result)];
    ++machine.results;
    if (machine.system != nullptr && result.identity.started_at < machine.latest) return;
    machine.system = &result.system;
    machine.latest = result.identity.started_at;
  });
  PageSection section{.id = "machines", .title = "Machines"};
  PageTable table{.caption = "Machines by their fingerprint"};
  table.columns = {{"machine"}, {"processor"},      {"cores", true},  {"memory", true},
                   {"system"},  {"virtualisation"}, {"governor"},     {"LibTorch"},
                   {"oneDNN"},  {"compiler"},       {"results", true}};
  for (const auto& [fingerprint, machine] : machines) {
    const json& system = *machine.system;
    const std::string name = short_name(fingerprint);
    PageCell cores{fact_at(system, "/limits/usable_cores")};
    cores.key = parse_number(cores.text);
    PageSection part = machine_part(system, name);
    part.id = fmt::format("machine-{}", section.parts.size() + 1);
    table.rows.push_back({{name, {}, Tone::kPlain, part.id},
                          {fact_at(system, "/cpu/model_name")},
                          cores,
                          bytes_cell(system, "/memory/total_bytes"),
                          {fact_at(system, "/os/name")},
                          {fact_at(system, "/os/virtualisation")},
                          {fact_at(system, "/cpu/governor")},
                          {fact_at(system, "/software/libtorch")},
                          {fact_at(system, "/software/onednn")},
                          {fact_at(system, "/build/compiler")},
                          count_cell(machine.results)});
    if (section.parts.size() < kMostDetailed) section.parts.push_back(std::move(part));
  }
  limit_rows(table);
  section.tables.push_back(std::move(table));
  return section;
}

PageSection findings_section(const ReportData& data) {
  std::map<Finding, Seen> found;
  for_each_section(data, [&](const ReportItem& item, const std::string& target) {
    const ResultCommon& result = *item.result;
    for (const auto& [finding, numbers] : findings_of(result)) {
      Seen& seen = found[finding];
      seen.numbers.add(numbers);
      if (seen.count++ > 0) continue;
      seen.first = fmt::format("{} {}", printable(result.rules.workload, 40),
                               printable(result.identity.started_at.substr(0, 16)));
      seen.target = target;
    }
  });
  PageSection section{.id = "findings", .title = "Rules and findings"};
  section.paragraphs = {
      "A violation makes a result invalid. What is not complete was stopped, failed or is missing, "
      "and broke no rule. A departure from the rules makes its division open. A "
      "reason for mistrust says that the machine was not fit to measure on. What several results "
      "share stands here once; where it differs only in a number, with the range of that number."};
  PageTable table{
      .caption = "Violations, what is not complete, reasons for mistrust, departures and advice"};
  table.columns = {{"kind"},  {"found"}, {"expected"},      {"rule"},
                   {"place"}, {"hint"},  {"results", true}, {"first in"}};
  for (const auto& [finding, seen] : found) {
    table.rows.push_back({{finding.kind.substr(2), {}, tone_of(finding.kind)},
                          {printable(seen.numbers.text(finding.found), 400)},
                          {printable(finding.expected)},
                          {printable(finding.rule, 80)},
                          {printable(finding.path, 120)},
                          {printable(finding.hint)},
                          count_cell(seen.count),
                          {seen.first, {}, Tone::kPlain, seen.target}});
  }
  limit_rows(table);
  section.tables.push_back(std::move(table));
  return section;
}

PageSection files_section(const ReportData& data) {
  PageSection section{.id = "files", .title = "Files"};
  PageTable table{.caption = "Problems, notes and skipped files"};
  table.columns = {{"file"}, {"kind"}, {"place"}, {"what"}};
  const auto add = [&](const ReportFile& file, bool is_skipped) {
    for (const SchemaProblem& problem : file.problems) {
      table.rows.push_back({{printable(file.name, 400)},
                            {"problem", {}, Tone::kBad},
                            {problem.path.empty() ? "(file)" : printable(problem.path)},
                            {printable(problem.reason, 400)}});
    }
    for (const std::string& note : file.notes) {
      table.rows.push_back({{printable(file.name, 400)},
                            {is_skipped ? "skipped" : "note"},
                            {"(file)"},
                            {printable(note, kLongestNote)}});
    }
  };
  for (const ReportFile& file : data.rejected) add(file, false);
  for_each_result(data, [&](const ReportItem& item) { add(item.file, false); });
  for (const ReportFile& file : data.skipped) add(file, true);
  limit_rows(table);
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace harness
