#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/options.hpp"
#include "harness/cli/output.hpp"
#include "harness/commands/command.hpp"
#include "harness/lockstep/bench.hpp"
#include "harness/report/text/columns.hpp"
#include "harness/report/text/csv.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kMostRounds = 100'000;
constexpr std::size_t kMostSides = 26;
constexpr double kMostBudgetMinutes = 1e6;

Options bench_options() {
  Options options("bench",
                  "Runs two or more commands in balanced turns, and tells how long each takes and "
                  "how many times as fast it is as the first. With --lockstep the commands stay "
                  "resident and step in turn (docs/lockstep.md), which is far more precise.",
                  "CMD CMD... [OPTIONS]");
  options.allow_words()
      .add("lockstep", "the commands are resident sides, such as 'harness run ... --lockstep'")
      .add_list("name", "the name of the next command; default: A, B, ...", "NAME")
      .add_integer("rounds", "runs of each command (10), or turns in a cluster (10)", 1,
                   kMostRounds)
      .add_integer("clusters", "with --lockstep: so often all sides start anew (6)", 1, kMostRounds)
      .add_integer("steps", "with --lockstep: steps in a turn (one, or more where they are short)",
                   1, kMostStepsOfOrder)
      .add_number("slice",
                  "with --lockstep: sides take turns within a step, each for about so long "
                  "(50); 0: whole steps",
                  "MS", 0, 10'000)
      .add_integer("warmup", "untimed runs of each command before the first (0)", 0, kMostRounds)
      .add("prepare", "a command before each start, untimed", "CMD")
      .add("ignore-failure", "time commands that end with another exit code than 0, too")
      .add_number("budget", "begin nothing that would end after so many minutes", "MINUTES", 0,
                  kMostBudgetMinutes)
      .add("out", "folder for all times and logs; default: a new one under runs/", "DIR")
      .add("markdown", "print a table for a pull request in place of the text");
  add_formats(options, "print JSON with all times in place of the text",
              "print a CSV table in place of the text");
  options.example("harness bench 'sleep 0.1' 'sleep 0.2'")
      .example(
          "harness bench --lockstep 'harness run --workload null --lockstep' "
          "'harness run --workload null --set step-ms=2 --lockstep'")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted});
  return options;
}

std::vector<BenchSide> sides_of(const Options& options) {
  const std::vector<std::string>& commands = options.words();
  const std::vector<std::string> names = options.texts("name");
  if (commands.size() < 2 || commands.size() > kMostSides) {
    throw Error(
        "bench", fmt::format("{} given", format_count(std::ssize(commands), "command")),
        fmt::format("give from two to {}, each as one word: 'sleep 1' 'sleep 2'", kMostSides));
  }
  if (names.size() > commands.size()) throw Error("--name", "more names than commands");
  std::vector<BenchSide> sides;
  std::set<std::string> known;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string name =
        i < names.size() ? names[i] : std::string(1, static_cast<char>('A' + i));
    // It is a part of file names.
    const bool plain = !name.empty() && name.size() <= 60 && name.front() != '.' &&
                       name.find('/') == std::string::npos;
    if (!plain) throw Error("--name '" + printable(name) + "'", "is no name for a file");
    if (!known.insert(name).second) throw Error("--name '" + printable(name) + "'", "stands twice");
    sides.push_back({name, commands[i]});
  }
  return sides;
}

double seconds_of(double slice) {
  constexpr double kLeast = 5;
  if (slice == 0 || slice >= kLeast) return slice / 1000;
  throw Error("--slice", "stopping the sides would take up much of so short a slice",
              fmt::format("give {} or more, or 0", kLeast));
}

BenchPlan plan_of(const Options& options) {
  BenchPlan plan;
  plan.sides = sides_of(options);
  plan.lockstep = options.flag("lockstep");
  const std::vector<const char*> foreign = plan.lockstep
                                               ? std::vector{"warmup", "ignore-failure"}
                                               : std::vector{"clusters", "steps", "slice"};
  for (const char* name : foreign) {
    const bool given =
        std::string(name) == "ignore-failure" ? options.flag(name) : options.text(name).has_value();
    if (!given) continue;
    throw Error(std::string("--") + name,
                plan.lockstep ? "is not for --lockstep" : "is for --lockstep", "leave it out");
  }
  if (const auto rounds = options.integer("rounds")) plan.rounds = plan.cluster.rounds = *rounds;
  plan.clusters = options.integer("clusters").value_or(plan.clusters);
  plan.cluster.steps_per_turn = options.integer("steps");
  if (const auto slice = options.number("slice")) plan.cluster.slice_seconds = seconds_of(*slice);
  plan.warmup = options.integer("warmup").value_or(0);
  plan.any_exit_code = options.flag("ignore-failure");
  plan.prepare = options.text("prepare").value_or("");
  if (const auto minutes = options.number("budget")) plan.budget_seconds = *minutes * 60;
  plan.out = fs::absolute(options.text("out").value_or(new_run_folder("bench").string()));
  return plan;
}

std::string ratio_text(const Interval& ratio) {
  if (!ratio.low || !ratio.high) return fmt::format("{:.4f}", ratio.center);
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", ratio.center, *ratio.low, *ratio.high);
}

