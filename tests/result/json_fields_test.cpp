// One table of a record's members for both ways.
#include "harness/result/json_fields.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace harness {
namespace {

using nlohmann::json;

struct Record {
  std::string name{};
  double seconds = 0;
  std::vector<double> samples{};
};

constexpr JsonFields kRecord(JsonField("title", &Record::name),
                             JsonField("seconds", &Record::seconds),
                             JsonField("samples", &Record::samples));

}  // namespace

TEST_CASE("a record is written beside what is there, and read back", "[json]") {
  const Record record{"a", 1.5, {1, 2}};
  const json object = kRecord.put(record, {{"kind", "x"}});
  CHECK(object == json{{"kind", "x"}, {"title", "a"}, {"seconds", 1.5}, {"samples", {1.0, 2.0}}});
  const Record back = kRecord.take(object);
  CHECK(back.name == record.name);
  CHECK(back.seconds == record.seconds);
  CHECK(back.samples == record.samples);
}

TEST_CASE("a member that is missing or of another type is refused", "[json]") {
  json object = kRecord.put({});
  object["seconds"] = "long";
  CHECK_THROWS_AS(kRecord.take(object), json::exception);
  object.erase("seconds");
  CHECK_THROWS_AS(kRecord.take(object), json::exception);
}

}  // namespace harness
