// cxxopts behind the project's error style: every mistake is one Error that names the option.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/command.hpp"

namespace harness {

/// One options table per command. Values are read as text and converted here, so that messages name
/// option and value; `--help` is always there.
class Options {
 public:
  Options(const std::string& command, const std::string& description, const std::string& usage);
  Options(Options&&) noexcept;
  ~Options();

  /// An option with a value ("NAME" in the help) or, without `value_name`, a flag.
  /// "o,out" is `--out` with `-o` as its short form.
  Options& add(const std::string& name, const std::string& help,
               const std::string& value_name = {});
  /// An option that may be given several times.
  Options& add_list(const std::string& name, const std::string& help,
                    const std::string& value_name);
  /// Allows plain words (file names) and collects them.
  Options& allow_words(const std::string& help);

  /// Returns false after `--help` was printed. Throws Error.
  bool parse(const Arguments& arguments);

  bool flag(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::optional<double> number(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  const std::vector<std::string>& words() const { return words_; }
  /// Throws Error when the option was not given.
  std::string required(const std::string& name) const;

 private:
  std::string command_;
  struct Table;  ///< cxxopts' own: only options.cpp includes it, as it takes seconds to compile
  std::unique_ptr<Table> table_;
  std::vector<std::string> names_{"help"};
  std::vector<std::string> words_;
  bool words_allowed_ = false;
};

}  // namespace harness
