// A workload that answers queries: it sleeps, and knows the answers. Some it may get wrong.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/workload/capabilities.hpp"
#include "harness/workload/registry.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)

class StubQueries : public Workload, public Steps, public Answers {
 public:
  Description describe(const WorkloadContext& /*context*/) const override { return {1e6}; }
  void prepare(const WorkloadContext& context) override { context_ = &context; }

  std::int64_t samples() const override { return number("samples"); }
  void load(const Samples& samples) override {
    loaded_ = samples;
    if (loads_++ > 0) speed_ *= number("faster");
  }
  std::vector<float> answer_query(const Samples& samples) override {
    std::vector<float> rows;
    for (const std::int64_t sample : samples) {
      if (std::find(loaded_.begin(), loaded_.end(), sample) == loaded_.end()) {
        throw std::logic_error("a sample that was not loaded was asked for");
      }
      const bool wrong = sample < number(narrow() ? "narrow-wrong" : "wrong");
      rows.push_back(static_cast<float>(sample) + (wrong ? 0.5F : 0.0F));
      rows.push_back(number("fickle") != 0 ? static_cast<float>(answered_) : 1);
    }
    if (answered_ >= number("breaks-after")) throw std::runtime_error("the stub broke");
    const std::int64_t warming = answered_ < number("slow-first") ? number("slow-times") : 1;
    answered_ += std::ssize(samples);
    const auto one = std::chrono::microseconds(number(narrow() ? "narrow-query-us" : "query-us"));
    std::this_thread::sleep_for(
        (one * samples.size() + std::chrono::microseconds(number("overhead-us"))) * slowness() *
        warming / speed_);
    return rows;
  }
  Quality score_answers(const std::vector<float>& rows) const override {
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < samples(); ++i) {
      if (rows.at(static_cast<std::size_t>(2 * i)) == static_cast<float>(i)) ++right;
    }
    return {.metric = "top-1",
            .direction = Direction::kHigher,
            .value = static_cast<double>(right) / static_cast<double>(samples())};
  }

  void begin_steps() override { loaded_ = {0}; }
  StepStats step() override {
    answer_query({0});
    return {1, {}};
  }
  Quality evaluate() override {
    Samples all(static_cast<std::size_t>(samples()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    load(all);
    return score_answers(answer_query(all));
  }

 private:
  /// What no setting tells of: how many times as long this build takes.
  static std::int64_t slowness() {
    const char* times = std::getenv("STUB_QUERIES_TIMES");
    return times == nullptr ? 1 : std::stoll(times);
  }
  bool narrow() const { return context_->precision == "bf16"; }
  std::int64_t number(const char* setting) const {
    return std::stoll(context_->settings.at(setting));
  }

  const WorkloadContext* context_ = nullptr;
  Samples loaded_{};
  std::int64_t answered_ = 0;
  std::int64_t loads_ = 0;
  std::int64_t speed_ = 1;
};

WorkloadInfo info() {
  return {.name = "stub-queries",
          .summary = "Answers queries by sleeping.",
          .offers = {{"precision", {"fp32", "bf16"}}, {"allocator", {"system"}}},
          .settings = {{"samples", "50", "in the evaluation set"},
                       {"query-us", "200", "that a sample takes, microseconds"},
                       {"narrow-query-us", "200", "the same in bf16"},
                       {"overhead-us", "0", "that a query takes beside, microseconds"},
                       {"wrong", "0", "samples with a wrong answer"},
                       {"narrow-wrong", "0", "the same in bf16"},
                       {"fickle", "0", "1: answers differ from one time to the next"},
                       {"slow-first", "0", "answers that take longer"},
                       {"slow-times", "4", "so many times as long"},
                       {"faster", "1", "times as fast after each further test has begun"},
                       {"breaks-after", "1000000000", "answers"}}};
}

const RegisterWorkload registered(info, [] { return std::make_unique<StubQueries>(); });

}  // namespace
