// The result as JSON, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/result/result.hpp"

namespace harness {

/// The document of results/schema/run.schema.json without its digest. A value that is missing
/// becomes null, with the reason in the member `reason` beside it or under its name in `missing`.
/// Text that is not UTF-8 or too long for the schema is mended, so that no run is lost for it.
/// Throws std::logic_error, naming the place, for a number that is not finite or an integer beyond
/// +-(2^53 - 1): whoever filled the result should have left it out, with a reason.
nlohmann::json to_json(const Result& result);
/// The result in a document that fits the schema. Throws Error for one that does not.
Result result_from_json(const nlohmann::json& document);

/// One entry of `metrics`.
nlohmann::json metric_json(const Metric& metric);
Metric metric_from_json(const nlohmann::json& object);
/// One entry of `training.resumed`.
nlohmann::json resumption_json(const Resumption& resumption);
Resumption resumption_from_json(const nlohmann::json& object);

}  // namespace harness
