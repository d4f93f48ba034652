// What runs and profiles have in common as kinds of result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/check/judged_kind.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/kind.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// T is a Result, or one with more to it.
template <class T>
class KindWithRun : public ResultKindOf<T>, public JudgedKind, public ShownKind {
 public:
  using ResultKindOf<T>::ResultKindOf;

  std::vector<PlacedKernels> kernels(const ResultCommon& result) const override {
    return {{&run_of(result).kernels, "/kernels"}};
  }
  std::vector<PlacedQuality> qualities(const ResultCommon& result) const override {
    const Result& run = run_of(result);
    if (!run.quality) return {};
    return {{&*run.quality, run.settings.effective.value("precision", ""), "/quality"}};
  }
  std::vector<Constraint> closed(const Rules& rules,
                                 const ResultCommon& /*result*/) const override {
    return rules.closed;
  }
  std::vector<Violation> broken_checks(const CheckRules& rules, const ResultCommon& result,
                                       const nlohmann::json& document) const override {
    return check_samples_per_step(rules, run_of(result), document);
  }
  void add_rows(CsvTable& table, const ResultCommon& result, bool sound) const override {
    add_metric_rows(table, run_of(result), this->name(), sound);
  }

 private:
  static const Result& run_of(const ResultCommon& result) { return ResultKindOf<T>::of(result); }
};

}  // namespace harness
