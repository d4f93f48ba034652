#include "harness/kinds/suite/reference.hpp"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

SuiteFile take(CheckedFile checked) {
  require_sound(checked, checked.report.problems_code);
  if (checked.report.as<Suite>() == nullptr) {
    throw Error(printable(checked.file), "is no suite, but a result of another kind",
                "give what 'harness suite' wrote");
  }
  return {checked.file, checked.document.at("digest"), checked.report.take<Suite>()};
}

}  // namespace

std::optional<SuiteFile> find_suite(const fs::path& path, const std::string& tier) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return take(check_file(path.string(), true));
  std::vector<CheckedFile> suites;
  for (const std::string& file : result_files_below(path.string())) {
    CheckedFile checked = check_file(file, true);
    // What cannot be read at all may have been the one.
    if (checked.report.kind == nullptr) require_sound(checked, checked.report.problems_code);
    const bool is_suite =
        checked.report.kind != nullptr && checked.report.kind->name() == kSuiteName;
    if (is_suite) suites.push_back(std::move(checked));
  }
  if (suites.empty()) return std::nullopt;
  if (suites.size() > 1) {
    std::erase_if(suites, [&](const CheckedFile& checked) {
      const auto* suite = checked.report.as<Suite>();
      return suite != nullptr && suite->rules.tier != tier;
    });
    if (suites.empty()) return std::nullopt;
  }
  if (suites.size() > 1) {
    throw Error(printable(path.string()),
                "holds " + format_count(std::ssize(suites), "suite result"),
                "give one of them: " + printable(suites.front().file));
  }
  return take(std::move(suites.front()));
}

SuiteReference refer_to(const SuiteFile& reference) {
  const Suite& suite = reference.suite;
  const nlohmann::json cpu = suite.system.value("cpu", nlohmann::json::object());
  return {reference.path.filename().string(),
          reference.digest,
          suite.identity.uuid,
          text_member(suite.system, "fingerprint"),
          text_member(cpu, "model_name"),
          suite.rules.tier,
          suite.identity.started_at};
}

}  // namespace harness
