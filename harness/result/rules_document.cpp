#include "harness/result/rules_document.hpp"

#include <fmt/format.h>

#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/schema.hpp"

namespace harness {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

}  // namespace

RulesDocument read_rules_document(const std::filesystem::path& file,
                                  const std::filesystem::path& schema) {
  const std::string text = read_file(file, kLargestFile);
  RulesDocument rules{parse_json(text, file.string()), sha256_hex(text)};
  const std::vector<SchemaProblem> problems = validate_schema(rules.document, schema);
  if (problems.empty()) return rules;
  const SchemaProblem& first = problems.front();
  throw Error(
      printable(file.string()),
      fmt::format("breaks rules/{} at {}: {}", schema.filename().string(),
                  first.path.empty() ? "/" : printable(first.path), printable(first.reason, 400)),
      kMendRules);
}

}  // namespace harness
