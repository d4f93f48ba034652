// A result file from anybody: judged, shown, redacted, put in its place.
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/kinds/kinds.hpp"
#include "harness/report/shown_kind.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/redact.hpp"
#include "harness/result/submission.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace harness {
namespace {

using nlohmann::json;

json parsed(std::string_view bytes) {
  JsonLimits limits;
  limits.exact_integers = true;
  return parse_json(bytes, "input", limits);
}

/// A file that is believed can be shown and shared.
void use(const CheckedFile& checked, json document) {
  const ResultCommon& result = *checked.report.result;
  const ShownKind* kind = shown_kind_of(result);
  kind->summary(result, 100);
  kind->table(result);
  const auto place = submission_path(result);
  promise(place.is_relative() && std::distance(place.begin(), place.end()) == 2,
          "a place outside of the tree");
  const PrivateNames names = {{"/home/alice"}, {"/src/harness"}, {"alice"}, {"node7"}, {}};
  redact(document, names);
  promise(redact(document, names).empty(), "redacting twice changes more than once does");
  document["digest"] = digest_of(document);
  promise(digest_of(parsed(readable_json(document))) == document["digest"].get<std::string>(),
          "what is written is not what is read");
}

}  // namespace

void fuzz_result(std::string_view bytes) {
  register_result_kinds();
  json document;
  try {
    document = parsed(bytes);
  } catch (const Error& error) {
    promise_printable(error.what());
    return;
  }
  // One that fits: nothing behind the digest would be reached otherwise.
  if (document.is_object()) document["digest"] = digest_of(document);
  const CheckedFile checked = check_result("input", document);
  promise_printable(checked.report.summary);
  for (const SchemaProblem& problem : checked.report.problems) {
    promise_printable(problem.path);
    promise_printable(problem.reason);
  }
  if (checked.report.problems.empty()) use(checked, std::move(document));
}

}  // namespace harness
