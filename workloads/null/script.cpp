#include "workloads/null/script.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

std::vector<double> numbers(const WorkloadContext& context, const std::string& key) {
  const std::string& text = context.settings.at(key);
  const std::string what = "--set " + key + "=" + printable(text);
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    if (part == "nan") {
      values.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (const auto value = parse_unbounded(part)) {
      using Limits = std::numeric_limits<double>;
      values.push_back(in_range(what, *value, Limits::lowest(), Limits::max()));
    } else {
      throw Error(what, "not a list of numbers", "for example --set " + key + "=1,2.5");
    }
  }
  return values;
}

/// `value` of `key`, if it is from 0 to `most`; NaN is neither.
double up_to(double most, const std::string& key, double value) {
  if (value >= 0 && value <= most) return value;
  throw Error("--set " + key, "out of range", "from 0 to " + std::to_string(std::llround(most)));
}

bool custom_kernels(const WorkloadContext& context) {
  const auto chosen = context.kernels.find("nothing");
  return chosen != context.kernels.end() && chosen->second == "custom";
}

double speedup(const WorkloadContext& context) {
  double factor = 1;
  const auto take = [&](bool chosen, const std::string& key) {
    const double value = number_of(context, key);
    if (!(value > 0)) throw Error("--set " + key, "not above 0");
    if (chosen) factor *= value;
  };
  take(custom_kernels(context), "custom-speedup");
  take(context.allocator == "pooled", "pooled-speedup");
  take(context.precision == "bf16", "bf16-speedup");
  return factor;
}

}  // namespace

std::vector<SettingInfo> script_settings() {
  return {{"step-ms", "1", "milliseconds each step sleeps, a list is repeated", {}},
          {"losses", "1", "loss of each step, a list is repeated; nan is a number here", {}},
          {"custom-speedup", "1", "divides step-ms with custom kernels", {}},
          {"pooled-speedup", "1", "divides step-ms with the pooled allocator", {}},
          {"bf16-speedup", "1", "divides step-ms in bf16", {}},
          {"quality", "1", "quality of each evaluation in turn, a list ends with the last", {}},
          {"evaluation-ms", "0", "milliseconds each evaluation sleeps", {}},
          {"custom-quality", "", "the same with custom kernels, where it differs", {}},
          {"memory", "1e6", "bytes a sample of the batch claims to need", {}},
          {"flops", "0", "work a step claims to do; above 0 the peaks are sampled too", {}},
          {"epoch-steps", "10", "steps in an epoch, where a tier trains to a target", {}},
          {"fail-at", "0", "step that fails, 0 for none", {}},
          {"recordable", "yes", "whether `harness profile` can look into it", {"yes", "no"}},
          {"fail-prepare", "no", "fail before the first step", {"no", "yes"}}};
}

std::vector<OperatorInfo> script_operators() {
  return {{"nothing",
           "does nothing, with any implementation",
           {{"reference", "sleeps", ""},
            {"custom", "sleeps as well", ""},
            {"elsewhere", "shows what is refused", "it was made for no machine at all"}}}};
}

Quality Script::quality(std::size_t evaluation) const {
  Quality quality{.metric = "scripted-quality"};
  const double value = qualities[std::min(evaluation, qualities.size() - 1)];
  if (value == value) {
    quality.value = value;
  } else {
    quality.reason = "not a number";
  }
  return quality;
}

void ScriptPlace::save(const std::filesystem::path& file) const {
  std::ofstream stream(file);
  stream << "null " << steps << ' ' << evaluations << '\n';
  if (!stream.flush()) throw Error(printable(file.string()), "cannot be written");
}

void ScriptPlace::load(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  if (!(stream >> word >> steps >> evaluations) || word != "null") {
    throw Error(printable(file.string()), "is no state of the workload 'null'");
  }
}

double number_of(const WorkloadContext& context, const std::string& key) {
  return numbers(context, key).front();
}

Script read_script(const WorkloadContext& context) {
  const auto bounded = [&](const std::string& key, double most) {
    return up_to(most, key, number_of(context, key));
  };
  Script script;
  script.step_ms = numbers(context, "step-ms");
  for (const double ms : script.step_ms) up_to(1e9, "step-ms", ms);
  const double factor = speedup(context);
  for (double& ms : script.step_ms) ms /= factor;
  const bool own_quality =
      custom_kernels(context) && !context.settings.at("custom-quality").empty();
  script.qualities = numbers(context, own_quality ? "custom-quality" : "quality");
  script.evaluation_ms = bounded("evaluation-ms", 1e9);
  script.losses = numbers(context, "losses");
  script.fail_at = static_cast<std::int64_t>(bounded("fail-at", 1e15));
  script.epoch_steps = static_cast<std::int64_t>(bounded("epoch-steps", 1e6));
  script.flops = bounded("flops", 1e18);
  script.memory_bytes = bounded("memory", 1e18) * static_cast<double>(context.batch_size);
  script.fails_to_prepare = context.settings.at("fail-prepare") == "yes";
  return script;
}

void sleep_for(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

void sleep_for(double ms, const WorkloadContext& context) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto until = std::chrono::steady_clock::now() + Milliseconds(ms);
  for (Milliseconds left(ms); left.count() > 0; left = until - std::chrono::steady_clock::now()) {
    std::this_thread::sleep_for(std::min(left, Milliseconds(20)));
    context.interrupted();
  }
}

}  // namespace harness::workloads
