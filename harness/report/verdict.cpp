#include "harness/report/verdict.hpp"

#include <fmt/format.h>

#include "harness/base/text.hpp"
#include "harness/result/result_json.hpp"

namespace harness {

std::string setting_text(const Settings& settings, const char* key) {
  const auto found = settings.effective.find(key);
  if (found == settings.effective.end() || found->is_null()) return "-";
  return printable(found->is_string() ? found->get<std::string>() : found->dump(), 60);
}

std::string verdict_text(const ResultCommon& result) {
  std::string text;
  for (const Departure& departure : result.rules.departures) {
    text += fmt::format("departs from {}: {} is {}, the rules have {}\n",
                        printable(result.rules.file, 40), printable(departure.path, 50),
                        printable(departure.actual, 60), printable(departure.expected, 60));
  }
  const Status& status = result.status;
  text += fmt::format("\nstatus   {}{}\n", to_text(status.state),
                      status.mistrusted ? ", MISTRUSTED" : "");
  for (const Violation& violation : status.violations) {
    text += fmt::format("  {} at {}: expected {}, got {}{}\n", printable(violation.rule, 40),
                        printable(violation.path, 60), printable(violation.expected, 80),
                        printable(violation.actual),
                        violation.hint.empty() ? "" : " (" + printable(violation.hint) + ")");
  }
  for (const std::string& reason : status.mistrust_reasons) {
    text += fmt::format("  mistrusted: {}\n", printable(reason));
  }
  for (const std::string& advice : status.recommendations) {
    text += fmt::format("  advice: {}\n", printable(advice));
  }
  return text + kUnverifiedNotice + "\n";
}

}  // namespace harness
