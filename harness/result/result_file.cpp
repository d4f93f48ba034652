#include "harness/result/result_file.hpp"

#include <stdexcept>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/kind.hpp"
#include "harness/result/schema.hpp"
#include "harness/result/validate.hpp"

namespace harness {

namespace {

nlohmann::json signed_document(const ResultCommon& result) {
  nlohmann::json document = kind_of(result).document_of(result);
  document["digest"] = digest_of(document);
  return document;
}

}  // namespace

std::string content_as_read(const ResultCommon& result) {
  return readable_json(signed_document(result));
}

std::string content_of_file(const ResultCommon& result) {
  const nlohmann::json document = signed_document(result);
  const std::vector<SchemaProblem> problems = validate_schema(document, kind_of(result).schema());
  if (!problems.empty()) {
    throw std::logic_error("the result breaks its own schema at " + problems.front().path + ": " +
                           problems.front().reason);
  }
  return readable_json(document);
}

void write_result_file(const ResultCommon& result, const std::filesystem::path& path) {
  write_file_atomically(path, content_of_file(result));
}

Result read_result_file(const std::filesystem::path& path) {
  ValidationReport report = validate_result_file(path);
  if (report.problems.empty() && report.as<Result>() != nullptr) return report.take<Result>();
  if (report.problems.empty()) {
    throw Error(printable(path.string()), "is no run, but a result of another kind",
                "give the result of a 'harness run'");
  }
  const SchemaProblem& first = report.problems.front();
  throw Error(printable(path.string()),
              (first.path.empty() ? "" : first.path + ": ") + first.reason,
              "harness validate FILE names every problem", report.problems_code);
}

}  // namespace harness
