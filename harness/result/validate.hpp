// Whether a file is a result that can be believed: readable, undamaged, in form, in agreement with
// itself and with the rules.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/result/kind.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// Checks a result of any state against the rules of its workload and what else is known outside
/// the file. Plugged in from outside, so that result files can be read without knowing rules; may
/// be empty. May throw Error when the rules cannot be had.
using RulesCheck = std::function<std::vector<Violation>(
    const ResultKind& kind, const ResultCommon& result, const nlohmann::json& document)>;

struct ValidationReport {
  /// What is wrong with the file itself, each with its JSON pointer.
  std::vector<SchemaProblem> problems{};
  /// For the problems alone: kUsage when the file is unreadable, not JSON or its digest broken,
  /// kInvalid when it breaks schema, consistency or rules, kOk without problems.
  ExitCode problems_code = ExitCode::kOk;
  /// For the command: as above, but kInvalid also for a sound file that records an invalid or
  /// aborted run, so that a script cannot take one for a measurement. A dry run is kOk: it claims
  /// nothing.
  ExitCode code = ExitCode::kOk;
  /// One line for people: "valid", "not valid: 3 problems", "sound file of an aborted run", ...
  std::string summary{};
  /// Of the file, where it says one that is known.
  const ResultKind* kind = nullptr;
  /// What was read; null where the form did not allow it.
  std::shared_ptr<ResultCommon> result{};

  /// What was read, where it is a T; else null.
  template <class T>
  const T* as() const {
    return exactly<T>(result.get());
  }
  /// The same to keep. Precondition: it is a T.
  template <class T>
  T take() {
    return std::move(static_cast<T&>(*result));
  }
};

/// A file's document within the bounds of result files. Throws Error.
nlohmann::json read_result_document(const std::filesystem::path& path);

/// The report on a file that could not be read, for the reason in `error`.
ValidationReport report_unreadable(const Error& error);

/// Checks a document that was read that way; never throws for what is in it.
ValidationReport validate_result(const nlohmann::json& document,
                                 const RulesCheck& rules_check = {});

/// Reads and checks one file; never throws for what is in it.
ValidationReport validate_result_file(const std::filesystem::path& path,
                                      const RulesCheck& rules_check = {});

}  // namespace harness
