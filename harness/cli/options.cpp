// The only file that includes cxxopts: it takes seconds to compile.
#include "harness/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cxxopts.hpp>
#include <map>
#include <set>
#include <utility>

#include "harness/base/number.hpp"
#include "harness/base/print.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kColumns = 96;

/// The parser's library sets names in curly quotes; the rest of the program does not.
std::string plain_quotes(std::string text) {
  for (const std::string_view curly : {"\u2018", "\u2019"}) {
    for (std::size_t at = 0; (at = text.find(curly, at)) != std::string::npos;) {
      text.replace(at, curly.size(), "'");
    }
  }
  return text;
}

// As README has them; what a code means does not depend on the command.
constexpr std::pair<ExitCode, const char*> kExitCodes[] = {
    {ExitCode::kOk, "done: valid, verified, no regression"},
    {ExitCode::kUsage,
     "a mistake in the command line, an input that is missing or damaged, or output that could not "
     "be written"},
    {ExitCode::kAborted, "stopped before its end, by Ctrl-C or by a failure"},
    {ExitCode::kInvalid,
     "invalid by schema or rules, target missed, not verified, or mistrusted with --strict"},
    {ExitCode::kRegression, "regression"},
    {ExitCode::kInconclusive, "inconclusive, or not comparable"},
};

// cxxopts throws for the first bad argument with its own wording; checking the names first gives a
// better message and the nearest names.
void check_names(const std::string& command, const Arguments& arguments,
                 const std::vector<std::string>& names) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::vector<std::string> options;
      for (const std::string& known : names) options.push_back("--" + known);
      throw Error("option '--" + printable(name) + "'", "unknown to 'harness " + command + "'",
                  did_you_mean("--" + name, options));
    }
  }
}

}  // namespace

struct Options::Parser {
  std::string command{};
  cxxopts::Options options;
  cxxopts::ParseResult result{};
  std::vector<std::string> names{"help"};
  std::set<std::string> flags{};
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> integers{};
  std::map<std::string, std::pair<double, double>> numbers{};
  std::vector<std::string> words{};
  bool words_allowed = false;
  std::string words_needed{};
  std::vector<std::string> examples{};
  std::vector<ExitCode> codes{};

  std::string where_help_is() const { return "'harness " + command + " --help' shows the options"; }

