#include "harness/commands/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cxxopts.hpp>

#include "harness/base/print.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

// cxxopts throws for the first bad argument with its own wording; checking the names first gives a
// better message and the nearest names.
void check_names(const std::string& command, const Arguments& arguments,
                 const std::vector<std::string>& names) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error("option '--" + printable(name) + "'", "unknown to 'harness " + command + "'",
                  did_you_mean(name, names));
    }
  }
}

}  // namespace

struct Options::Table {
  cxxopts::Options options;
  cxxopts::ParseResult result{};
};

Options::Options(Options&&) noexcept = default;
Options::~Options() = default;

Options::Options(const std::string& command, const std::string& description,
                 const std::string& usage)
    : command_(command), table_(new Table{cxxopts::Options("harness " + command, description)}) {
  table_->options.custom_help(usage);
  table_->options.set_width(100);
  table_->options.add_options()("h,help", "show this help");
}

Options& Options::add(const std::string& name, const std::string& help,
                      const std::string& value_name) {
  if (value_name.empty()) {
    table_->options.add_options()(name, help);
  } else {
    table_->options.add_options()(name, help, cxxopts::value<std::string>(), value_name);
  }
  // "o,out" is an option with a letter as well.
  names_.push_back(name.substr(name.find(',') + 1));
  return *this;
}

Options& Options::add_list(const std::string& name, const std::string& help,
                           const std::string& value_name) {
  // cxxopts splits vector values at commas; a list of strings collected by hand keeps them whole.
  return add(name, help, value_name);
}

Options& Options::allow_words(const std::string& help) {
  table_->options.positional_help(help);
  words_allowed_ = true;
  return *this;
}

bool Options::parse(const Arguments& arguments) {
  check_names(command_, arguments, names_);
  std::vector<const char*> argv = {"harness"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  try {
    table_->result = table_->options.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const cxxopts::exceptions::exception& error) {
    throw Error(command_, printable(error.what()),
                "'harness " + command_ + " --help' shows the options");
  }
  words_ = table_->result.unmatched();
  if (table_->result.count("help") > 0) {
    print_out(table_->options.help());
    return false;
  }
  if (!words_allowed_ && !words_.empty()) {
    throw Error("argument '" + printable(words_.front()) + "'", "not expected",
                "'harness " + command_ + " --help' shows the options");
  }
  return true;
}

bool Options::flag(const std::string& name) const { return table_->result.count(name) > 0; }

std::optional<std::string> Options::text(const std::string& name) const {
  if (table_->result.count(name) == 0) return std::nullopt;
  if (table_->result.count(name) > 1) throw Error("--" + name, "given more than once");
  std::string value = table_->result[name].as<std::string>();
  if (value.empty()) throw Error("--" + name, "is empty", "give it a value or leave it out");
  return value;
}

std::vector<std::string> Options::texts(const std::string& name) const {
  std::vector<std::string> values;
  for (const cxxopts::KeyValue& item : table_->result.arguments()) {
    if (item.key() == name) values.push_back(item.value());
  }
  return values;
}

std::optional<std::int64_t> Options::integer(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  if (const auto parsed = parse_integer(*value)) return *parsed;
  throw Error(fmt::format("--{} '{}'", name, printable(*value)), "not a whole number");
}

std::optional<double> Options::number(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return std::nullopt;
  if (const auto parsed = parse_number(*value)) return *parsed;
  throw Error(fmt::format("--{} '{}'", name, printable(*value)), "not a number");
}

std::string Options::required(const std::string& name) const {
  if (const auto value = text(name)) return *value;
  throw Error("--" + name, "missing", "'harness " + command_ + " --help' shows the options");
}

}  // namespace harness
