#include "harness/check/quality_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/result/rules_document.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Of numbers that were computed from the same doubles in another order.
constexpr double kSlack = 1e-9;

/// Whether `pattern`, in which * stands for any text, is all of `name`. Texts between stars are
/// taken where they come first, so no text from a file makes it slow.
bool fits(std::string_view pattern, std::string_view name) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  while ((star = pattern.find('*')) != std::string_view::npos) {
    const std::size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
    pattern.remove_prefix(star + 1);
  }
  return name.ends_with(pattern);
}

double at_precision(const std::map<std::string, double>& values, const std::string& precision) {
  const auto found = values.find(precision);
  return found == values.end() ? 0 : found->second;
}

/// The number, or the text of one, that a JSON pointer leads to.
std::optional<double> number_at(const json& document, const std::string& pointer) {
  const json* found = nullptr;
  try {
    const json::json_pointer place(pointer);
    if (document.contains(place)) found = &document.at(place);
  } catch (const json::exception&) {
    return std::nullopt;
  }
  if (found == nullptr) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? parse_number(found->get_ref<const std::string&>()) : std::nullopt;
}

/// The number a text is, or begins with ("9; not found: ...").
std::optional<double> leading_number(std::string_view text) {
  return parse_number(text.substr(0, text.find(';')));
}

