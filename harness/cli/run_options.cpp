#include "harness/cli/run_options.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include "harness/base/text.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/result_file.hpp"

namespace harness {

namespace {

const std::vector<SettingScope> kOfRun = {SettingScope::kCommon, SettingScope::kVariant,
                                          SettingScope::kMeasurement, SettingScope::kRun};

Options run_options() {
  Options options("run", "Measures a workload under its rules. Writes a result file for each run.",
                  "(--workload NAME | --task FILE | --from RESULT) [OPTIONS] | --resume DIR");
  add_settings(options, kOfRun);
  options
      .add_number("pause", "seconds to cool down before each further run of the series", "S", 0,
                  kMostPauseSeconds)
      .add("out", "folder for results and samples; default: a new one under runs/", "DIR")
      .add("resume",
           "go on with the series that was stopped or killed in this folder, if wanted with other "
           "--ranks",
           "DIR")
      .add("from", "repeat the run of this result: its settings and seeds", "RESULT")
      .add(
          "rendezvous",
          "where ranks that are started one by one meet: address and port of the machine of rank 0",
          "HOST:PORT")
      .add_integer("rank", "which of them this is; default: as mpirun, srun or torchrun say", 0,
                   kMostRanks - 1)
      .add_integer("world", "how many there are; default: as they say", 1, kMostRanks)
      .add_number("rendezvous-timeout", "for all ranks to come; default: 300", "S", 1,
                  kMostWaitSeconds)
      .add("trace",
           "write when each part of each step began and ended, on all ranks, for ui.perfetto.dev")
      .add("lockstep", "step in turn with other processes, when told on standard input")
      .add("strict", "exit 3 when the machine's state makes the result doubtful");
  add_formats(options,
              "print the result file's JSON in place of the summary; of a series an array, one "
              "result after the other",
              "print a CSV table in place of the summary: a row for each metric of each run");
  options.example("harness run --workload null")
      .example("harness run --workload null --precision bf16 --runs 5 --csv")
      .exits({ExitCode::kOk, ExitCode::kUsage, ExitCode::kAborted, ExitCode::kInvalid});
  return options;
}

void add(Options& options, const Setting& setting) {
  const std::string name = setting.option();
  switch (setting.kind) {
    case SettingKind::kText:
      options.add(name, setting.summary, setting.value_name);
      break;
    case SettingKind::kInteger:
      options.add_integer(name, setting.summary, static_cast<std::int64_t>(setting.low),
                          static_cast<std::int64_t>(setting.high));
      break;
    case SettingKind::kNumber:
      options.add_number(name, setting.summary, setting.value_name, setting.low, setting.high);
      break;
    case SettingKind::kList:
      options.add_list(name, setting.summary, setting.value_name);
      break;
    case SettingKind::kFlag:
      options.add(name, setting.summary);
      break;
  }
}

/// The values of a list of KEY=VALUE.
void append_list(const std::vector<std::string>& given, const Setting& setting,
                 RunRequest& request) {
  std::set<std::string> keys;
  for (const std::string& item : given) {
    const std::string key = item.substr(0, item.find('='));
    if (!keys.insert(key).second) {
      throw Error("--" + setting.option() + " " + printable(item),
                  "'" + printable(key) + "' is given twice", "leave one of them out");
    }
    request[setting.name].push_back(item);
  }
}

void read(const Options& options, const Setting& setting, RunRequest& request) {
  const std::string name = setting.option();
  const auto take = [&](const auto& value) {
    if (value) request[setting.name] = *value;
  };
  switch (setting.kind) {
    case SettingKind::kText:
      return take(options.text(name));
    case SettingKind::kInteger:
      return take(options.integer(name));
    case SettingKind::kNumber:
      return take(options.number(name));
    case SettingKind::kList:
      return append_list(options.texts(name), setting, request);
    case SettingKind::kFlag:
      if (options.flag(name)) request[setting.name] = true;
  }
}

/// Calls `use` with each setting of the table whose scope, or name, is among `wanted`.
template <class Wanted, class Use>
void for_settings(const std::vector<Wanted>& wanted, const Use& use) {
  for (const auto& setting : SettingTable::instance().list()) {
    const bool chosen = std::any_of(wanted.begin(), wanted.end(), [&](const Wanted& one) {
      if constexpr (std::is_same_v<Wanted, SettingScope>)
        return setting->scope == one;
      else
        return setting->name == one;
    });
    if (chosen) use(*setting);
  }
}

constexpr std::array kPlaceOptions = {"--rendezvous", "--rank", "--world", "--rendezvous-timeout"};

AskedPlace asked_place(const Options& options) {
  AskedPlace asked;
  asked.rendezvous = options.text("rendezvous");
  if (const auto rank = options.integer("rank")) asked.rank = static_cast<int>(*rank);
  if (const auto world = options.integer("world")) asked.world = static_cast<int>(*world);
  asked.timeout_seconds = options.number("rendezvous-timeout");
  return asked;
}

}  // namespace

Arguments without_place(const Arguments& arguments) {
  return without_options(arguments, {kPlaceOptions.begin(), kPlaceOptions.end()});
}

Arguments without_options(const Arguments& arguments, const std::vector<std::string>& options) {
  Arguments rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    if (std::find(options.begin(), options.end(), name) == options.end()) {
      rest.push_back(arguments[i]);
    } else if (name == arguments[i]) {
      ++i;  // its value
    }
  }
  return rest;
}