  std::string help() const {
    std::string text;
    for (const std::string& line : split(options.help(), '\n')) {
      // cxxopts leaves the blank that it broke a line at.
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    while (text.ends_with("\n\n")) text.pop_back();
    if (!examples.empty()) text += "\nExamples:\n";
    for (const std::string& example : examples) text += "  " + example + "\n";
    if (!codes.empty()) text += "\nExit codes:\n";
    for (const auto& [code, meaning] : kExitCodes) {
      if (std::find(codes.begin(), codes.end(), code) == codes.end()) continue;
      text += wrap(fmt::format("  {}  {}", static_cast<int>(code), meaning), kColumns, 5) + "\n";
    }
    return text;
  }
};

Options::Options(const std::string& command, const std::string& description,
                 const std::string& usage)
    : parser_(new Parser{
          command, cxxopts::Options("harness " + command, wrap(description, kColumns, 0) + "\n")}) {
  parser_->options.custom_help(usage);
  parser_->options.set_width(kColumns);
  parser_->options.add_options()("h,help", "show this help");
}

Options::Options(Options&& other) noexcept = default;
Options::~Options() = default;

Options& Options::add(const std::string& name, const std::string& help,
                      const std::string& value_name) {
  if (value_name.empty()) {
    parser_->options.add_options()(name, help);
    parser_->flags.insert(name.substr(name.find(',') + 1));
  } else {
    parser_->options.add_options()(name, help, cxxopts::value<std::string>(), value_name);
  }
  // "o,out" is an option with a letter as well.
  parser_->names.push_back(name.substr(name.find(',') + 1));
  return *this;
}

Options& Options::add_list(const std::string& name, const std::string& help,
                           const std::string& value_name) {
  // cxxopts splits vector values at commas; a list of strings collected by hand keeps them whole.
  return add(name, help, value_name);
}

Options& Options::add_integer(const std::string& name, const std::string& help, std::int64_t low,
                              std::int64_t high) {
  parser_->integers[name] = {low, high};
  return add(name, help, "N");
}

Options& Options::add_number(const std::string& name, const std::string& help,
                             const std::string& value_name, double low, double high) {
  parser_->numbers[name] = {low, high};
  return add(name, help, value_name);
}

Options& Options::allow_words(const std::string& what) {
  parser_->words_allowed = true;
  parser_->words_needed = what;
  return *this;
}

Options& Options::example(const std::string& line) {
  parser_->examples.push_back(line);
  return *this;
}

Options& Options::exits(const std::vector<ExitCode>& codes) {
  parser_->codes = codes;
  return *this;
}

bool Options::parse(const Arguments& arguments) {
  check_names(parser_->command, arguments, parser_->names);
  std::vector<const char*> argv = {"harness"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  try {
    parser_->result = parser_->options.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::exception& error) {
    throw Error(parser_->command, printable(plain_quotes(error.what())), parser_->where_help_is());
  }
  parser_->words = parser_->result.unmatched();
  if (parser_->result.count("help") > 0) {
    print_out(parser_->help());
    return false;
  }
  if (!parser_->words_allowed && !parser_->words.empty()) {
    throw Error("argument '" + printable(parser_->words.front()) + "'", "not expected",
                parser_->where_help_is());
  }
  if (!parser_->words_needed.empty() && parser_->words.empty()) {
    throw Error(parser_->command, "no " + parser_->words_needed + " given",
                parser_->examples.front());
  }
  return true;
}

bool Options::flag(const std::string& name) const { return parser_->result.count(name) > 0; }

std::optional<std::string> Options::text(const std::string& name) const {
  const std::size_t count = parser_->result.count(name);
  if (count == 0) return std::nullopt;
  if (count > 1) throw Error("--" + name, "given more than once");
  std::string value = parser_->result[name].as<std::string>();
  if (value.empty()) throw Error("--" + name, "is empty", "give it a value or leave it out");
  return value;
}

std::vector<std::string> Options::texts(const std::string& name) const {
  std::vector<std::string> values;
  for (const cxxopts::KeyValue& item : parser_->result.arguments()) {
    if (item.key() == name) values.push_back(item.value());
  }
  return values;
}

std::string Options::written_whole(const std::string& first,
                                   const std::vector<std::string>& names) const {
  std::string text = started_as() + " " + parser_->command + first;
  for (const cxxopts::KeyValue& item : parser_->result.arguments()) {
    if (std::find(names.begin(), names.end(), item.key()) == names.end()) continue;
    text += " --" + item.key();
    if (!parser_->flags.contains(item.key())) text += " " + pasted_word(item.value());
  }
  return text;
}

std::optional<std::int64_t> Options::integer(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const auto& [low, high] = parser_->integers.at(name);
  return integer_in(fmt::format("--{} {}", name, printable(*value)), *value, low, high);
}

std::optional<double> Options::number(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  const auto& [low, high] = parser_->numbers.at(name);
  return number_in(fmt::format("--{} {}", name, printable(*value)), *value, low, high);
}

const std::vector<std::string>& Options::words() const { return parser_->words; }

std::string Options::required(const std::string& name) const {
  if (const auto value = text(name)) return *value;
  throw Error("--" + name, "missing", parser_->where_help_is());
}

void add_formats(Options& options, const std::string& json_help, const std::string& csv_help) {
  options.add("json", json_help).add("csv", csv_help);
}

OutputFormat chosen_format(const Options& options) {
  const bool as_json = options.flag("json");
  const bool as_csv = options.flag("csv");
  if (as_json && as_csv) throw Error("--json and --csv", "given together", "choose one of them");
  return as_json ? OutputFormat::kJson : as_csv ? OutputFormat::kCsv : OutputFormat::kText;
}

}  // namespace harness