/// What the row says beyond its numbers; empty where they say all.
std::string remark(const BenchRow& row, const std::string& units) {
  if (!row.ratio.low) return fmt::format("6 {} give an interval", units);
  if (*row.ratio.low > 1 || *row.ratio.high < 1) return "";
  if (!row.more) return "no difference found";
  return fmt::format("about {} more {} would tell", *row.more, units);
}

std::string units_of(const BenchPlan& plan) { return plan.lockstep ? "clusters" : "rounds"; }

std::string as_text(const BenchPlan& plan, const BenchRecord& record) {
  constexpr std::size_t kNameColumns = 12;
  std::string text =
      named_row("", kNameColumns,
                fmt::format("{:>11} {:>11} {:>11} {:>9}  times as fast", record.sides.front().unit,
                            "least", "most", units_of(plan)),
                text_columns());
  for (const BenchTimes& side : record.sides) {
    const BenchRow row = row_of(side);
    const bool first = &side == &record.sides.front();
    const std::string said = first ? "" : remark(row, units_of(plan));
    text +=
        named_row(side.name, kNameColumns,
                  fmt::format("{:>11} {:>11} {:>11} {:>9}  {}{}", format_quantity(row.median, "s"),
                              format_quantity(row.min, "s"), format_quantity(row.max, "s"), row.n,
                              first ? "1" : ratio_text(row.ratio), said.empty() ? "" : ", " + said),
                  text_columns());
  }
  for (const BenchTimes& side : record.sides) {
    text += wrap(fmt::format("{}: {}", printable(side.name),
                             printable(side.says.empty() ? side.command : side.says)),
                 text_columns(), 2) +
            "\n";
  }
  for (const std::string& note : record.notes) text += "note: " + note + "\n";
  return text;
}

std::string as_markdown(const BenchPlan& plan, const BenchRecord& record) {
  std::string text = fmt::format("| | median {} | least | most | {} | times as fast |\n",
                                 record.sides.front().unit, units_of(plan));
  text += "|---|---:|---:|---:|---:|---|\n";
  for (const BenchTimes& side : record.sides) {
    const BenchRow row = row_of(side);
    std::string name = printable(side.name);
    std::replace(name.begin(), name.end(), '|', '/');
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, format_quantity(row.median, "s"),
                        format_quantity(row.min, "s"), format_quantity(row.max, "s"), row.n,
                        &side == &record.sides.front() ? "1" : ratio_text(row.ratio));
  }
  return text;
}

std::string as_csv(const BenchRecord& record) {
  CsvTable table({"name", "command", "unit", "n", "median_seconds", "min_seconds", "max_seconds",
                  "ratio_to_first", "ratio_low", "ratio_high", "ratio_confidence"});
  for (const BenchTimes& side : record.sides) {
    const BenchRow row = row_of(side);
    std::vector<std::string> line = {side.name,
                                     side.command,
                                     side.unit,
                                     std::to_string(row.n),
                                     csv_number(row.median),
                                     csv_number(row.min),
                                     csv_number(row.max)};
    append_interval(line, row.ratio);
    table.add(line);
  }
  return table.text();
}

json as_json(const BenchPlan& plan, const BenchRecord& record) {
  json sides = json::array();
  for (const BenchTimes& side : record.sides) {
    const BenchRow row = row_of(side);
    json ratio = {{"center", row.ratio.center}, {"low", nullptr}, {"high", nullptr}};
    if (row.ratio.low) ratio["low"] = *row.ratio.low;
    if (row.ratio.high) ratio["high"] = *row.ratio.high;
    sides.push_back({{"name", side.name},
                     {"command", side.command},
                     {"says", side.says},
                     {"unit", side.unit},
                     {"median_seconds", row.median},
                     {"ratio_to_first", ratio},
                     {"seconds", side.seconds},
                     {"ratios", side.ratios}});
  }
  return {{"lockstep", plan.lockstep},
          {"complete", !record.stopped},
          {"sides", sides},
          {"notes", record.notes}};
}

}  // namespace

ExitCode bench_command(const Arguments& arguments) {
  Options options = bench_options();
  if (!options.parse(arguments)) return ExitCode::kOk;
  const OutputFormat format = chosen_format(options);
  const bool markdown = options.flag("markdown");
  if (markdown && format != OutputFormat::kText) {
    throw Error("--markdown", "with --csv or --json", "choose one of them");
  }
  const BenchPlan plan = plan_of(options);
  install_interrupt_handlers();
  const StopMessage message("stopping; a command in progress is asked to end");
  const BenchRecord record =
      run_bench(plan, [](const std::string& line) { print_err(line + "\n"); });
  if (markdown) {
    print_out(as_markdown(plan, record));
  } else if (format == OutputFormat::kCsv) {
    print_out(as_csv(record));
  } else if (format == OutputFormat::kJson) {
    print_json(as_json(plan, record));
  } else {
    print_out(as_text(plan, record));
  }
  flush_out();
  print_err(fmt::format("all times are in {}\n", printable((plan.out / "bench.jsonl").string())));
  if (!record.failure.empty()) print_err("harness: " + record.failure + "\n");
  return interrupt_requested() || !record.failure.empty() ? ExitCode::kAborted : ExitCode::kOk;
}

}  // namespace harness
