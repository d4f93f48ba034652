#include "harness/report/page/html_loadgen.hpp"

#include "harness/base/text.hpp"
#include "harness/report/text/loadgen_text.hpp"

namespace harness {

void add_loadgen(std::vector<PageFact>& facts, const Result& run) {
  if (!run.loadgen) return;
  const LoadGenReport& report = *run.loadgen;
  const LoadGenWords words = loadgen_words(run);
  std::vector<PageFact> own;
  const auto add = [&](const std::string& name, const std::string& text, Tone tone) {
    if (!text.empty()) own.push_back({name, text, tone});
  };
  // LoadGen knows neither the quality nor the machine.
  const bool sound = run.status.state == RunState::kValid && !run.status.mistrusted;
  const Tone tone = report.valid ? Tone::kGood : Tone::kBad;
  std::string verdict = report.valid ? "VALID" : "INVALID";
  if (!words.reasons.empty()) verdict += ": " + join(words.reasons, "; ");
  add(printable(report.figure.tag, 40), words.figure, report.valid && !sound ? Tone::kDoubt : tone);
  add("LoadGen", verdict, tone);
  add("queries", words.test, Tone::kPlain);
  add("latency of a query", words.latencies, Tone::kPlain);
  add("set-up", words.set_up.empty() ? set_up_text(run) : words.set_up, Tone::kPlain);
  add("compliance test", words.audit, words.audit_passed ? Tone::kGood : Tone::kBad);
  // The rule says the same reasons once more.
  std::erase_if(facts, [](const PageFact& fact) {
    return fact.name == "broken rule" && fact.value.starts_with("loadgen-validity ");
  });
  facts.insert(facts.begin(), own.begin(), own.end());
}

}  // namespace harness
