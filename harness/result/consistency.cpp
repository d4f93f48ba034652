#include "harness/result/consistency.hpp"

#include <cstdint>
#include <iterator>
#include <optional>

#include "harness/result/consistency_common.hpp"
#include "harness/result/consistency_cost.hpp"
#include "harness/result/consistency_loadgen.hpp"
#include "harness/result/consistency_metrics.hpp"
#include "harness/result/consistency_times.hpp"
#include "harness/result/consistency_training.hpp"
#include "harness/result/consistency_world.hpp"
#include "harness/result/profile.hpp"
#include "harness/result/step_seconds.hpp"

namespace harness {
namespace {

using nlohmann::json;

class Finder {
 public:
  explicit Finder(const Result& result) : result_(result) {}

  std::vector<SchemaProblem> find(const json& document) {
    check_common(result_, document, problems_);
    check_metrics(result_, problems_);
    check_times(result_, problems_);
    check_peaks(result_.peaks, problems_);
    if (result_.quality) quality(*result_.quality);
    if (result_.cost)
      check_cost(*result_.cost, step_seconds(result_), result_.peaks, "/cost", problems_);
    check_training(result_, problems_);
    check_loadgen(result_, problems_);
    check_world(result_, problems_);
    return problems_.take();
  }

 private:
  void quality(const QualityReport& report) {
    check_quality(report, result_.settings, steps(), "/quality", problems_);
    problems_.expect(result_.status.state != RunState::kValid || report.passed.value_or(true),
                     "/status/state", "valid, although the quality was not reached");
  }

  std::optional<std::int64_t> steps() const {
    if (result_.training) return result_.training->steps;
    const Metric* step = find_metric(result_.metrics, kPlainStep);
    if (step == nullptr) return std::nullopt;
    return std::ssize(step->samples);
  }

  const Result& result_;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Result& result, const json& document) {
  return Finder(result).find(document);
}

}  // namespace harness
