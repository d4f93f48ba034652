// A kind of result of its own: several values and their geometric mean.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/check/judged_kind.hpp"
#include "harness/report/page/html_facts.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/report/text/result_tables.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/kind.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

constexpr const char* kVersion = "1.0.0";

struct ScoreItem {
  std::string name{};
  double value = 0;  ///< above 0
};

struct Score : ResultCommon {
  std::vector<ScoreItem> items{};
  double score = 0;  ///< their geometric mean
};

double mean_of(const std::vector<ScoreItem>& items) {
  double sum = 0;
  for (const ScoreItem& item : items) sum += std::log(item.value);
  return std::exp(sum / static_cast<double>(items.size()));
}

class ScoreKind : public ResultKindOf<Score>, public JudgedKind, public ShownKind {
 public:
  ScoreKind() : ResultKindOf("score", kVersion) {}

  std::filesystem::path schema() const override {
    return HARNESS_SOURCE_DIR "/tests/added/score.schema.json";
  }
  json document_of(const ResultCommon& result) const override {
    json document = common_json(result, "score", kVersion);
    document["items"] = json::array();
    for (const ScoreItem& item : of(result).items) {
      document["items"].push_back({{"name", item.name}, {"value", item.value}});
    }
    document["score"] = of(result).score;
    clean_for_result(document);
    return document;
  }
  std::unique_ptr<ResultCommon> read(const json& document) const override {
    auto score = std::make_unique<Score>();
    read_common(document, *score);
    for (const json& item : document.at("items")) {
      score->items.push_back({item.at("name"), item.at("value")});
    }
    score->score = document.at("score");
    return score;
  }
  std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                             const json& document) const override {
    ProblemList problems;
    check_common(result, document, problems);
    problems.expect_same("/score", of(result).score, mean_of(of(result).items));
    return problems.take();
  }

  std::vector<PlacedKernels> kernels(const ResultCommon& /*result*/) const override { return {}; }
  std::vector<PlacedQuality> qualities(const ResultCommon& /*result*/) const override { return {}; }
  std::vector<Constraint> closed(const Rules& /*rules*/,
                                 const ResultCommon& /*result*/) const override {
    return {};
  }
  std::vector<Violation> broken_rules(const Rules& /*rules*/, const ResultCommon& result,
                                      const json& /*document*/) const override {
    if (of(result).items.size() >= 2) return {};
    return {{"score-items", "/items", "at least 2", std::to_string(of(result).items.size()), ""}};
  }

  std::string plural() const override { return "scores"; }
  std::string summary(const ResultCommon& result, std::size_t /*columns*/) const override {
    return fmt::format("score {:.4g}\n", of(result).score);
  }
  std::string table(const ResultCommon& result) const override {
    CsvTable table = metric_table();
    add_rows(table, result, true);
    return table.text();
  }
  void add_rows(CsvTable& table, const ResultCommon& result, bool sound) const override {
    CsvRow metric(metric_columns().size());
    metric.front() = "score";
    metric.at(4) = csv_number(of(result).score);
    table.add(
        joined({metric, CsvRow(stack_columns().size()), identity_row(result, name(), sound)}));
  }
  ReportLine line(const ResultCommon& result, const ReportFile& file) const override {
    ReportLine line = common_line(result, file);
    line.stack = "score";
    line.headline = {"score", fmt::format("{:.4g}", of(result).score), of(result).score};
    line.quality = "-";
    return line;
  }
  PageSection section(const ReportItem& item, const std::string& id) const override {
    PageSection section{.id = id, .title = "Score of " + line_of(item).workload};
    section.facts = common_facts(*item.result, item.file);
    for (const ScoreItem& one : as<Score>(item).items) {
      section.facts.push_back({printable(one.name), fmt::format("{:.4g}", one.value)});
    }
    return section;
  }
};

[[maybe_unused]] const bool registered = [] {
  register_result_kind(std::make_unique<ScoreKind>());
  return true;
}();

}  // namespace