/// The numbers in the first brackets of a text.
std::vector<double> numbers_in_brackets(std::string_view text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  std::vector<double> numbers;
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  for (const std::string& part : split(text.substr(begin + 1, end - begin - 1), ',')) {
    const std::optional<double> number = parse_number(trim(part));
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

/// An error as far as texts give it.
struct DerivedError {
  double error = 0;
  double rounding = 0;    ///< of it, because the texts are rounded
  bool at_least = false;  ///< the true error may be larger
};

class Judge {
 public:
  Judge(const QualityChecks& rules, const Quality& quality, const std::string& precision,
        const json& document, const std::string& path)
      : rules_(rules),
        quality_(quality),
        precision_(precision),
        document_(document),
        path_(path + "/checks") {}

  std::vector<Violation> judge() {
    std::vector<std::size_t> counts(rules_.quantities.size());
    std::string expected;
    for (std::size_t i = 0; i < quality_.checks.size(); ++i) {
      const Check& check = quality_.checks[i];
      const QuantityRule* rule = rule_of(check);
      const std::string at = fmt::format("{}/{}", path_, i);
      if (rule == nullptr) {
        add(at + "/name", "a check of " + rules_.metric, printable(check.name));
        continue;
      }
      ++counts[static_cast<std::size_t>(rule - rules_.quantities.data())];
      if (!rule->one_of_many) expected += check.name + " " + check.expected + "\n";
      tolerance(*rule, check, at);
      error(*rule, check, at);
    }
    for (std::size_t i = 0; i < counts.size(); ++i) count(rules_.quantities[i], counts[i]);
    if (rules_.expected_sha256 && violations_.empty() &&
        sha256_hex(expected) != *rules_.expected_sha256) {
      add(path_, "the expected values of the golden data", "others");
    }
    return std::move(violations_);
  }

 private:
  void add(const std::string& path, std::string expected, std::string actual) {
    violations_.push_back({"checks", path, std::move(expected), std::move(actual), ""});
  }

  const QuantityRule* rule_of(const Check& check) const {
    for (const QuantityRule& rule : rules_.quantities) {
      if (fits(rule.name, check.name)) return &rule;
    }
    return nullptr;
  }

  void count(const QuantityRule& rule, std::size_t found) {
    if (rule.count.is_null()) return;
    const std::optional<double> most = rule.count.is_string()
                                           ? number_at(document_, rule.count.get<std::string>())
                                           : rule.count.get<double>();
    if (!most) return;
    const double least = *most - at_precision(rule.missing, precision_);
    const auto there = static_cast<double>(found);
    if (there >= least && there <= *most) return;
    add(path_, fmt::format("{} checks {}", *most, rule.name), std::to_string(found));
  }

  void tolerance(const QuantityRule& rule, const Check& check, const std::string& at) {
    const auto [from, to] = rule.tolerance.at(precision_);
    if (check.tolerance >= from * (1 - kSlack) && check.tolerance <= to * (1 + kSlack)) return;
    add(at + "/tolerance", from == to ? fmt::format("{}", from) : fmt::format("{} to {}", from, to),
        fmt::format("{}", check.tolerance));
  }

  void error(const QuantityRule& rule, const Check& check, const std::string& at) {
    if (!check.error) return;  // not finite, so it did not pass
    const std::optional<DerivedError> derived = derive(rule, check);
    if (!derived) {
      add(at + "/actual", "what can be compared with " + printable(check.expected, 80),
          printable(check.actual, 80));
      return;
    }
    const double slack = derived->rounding + kSlack * std::max(derived->error, *check.error);
    const bool same = *check.error >= derived->error - slack &&
                      (derived->at_least || *check.error <= derived->error + slack);
    if (same) return;
    add(at + "/error",
        fmt::format("{}{:.6g}, from {} and {}", derived->at_least ? "at least " : "",
                    derived->error, printable(check.expected, 80), printable(check.actual, 80)),
        fmt::format("{}", *check.error));
  }

  /// Of texts that stand for `expected` and `actual`.
  DerivedError difference(double expected, double actual, double scale, bool at_least) const {
    const double rounding = rules_.relative_rounding * (std::abs(expected) + std::abs(actual)) +
                            2 * rules_.absolute_rounding;
    return {std::abs(actual - expected) * scale, rounding * scale, at_least};
  }

  std::optional<DerivedError> derive(const QuantityRule& rule, const Check& check) const {
    if (rule.error == ErrorMeasure::kBoxes) return of_boxes(check);
    const std::optional<double> expected = leading_number(check.expected);
    const std::optional<double> actual = leading_number(check.actual);
    if (!expected || !actual) return std::nullopt;
    double over = 1;
    switch (rule.error) {
      case ErrorMeasure::kRelative:
        over = std::max(std::abs(*expected), floor_of(rule, rule.name));
        break;
      case ErrorMeasure::kAtLeastRelative:
        over = std::abs(*expected);
        break;
      case ErrorMeasure::kOverOnePlus:
        over = 1 + std::abs(*expected);
        break;
      case ErrorMeasure::kAtLeastOfNorm:
        over = norm_behind(rule, check);
        break;
      case ErrorMeasure::kAbsolute:
      case ErrorMeasure::kBoxes:
        break;
    }
    const bool at_least =
        rule.error == ErrorMeasure::kAtLeastRelative || rule.error == ErrorMeasure::kAtLeastOfNorm;
    return difference(*expected, *actual, over > 0 ? 1 / over : 1, at_least);
  }

  std::optional<DerivedError> of_boxes(const Check& check) const {
    const std::vector<double> expected = numbers_in_brackets(check.expected);
    const std::vector<double> actual = numbers_in_brackets(check.actual);
    const auto before = [](const std::string& text) { return text.substr(0, text.find('[')); };
    if (expected.empty() || expected.size() != actual.size()) return std::nullopt;
    if (before(check.expected) != before(check.actual)) return std::nullopt;
    DerivedError largest;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const DerivedError one = difference(expected[i], actual[i], 1, false);
      largest.error = std::max(largest.error, one.error);
      largest.rounding = std::max(largest.rounding, one.rounding);
    }
    return largest;
  }

  /// The least norm that counts: a share of the norm of all checks that fit `pattern`.
  double floor_of(const QuantityRule& rule, const std::string& pattern) const {
    const double share = at_precision(rule.floor, precision_);
    if (share == 0) return 0;
    double squares = 0;
    for (const Check& check : quality_.checks) {
      if (!fits(pattern, check.name)) continue;
      const double norm = leading_number(check.expected).value_or(0);
      squares += norm * norm;
    }
    return share * std::sqrt(squares);
  }

  /// No value is larger than the norm of all of them. The norm of NAME.samples is that of NAME.l2.
  double norm_behind(const QuantityRule& rule, const Check& check) const {
    const auto norm_of = [](const std::string& name) {
      return name.substr(0, name.rfind('.')) + ".l2";
    };
    const std::string name = norm_of(check.name);
    const auto norm = std::find_if(quality_.checks.begin(), quality_.checks.end(),
                                   [&](const Check& other) { return other.name == name; });
    const double own =
        norm == quality_.checks.end() ? 0 : leading_number(norm->expected).value_or(0);
    return std::max(own, floor_of(rule, norm_of(rule.name)));
  }

  const QualityChecks& rules_;
  const Quality& quality_;
  const std::string& precision_;
  const json& document_;
  std::string path_;
  std::vector<Violation> violations_;
};

std::map<std::string, double> by_precision(const json& object, const char* key) {
  return object.value(key, std::map<std::string, double>());
}

ErrorMeasure measure_from(const std::string& text) {
  if (text == "absolute") return ErrorMeasure::kAbsolute;
  if (text == "relative") return ErrorMeasure::kRelative;
  if (text == "over-one-plus") return ErrorMeasure::kOverOnePlus;
  if (text == "boxes") return ErrorMeasure::kBoxes;
  return text == "at-least-relative" ? ErrorMeasure::kAtLeastRelative
                                     : ErrorMeasure::kAtLeastOfNorm;
}

QuantityRule quantity_from(const json& object) {
  QuantityRule rule;
  rule.name = object.at("name");
  rule.count = object.value("count", json());
  rule.missing = by_precision(object, "missing");
  rule.one_of_many = object.value("one_of_many", false);
  rule.error = measure_from(object.at("error"));
  rule.floor = by_precision(object, "floor");
  for (const auto& [precision, value] : object.at("tolerance").items()) {
    const bool range = value.is_array();
    rule.tolerance[precision] = {range ? value.at(0) : value, range ? value.at(1) : value};
  }
  return rule;
}

CheckRules read_check_rules(const std::filesystem::path& home) {
  const std::filesystem::path folder = home / "rules";
  const json document =
      read_rules_document(folder / "checks.json", folder / "checks.schema.json").document;
  CheckRules rules;
  rules.samples_per_step =
      document.at("samples_per_step").get<std::map<std::string, std::string>>();
  for (const json& object : document.at("qualities")) {
    QualityChecks& checks = rules.qualities.emplace_back();
    checks.metric = object.at("metric");
    checks.workloads = object.at("workloads").get<std::vector<std::string>>();
    checks.relative_rounding = object.at("rounding").value("relative", 0.0);
    checks.absolute_rounding = object.at("rounding").value("absolute", 0.0);
    if (object.contains("expected_sha256")) checks.expected_sha256 = object.at("expected_sha256");
    for (const json& quantity : object.at("quantities")) {
      checks.quantities.push_back(quantity_from(quantity));
    }
  }
  return rules;
}

bool is_of(const QualityChecks& checks, const std::string& workload, const std::string& metric) {
  const auto& names = checks.workloads;
  return checks.metric == metric && std::find(names.begin(), names.end(), workload) != names.end();
}

bool knows(const QualityChecks& checks, const std::string& precision) {
  return std::all_of(checks.quantities.begin(), checks.quantities.end(),
                     [&](const QuantityRule& rule) { return rule.tolerance.contains(precision); });
}

}  // namespace

