// The members of a record by their names in a file, said once for both ways. What may be missing,
// or has another form in the file, stands beside such a table.
#pragma once

#include <nlohmann/json.hpp>
#include <tuple>

namespace harness {

template <class Record, class Value>
struct JsonField {
  constexpr JsonField(const char* name, Value Record::*where) : key(name), member(where) {}
  const char* key;
  Value Record::*member;
};

template <class Record, class... Values>
class JsonFields {
 public:
  constexpr explicit JsonFields(JsonField<Record, Values>... fields) : fields_(fields...) {}

  /// `object` with these members of `record`.
  nlohmann::json put(const Record& record, nlohmann::json object = nlohmann::json::object()) const {
    const auto put_one = [&](const auto& field) { object[field.key] = record.*field.member; };
    std::apply([&](const auto&... field) { (put_one(field), ...); }, fields_);
    return object;
  }

  /// Throw nlohmann's exceptions for a member that is missing or of another type.
  void take(const nlohmann::json& object, Record& record) const {
    const auto take_one = [&](const auto& field) {
      object.at(field.key).get_to(record.*field.member);
    };
    std::apply([&](const auto&... field) { (take_one(field), ...); }, fields_);
  }
  Record take(const nlohmann::json& object) const {
    Record record;
    take(object, record);
    return record;
  }

 private:
  std::tuple<JsonField<Record, Values>...> fields_;
};

}  // namespace harness
