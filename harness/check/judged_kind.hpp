// What has to be known of a kind of result to hold its files to rules.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/check/quality_checks.hpp"
#include "harness/result/result_common.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// A set of kernels within a result, at the JSON pointer `path`.
struct PlacedKernels {
  const KernelSet* kernels = nullptr;
  std::string path{};
};

/// A quality within a result, measured in `precision`.
struct PlacedQuality {
  const QualityReport* report = nullptr;
  std::string precision{};
  std::string path{};
};

/// Implemented by kinds of result; `result` is always one of the kind.
class JudgedKind {
 public:
  virtual ~JudgedKind() = default;

  /// The rules as this program has them that `result` says it was made under: those of its
  /// workload, tier and scenario. Throws Error where they cannot be had.
  virtual Rules rules_of(const ResultCommon& result) const;
  /// All that ran in it.
  virtual std::vector<PlacedKernels> kernels(const ResultCommon& result) const = 0;
  /// All that it claims.
  virtual std::vector<PlacedQuality> qualities(const ResultCommon& result) const = 0;
  /// Of the rules' conditions for the division `closed`, those that hold for it.
  virtual std::vector<Constraint> closed(const Rules& rules, const ResultCommon& result) const = 0;
  /// Of a result that says it is valid: everything that breaks `rules`, those of its tier.
  virtual std::vector<Violation> broken_rules(const Rules& rules, const ResultCommon& result,
                                              const nlohmann::json& document) const = 0;
  /// What else follows from the workload, whatever the version of its rules.
  virtual std::vector<Violation> broken_checks(const CheckRules& /*rules*/,
                                               const ResultCommon& /*result*/,
                                               const nlohmann::json& /*document*/) const {
    return {};
  }
  /// Of the files that it names, those in `folder`, beside it, that are not what it says. It may be
  /// passed on without them: what is missing can be told in `notes`.
  virtual std::vector<Violation> changed_beside(const ResultCommon& /*result*/,
                                                const std::filesystem::path& /*folder*/,
                                                std::vector<std::string>& /*notes*/) const {
    return {};
  }
};

}  // namespace harness
