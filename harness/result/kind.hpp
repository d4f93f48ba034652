// The kinds of result files, an object each. What other rooms do with a kind (hold it to rules,
// show it) is an interface of theirs that the same object has, if it can be had of that kind:
// check/judged_kind.hpp, report/shown_kind.hpp.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/result/schema.hpp"

namespace harness {

class ResultKind {
 public:
  ResultKind(std::string name, std::string version)
      : name_(std::move(name)), version_(std::move(version)) {}
  virtual ~ResultKind() = default;
  ResultKind(const ResultKind&) = delete;
  ResultKind& operator=(const ResultKind&) = delete;

  const std::string& name() const { return name_; }        ///< `kind` in its files
  const std::string& version() const { return version_; }  ///< of its schema, as it is written
  /// results/schema/NAME.schema.json of this program, if the kind does not bring its own.
  virtual std::filesystem::path schema() const { return result_schema_path(name_); }

  virtual bool holds(const ResultCommon& result) const = 0;
  // Of the following, `result` is one that it holds.

  /// Without its digest; cleaned and refused as to_json(const Result&) does.
  virtual nlohmann::json document_of(const ResultCommon& result) const = 0;
  /// `document` fits the schema. Throws Error for what no schema can say.
  virtual std::unique_ptr<ResultCommon> read(const nlohmann::json& document) const = 0;
  /// Where parts of `result` do not agree with each other.
  virtual std::vector<SchemaProblem> inconsistencies(const ResultCommon& result,
                                                     const nlohmann::json& document) const = 0;

 private:
  std::string name_;
  std::string version_;
};

/// A kind whose results are a T.
template <class T>
class ResultKindOf : public ResultKind {
 public:
  using ResultKind::ResultKind;
  bool holds(const ResultCommon& result) const final { return exactly<T>(&result) != nullptr; }

 protected:
  static const T& of(const ResultCommon& result) { return static_cast<const T&>(result); }
};

/// In the order in which they were registered.
const std::vector<std::unique_ptr<ResultKind>>& result_kinds();
/// Their names, with commas.
std::string names_of_kinds();
/// Null for a name that is unknown.
const ResultKind* find_result_kind(std::string_view name);
/// Throws std::logic_error where no kind holds it.
const ResultKind& kind_of(const ResultCommon& result);

/// Throws std::logic_error for a name that is there.
void register_result_kind(std::unique_ptr<ResultKind> kind);

}  // namespace harness
