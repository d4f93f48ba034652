#include "harness/measure/samples_file.hpp"

#include <cmath>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

json numbers(const std::map<std::string, double>& values) {
  json object = json::object();
  for (const auto& [name, value] : values) object[name] = finite_or_null(value);
  return object;
}

}  // namespace

SamplesFile::SamplesFile(const std::filesystem::path& path, const json& header)
    : file_(path, "a sample") {
  json line = header;
  line["event"] = "start";
  try {
    append(line);
  } catch (const Error&) {
    file_.discard();
    throw;
  }
}

SamplesFile::SamplesFile(const std::filesystem::path& path, const WrittenLines& known)
    : file_(path, "a sample", known), sampled_(true) {}

SamplesFile::~SamplesFile() {
  if (!sampled_) file_.discard();
}

void SamplesFile::append(const json& line) {
  file_.append(line.dump(-1, ' ', true, json::error_handler_t::replace));
}

void SamplesFile::step(const StepRecord& record) {
  json line = {{"event", "step"},
               {"step", record.step},
               {"warmup", record.warmup},
               {"seconds", finite_or_null(record.seconds)},
               {"elapsed", finite_or_null(record.elapsed)},
               {"samples", record.samples},
               {"phases", numbers(record.phases)},
               {"losses", numbers(record.losses)}};
  if (!record.stages.empty()) line["stages"] = numbers(record.stages);
  if (record.epoch > 0) line["epoch"] = record.epoch;
  append(line);
  sampled_ = true;
}

void SamplesFile::dropped(std::int64_t first, const std::string& why) {
  append({{"event", "dropped"}, {"first", first}, {"why", why}});
}

void SamplesFile::add(const json& line) {
  append(line);
  sampled_ = true;
}

void SamplesFile::evaluated(const Quality& quality, const EvaluationPoint& at) {
  json line = {{"event", "evaluated"},
               {"metric", quality.metric},
               {"value", quality.value ? json(*quality.value) : json()}};
  if (at.epoch > 0) {
    line["epoch"] = at.epoch;
    line["samples"] = at.samples;
  }
  append(line);
}

void SamplesFile::resumed(const Resumption& where) {
  append({{"event", "resumed"}, {"epoch", where.epoch}, {"steps", where.steps}, {"at", where.at}});
}

void SamplesFile::finished() {
  append({{"event", "finished"}, {"at", utc_now()}});
  file_.sync();
}

}  // namespace harness
