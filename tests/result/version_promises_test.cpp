// What a file of its version has to hold, and an older one need not.
#include "harness/result/version_promises.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "harness/result/digest.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/validate.hpp"
#include "tests/support/problem_names.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

json without(const char* version) {
  json document = to_json(sample_result());
  document.at("peaks").at(0).erase("bound");
  document.at("metrics").at(1).at("summary").erase("quartiles");
  document["schema_version"] = version;
  document["digest"] = digest_of(document);
  return document;
}

}  // namespace

TEST_CASE("a file holds what its version promises", "[validate]") {
  const json sound = to_json(sample_result());
  CHECK(broken_promises(sound).empty());
  const ValidationReport report = validate_result(without(kResultSchemaVersion));
  CHECK(report.code == ExitCode::kInvalid);
  CHECK(names(report, "/peaks/0/bound", "missing, which goes with 'value'"));
  CHECK(names(report, "/metrics/1/summary/quartiles", "missing, which goes with 'median'"));
  // Each since its own version.
  CHECK(broken_promises(without("1.7.3")).size() == 2);
  REQUIRE(broken_promises(without("1.6.0")).size() == 1);
  CHECK(broken_promises(without("1.6.0")).front().path == "/peaks/0/bound");
  CHECK(broken_promises(without("1.5.0")).empty());
}
