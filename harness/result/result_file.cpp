#include "harness/result/result_file.hpp"

#include <stdexcept>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/result/ablation_json.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/profile_json.hpp"
#include "harness/result/result_json.hpp"
#include "harness/result/schema.hpp"
#include "harness/result/validate.hpp"

namespace harness {

namespace {

nlohmann::json signed_document(nlohmann::json document) {
  document["digest"] = digest_of(document);
  return document;
}

std::string write_document(nlohmann::json unsigned_document, const char* kind,
                           const std::filesystem::path& path) {
  const nlohmann::json document = signed_document(std::move(unsigned_document));
  const std::vector<SchemaProblem> problems = validate_schema(document, result_schema_path(kind));
  if (!problems.empty()) {
    throw std::logic_error("the result breaks its own schema at " + problems.front().path + ": " +
                           problems.front().reason);
  }
  write_file_atomically(path, readable_json(document));
  return document["digest"];
}

}  // namespace

std::string write_result_file(const Result& result, const std::filesystem::path& path) {
  return write_document(to_json(result), "run", path);
}

std::string write_result_file(const Profile& profile, const std::filesystem::path& path) {
  return write_document(to_json(profile), "profile", path);
}

std::string write_result_file(const Ablation& ablation, const std::filesystem::path& path) {
  return write_document(to_json(ablation), "ablation", path);
}

std::string content_of_file(const Result& result) {
  return readable_json(signed_document(to_json(result)));
}

std::string content_of_file(const Ablation& ablation) {
  return readable_json(signed_document(to_json(ablation)));
}

Result read_result_file(const std::filesystem::path& path) {
  ValidationReport report = validate_result_file(path);
  if (report.problems.empty() && report.result) return std::move(*report.result);
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
