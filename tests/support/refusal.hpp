// What is refused, in the parts of its error: tests ask for these instead of for sentences.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"

namespace harness {

/// The parts of an Error; all are empty where nothing was refused.
struct ErrorParts {
  std::string about;  ///< what_failed(): an option, a file, a line
  std::string why;
  std::string hint;

  /// Where in a file: the JSON pointer that `why` names, else its first word.
  std::string place() const {
    std::size_t begin = why.starts_with('/') ? 0 : why.find(" /");
    begin = begin == std::string::npos ? 0 : why.find_first_not_of(' ', begin);
    const std::string rest = why.substr(begin);
    std::string place = rest.substr(0, rest.find(' '));
    while (place.ends_with(':') || place.ends_with(',')) place.pop_back();
    return place;
  }

  /// Whether the reason or the way out names `what` as a word: a value, a setting, a choice.
  bool names(std::string_view what) const {
    if (what.empty()) return true;
    const auto names_it = [&](std::string_view text) {
      const auto is_inside = [&](std::size_t i) {
        return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
      };
      for (std::size_t at = text.find(what); at != std::string_view::npos;
           at = text.find(what, at + 1)) {
        if (!is_inside(at - 1) && !is_inside(at + what.size())) return true;
      }
      return false;
    };
    return names_it(why) || names_it(hint);
  }
};

inline std::ostream& operator<<(std::ostream& out, const ErrorParts& refusal) {
  return out << refusal.about << ": " << refusal.why << " (" << refusal.hint << ")";
}

/// A refusal about exactly this, or at exactly this place of a file, that names these.
class IsRefusal : public Catch::MatcherBase<ErrorParts> {
 public:
  IsRefusal(std::string what, bool is_place, std::vector<std::string> named)
      : what_(std::move(what)), is_place_(is_place), named_(std::move(named)) {}
  bool match(const ErrorParts& refusal) const override {
    return (is_place_ ? refusal.place() : refusal.about) == what_ &&
           std::all_of(named_.begin(), named_.end(),
                       [&](const std::string& name) { return refusal.names(name); });
  }
  std::string describe() const override {
    std::string all = (is_place_ ? "is refused at " : "is a refusal about ") + what_;
    for (const std::string& name : named_) all += ", that names " + name;
    return all;
  }

 private:
  std::string what_;
  bool is_place_;
  std::vector<std::string> named_;
};

inline IsRefusal is_about(const std::string& what, std::vector<std::string> named = {}) {
  return {what, false, std::move(named)};
}
inline IsRefusal is_at(const std::string& place, std::vector<std::string> named = {}) {
  return {place, true, std::move(named)};
}

/// The form of every message: parts on one line, printable, without a stop at the end.
inline void check_form(const Error& error) {
  CAPTURE(error.what());
  CHECK_FALSE(error.what_failed().empty());
  CHECK_FALSE(error.why().empty());
  for (const std::string& part : {error.what_failed(), error.why(), error.hint()}) {
    CHECK(std::none_of(part.begin(), part.end(), [](unsigned char c) { return c < 0x20; }));
    CHECK((!part.ends_with('.') || part.ends_with("...")));  // what was cut short
    CHECK(part.size() < 1500);
  }
}

/// What `call` is refused with; its code and its form are checked here, for all.
template <typename Call>
ErrorParts refusal_of(const Call& call, ExitCode code = ExitCode::kUsage) {
  try {
    call();
  } catch (const Error& error) {
    check_form(error);
    CHECK(error.code() == code);
    return {error.what_failed(), error.why(), error.hint()};
  }
  return {};
}

/// What the refusal of `call` is about; empty where it is not refused.
template <typename Call>
std::string refused(const Call& call, ExitCode code = ExitCode::kUsage) {
  return refusal_of(call, code).about;
}

}  // namespace harness
