#include "harness/lockstep/asked.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/shell_command.hpp"
#include "harness/lockstep/side.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTell = "HARNESS_TELL";
constexpr const char* kArguments = "HARNESS_ARGUMENTS";
constexpr std::size_t kLargestFile = 1 << 20;

bool can_be_asked(const std::string& command) { return command == "run" || command == "suite"; }

/// The variable's value, which no process that this one starts will see.
std::optional<std::string> take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::optional<std::string> taken;
  if (value != nullptr && *value != '\0') taken = value;
  ::unsetenv(name);
  return taken;
}

/// JSON has no word for other bytes, and others in their place would be other arguments.
std::string dumped(const json& document) {
  try {
    return document.dump();
  } catch (const json::exception&) {
    throw Error("an argument", "is no UTF-8 text, and cannot be told", "rename what it names");
  }
}

/// One write(2), so that the lines of two that tell at once do not mix.
void append_line(const std::string& file, const std::string& line) {
  const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = to >= 0 && ::write(to, line.data(), line.size()) == std::ssize(line);
  const int why = errno;
  if (to >= 0) ::close(to);
  if (!written) throw Error(kTell, "cannot be told there: " + std::string(std::strerror(why)));
}

void tell(const HarnessCall& call, const std::string& file) {
  append_line(file, dumped({{"command", call.command}, {"arguments", call.arguments}}) + "\n");
}

HarnessCall given_call(const std::string& text) {
  try {
    const std::vector<std::string> words = parse_json(text, kArguments);
    if (!words.empty() && can_be_asked(words.front())) {
      return {words.front(), {words.begin() + 1, words.end()}};
    }
  } catch (const json::exception&) {  // said below
  }
  throw Error(kArguments, "is no list of 'run' or 'suite' and its arguments",
              "'harness gate' sets it; else unset it");
}

std::vector<HarnessCall> told_in(const fs::path& file) {
  std::vector<HarnessCall> calls;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return calls;
  for (const std::string& line : split(read_file(file, kLargestFile), '\n')) {
    if (trim(line).empty()) continue;
    const json told = parse_json(line, file.string());
    try {
      calls.push_back({told.at("command"), told.at("arguments")});
      if (can_be_asked(calls.back().command)) continue;
    } catch (const json::exception&) {  // said below
    }
    throw Error(printable(file.string()), "does not say what was started");
  }
  return calls;
}

/// `failure`: how it ended, if not well.
Asking answer(const std::string& text, const std::vector<HarnessCall>& told,
              const std::string& failure) {
  if (told.empty()) return {{text, std::nullopt}, failure};
  const auto refuse = [&](const std::string& why) {
    throw Error(
        "command '" + printable(text, 80) + "'", why,
        fmt::format("one that starts one harness run or suite, and ends with it; 'unset {}; "
                    "COMMAND' is timed as any other command",
                    kTell));
  };
  if (told.size() > 1) {
    std::vector<std::string> names;
    for (const HarnessCall& call : told) names.push_back("harness " + call.command);
    names.resize(std::min<std::size_t>(names.size(), 4));
    refuse(fmt::format("starts {} of ours: {}", format_count(std::ssize(told), "command"),
                       join(names, ", ")));
  }
  if (!failure.empty()) {
    refuse(fmt::format("starts a harness {}, and fails where that only says so: {}",
                       told.front().command, failure));
  }
  return {{text, told.front()}, ""};
}

Variables asking(const fs::path& files, const Variables& more) {
  Variables variables = more;
  variables.emplace_back(kTell, fs::absolute(files.string() + ".jsonl").string());
  return variables;
}

}  // namespace

std::optional<HarnessCall> heed_asking(HarnessCall call) {
  const std::optional<std::string> file = take_variable(kTell);
  const std::optional<std::string> given = take_variable(kArguments);
  if (!can_be_asked(call.command)) return call;
  if (file) {
    tell(call, *file);
    return std::nullopt;
  }
  return given ? given_call(*given) : call;
}

bool AskedCommand::has(const std::string& option) const {
  return call && std::any_of(call->arguments.begin(), call->arguments.end(),
                             [&](const std::string& argument) {
                               return argument == option || argument.starts_with(option + "=");
                             });
}

AskedCommand AskedCommand::with(const std::vector<std::string>& more) const {
  AskedCommand longer = *this;
  longer.call->arguments.insert(longer.call->arguments.end(), more.begin(), more.end());
  return longer;
}

Variables AskedCommand::variables() const {
  if (!call) return {};
  json list = json::array({call->command});
  for (const std::string& argument : call->arguments) list.push_back(argument);
  return {{kArguments, dumped(list)}};
}

Asking ask_command(const std::string& text, const fs::path& files, const Variables& more,
                   double limit_seconds) {
  const fs::path log = files.string() + ".txt";
  const ShellRun run = run_shell_command(text, asking(files, more), log, limit_seconds);
  if (interrupt_requested()) throw Interrupted();
  std::string failure;
  // A log that cannot be kept is no fault of the command's, and whole runs note it anew.
  if (run.timed_out) {
    failure = "the command was ended after " + format_time_left(limit_seconds);
  } else if (run.exit_code != 0) {
    failure = fmt::format("the command ended with exit code {}: {}", run.exit_code, last_line(log));
  }
  return answer(text, told_in(files.string() + ".jsonl"), failure);
}

Asking ask_side(const std::string& text, const fs::path& files, const Variables& more) {
  ResidentSide side({"", text, asking(files, more), files.string() + ".txt"});
  std::string failure;
  bool greeted = false;
  try {
    side.await_hello();
    greeted = true;
  } catch (const SideFailure& why) {
    failure = why.what();
  }
  const std::vector<HarnessCall> told = told_in(files.string() + ".jsonl");
  if (!told.empty()) {  // what is asked says nothing on its standard output, and ends
    try {
      const bool ended_well = !greeted && side.finish() == 0;
      failure = greeted ? "it speaks the protocol by itself" : ended_well ? "" : failure;
    } catch (const SideFailure& why) {
      failure = why.what();
    }
  }
  return answer(text, told, failure);
}

}  // namespace harness