const QualityChecks* CheckRules::of(const std::string& workload, const std::string& metric,
                                    const std::string& precision) const {
  const auto found =
      std::find_if(qualities.begin(), qualities.end(), [&](const QualityChecks& checks) {
        return is_of(checks, workload, metric) && knows(checks, precision);
      });
  return found == qualities.end() ? nullptr : &*found;
}

bool CheckRules::has(const std::string& workload, const std::string& metric) const {
  return std::any_of(qualities.begin(), qualities.end(),
                     [&](const QualityChecks& checks) { return is_of(checks, workload, metric); });
}

const CheckRules& load_check_rules(const std::filesystem::path& home) {
  static const CheckRules rules = read_check_rules(home);
  return rules;
}

std::vector<Violation> check_checks(const QualityChecks& rules, const Quality& quality,
                                    const std::string& precision, const json& document,
                                    const std::string& path) {
  return Judge(rules, quality, precision, document, path).judge();
}

std::vector<Violation> check_samples_per_step(const CheckRules& rules, const Result& result,
                                              const json& document) {
  const auto pointer = rules.samples_per_step.find(result.rules.workload);
  if (pointer == rules.samples_per_step.end()) return {};
  std::optional<double> samples = number_at(document, pointer->second);
  if (!samples) return {};
  if (result.world) *samples *= static_cast<double>(result.world->ranks);
  std::vector<Violation> violations;
  const auto same = [&](double a) { return std::abs(a - *samples) <= kSlack * *samples; };
  const Metric* step = find_metric(result.metrics, "time.step");
  for (std::size_t i = 0; i < result.metrics.size() && step != nullptr; ++i) {
    const Metric& rate = result.metrics[i];
    if (rate.tag != "throughput.samples") continue;
    for (std::size_t k = 0; k < std::min(rate.samples.size(), step->samples.size()); ++k) {
      if (!rate.samples[k].value || !step->samples[k].value) continue;
      const double consumed = *rate.samples[k].value * *step->samples[k].value;
      if (same(consumed)) continue;
      violations.push_back(
          {"samples-per-step", fmt::format("/metrics/{}/samples/{}/value", i, k),
           fmt::format("{} samples ({}) over the step time", *samples, pointer->second),
           fmt::format("{:.9g}", consumed), ""});
      break;  // the others are most likely wrong by the same factor
    }
  }
  if (result.training && result.training->steps > 0 &&
      !same(static_cast<double>(result.training->samples) /
            static_cast<double>(result.training->steps))) {
    violations.push_back(
        {"samples-per-step", "/training/samples",
         fmt::format("{:.15g}", *samples * static_cast<double>(result.training->steps)),
         std::to_string(result.training->samples), ""});
  }
  return violations;
}

}  // namespace harness