void add_settings(Options& options, const std::vector<SettingScope>& scopes) {
  for_settings(scopes, [&](const Setting& setting) { add(options, setting); });
}

void add_settings(Options& options, const std::vector<std::string>& names) {
  for_settings(names, [&](const Setting& setting) { add(options, setting); });
}

void read_settings(const Options& options, const std::vector<SettingScope>& scopes,
                   RunRequest& request) {
  for_settings(scopes, [&](const Setting& setting) { read(options, setting, request); });
}

void read_settings(const Options& options, const std::vector<std::string>& names,
                   RunRequest& request) {
  for_settings(names, [&](const Setting& setting) { read(options, setting, request); });
}

void require_workload(const Options& options, const RunRequest& request) {
  if (request.text("rules").empty() && request.text("task").empty()) options.required("workload");
}

std::optional<RunInvocation> parse_run_options(const Arguments& arguments) {
  Options options = run_options();
  if (!options.parse(arguments)) return std::nullopt;
  RunInvocation invocation;
  RunRequest& request = invocation.request;
  invocation.place = asked_place(options);
  if (const auto resume = options.text("resume")) {
    if (!without_options(without_place(arguments), {"--resume", "--ranks"}).empty()) {
      throw Error("--resume " + printable(*resume), "takes no other options but --ranks",
                  "the series goes on with those it was begun with");
    }
    invocation.resume = *resume;
    read_settings(options, std::vector<std::string>{"ranks"}, request);
    return invocation;
  }
  if (const auto from = options.text("from")) {
    request = request_from_result(read_result_file(*from));
    const std::string own = request.text("workload");
    if (const auto workload = options.text("workload"); workload && *workload != own) {
      throw Error("--workload " + printable(*workload),
                  "the result given with --from is of '" + printable(own) + "'",
                  "leave --workload out");
    }
  }
  read_settings(options, kOfRun, request);
  if (request.text("workload").empty()) require_workload(options, request);
  if (const auto out = options.text("out")) invocation.out = *out;
  invocation.strict = options.flag("strict");
  invocation.lockstep = options.flag("lockstep");
  invocation.trace = options.flag("trace");
  invocation.format = chosen_format(options);
  invocation.pause_seconds = options.number("pause").value_or(0);
  invocation.command_line = {"harness", "run"};
  invocation.command_line.insert(invocation.command_line.end(), arguments.begin(), arguments.end());
  return invocation;
}

}  // namespace harness
