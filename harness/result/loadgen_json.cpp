#include "harness/result/loadgen_json.hpp"

#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kFigure(JsonField("tag", &LoadGenFigure::tag),
                             JsonField("unit", &LoadGenFigure::unit),
                             JsonField("value", &LoadGenFigure::value));
constexpr JsonFields kPercentile(JsonField("percentile", &LatencyPercentile::percentile),
                                 JsonField("seconds", &LatencyPercentile::seconds));
constexpr JsonFields kProbe(JsonField("rate", &ServerProbe::rate),
                            JsonField("latency", &ServerProbe::latency),
                            JsonField("met", &ServerProbe::met));
constexpr JsonFields kRepeated(JsonField("why", &RepeatedTest::why),
                               JsonField("logs", &RepeatedTest::logs));
constexpr JsonFields kFile(JsonField("file", &FileHash::file),
                           JsonField("sha256", &FileHash::sha256));
constexpr JsonFields kReport(JsonField("version", &LoadGenReport::version),
                             JsonField("sources_sha256", &LoadGenReport::sources_sha256),
                             JsonField("queries", &LoadGenReport::queries),
                             JsonField("seconds", &LoadGenReport::seconds),
                             JsonField("reasons", &LoadGenReport::reasons),
                             JsonField("log", &LoadGenReport::log),
                             JsonField("requested", &LoadGenReport::requested),
                             JsonField("effective", &LoadGenReport::effective));

constexpr const char* kValid = "valid";
constexpr const char* kInvalid = "invalid";

/// Only bins that hold something: [bin, count].
json histogram_json(const LatencyHistogram& histogram) {
  json bins = json::array();
  for (std::size_t bin = 0; bin < LatencyHistogram::kBins; ++bin) {
    if (const std::int64_t count = histogram.counts()[bin]; count > 0) {
      bins.push_back({bin, count});
    }
  }
  return {{"lowest", LatencyHistogram::kLowest},
          {"per_decade", LatencyHistogram::kPerDecade},
          {"bins", std::move(bins)}};
}

}  // namespace

json loadgen_json(const LoadGenReport& report) {
  json object = kReport.put(report);
  object["validity"] = report.valid ? kValid : kInvalid;
  if (!report.audit.empty()) object["audit"] = report.audit;
  object["figure"] = kFigure.put(report.figure);
  object["percentiles"] = list_json(report.percentiles, kPercentile);
  object["histogram"] = histogram_json(report.histogram);
  if (!report.search.empty()) object["search"] = list_json(report.search, kProbe);
  if (!report.repeated.empty()) object["repeated"] = list_json(report.repeated, kRepeated);
  if (report.set_up) object["set_up"] = set_up_json(*report.set_up);
  object["files"] = list_json(report.files, kFile);
  return object;
}

LoadGenReport loadgen_from(const json& object) {
  LoadGenReport report = kReport.take(object);
  report.valid = object.at("validity") == kValid;
  report.audit = object.value("audit", "");
  report.figure = kFigure.take(object.at("figure"));
  report.percentiles = list_from<LatencyPercentile>(object.at("percentiles"), kPercentile);
  for (const json& bin : object.at("histogram").at("bins")) {
    report.histogram.put(bin.at(0).get<std::size_t>(), bin.at(1).get<std::int64_t>());
  }
  if (object.contains("search")) {
    report.search = list_from<ServerProbe>(object.at("search"), kProbe);
  }
  if (object.contains("repeated")) {
    report.repeated = list_from<RepeatedTest>(object.at("repeated"), kRepeated);
  }
  if (object.contains("set_up")) report.set_up = set_up_from(object.at("set_up"));
  report.files = list_from<FileHash>(object.at("files"), kFile);
  return report;
}

}  // namespace harness
