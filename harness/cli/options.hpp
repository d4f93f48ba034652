// The command line in the project's error style: every mistake is one Error that names the option.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace harness {

/// What follows the command's name on the command line.
using Arguments = std::vector<std::string>;

/// One options table per command. Values are read as text and converted here, so that messages name
/// option and value; `--help` is always there, and ends with examples and exit codes.
class Options {
 public:
  /// `usage` follows the command's name in the help.
  Options(const std::string& command, const std::string& description, const std::string& usage);
  Options(Options&& other) noexcept;
  ~Options();

  /// An option with a value ("NAME" in the help) or, without `value_name`, a flag.
  /// "o,out" is `--out` with `-o` as its short form.
  Options& add(const std::string& name, const std::string& help,
               const std::string& value_name = {});
  /// An option that may be given several times.
  Options& add_list(const std::string& name, const std::string& help,
                    const std::string& value_name);
  /// An option whose value is a whole number from `low` to `high`.
  Options& add_integer(const std::string& name, const std::string& help, std::int64_t low,
                       std::int64_t high);
  /// An option whose value is a number from `low` to `high`, both finite.
  Options& add_number(const std::string& name, const std::string& help,
                      const std::string& value_name, double low, double high);
  /// Allows plain words (file names) and collects them. Without any, parse() throws Error "no WHAT
  /// given", with the first example; an empty `what`: they may be left out.
  Options& allow_words(const std::string& what = {});
  /// A command line for the help, to be tried as it stands.
  Options& example(const std::string& line);
  /// The exit codes that this command can give, for the help.
  Options& exits(const std::vector<ExitCode>& codes);

  /// Returns false after `--help` was printed. Throws Error.
  bool parse(const Arguments& arguments);

  bool flag(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  /// Of add_integer and add_number. Throw Error for a value beyond the option's bounds.
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::optional<double> number(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  const std::vector<std::string>& words() const;
  /// The same command again, as a person pastes it: the program as it was called, `first`, and
  /// those of the options `names` that were given, as they were given.
  std::string written_whole(const std::string& first, const std::vector<std::string>& names) const;
  /// Throws Error when the option was not given.
  std::string required(const std::string& name) const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// What stands on standard output.
enum class OutputFormat {
  kText,
  kJson,
  kCsv,
  kNone,  ///< the process that runs the series prints it
};

/// The options --json and --csv; `json` and `csv` say what each prints.
void add_formats(Options& options, const std::string& json_help, const std::string& csv_help);
/// Throws Error when both were given.
OutputFormat chosen_format(const Options& options);

}  // namespace harness
