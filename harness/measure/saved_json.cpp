#include "harness/measure/saved_json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/result_common.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kHash = "sha256";
/// Metrics of 100,000 epochs are some 100 MB; nobody has as many.
constexpr std::size_t kLargest = std::size_t{64} << 20;

std::string text_of(const json& document) {
  return document.dump(-1, ' ', true, json::error_handler_t::replace);
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(printable(path.string()), why, kStartAnew);
}

/// Null for a text that is no JSON: the reader's words are for people who wrote a file themselves.
json parsed(const std::string& text) {
  try {
    return parse_json(text, "");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void write_saved_json(const fs::path& path, json document) {
  document[kHash] = sha256_hex(text_of(document));
  write_file_atomically(path, text_of(document) + "\n");
}

json read_saved_json(const fs::path& path, const std::string& format) {
  const std::string text = read_file(path, kLargest);
  json document = parsed(text);
  if (!document.is_object()) {
    refuse(path, text.empty() ? "is damaged: it is empty" : "is damaged: it is no whole JSON file");
  }
  const std::string found = text_member(document, "format");
  if (found != format) {
    refuse(path, "has the format '" + printable(found, 60) + "', this program reads " + format);
  }
  const std::string hash = text_member(document, kHash);
  document.erase(kHash);
  if (sha256_hex(text_of(document)) != hash) {
    refuse(path, "is damaged: it was changed since the run wrote it");
  }
  return document;
}

void take_saved(const fs::path& path, const std::function<void()>& read) {
  try {
    read();
  } catch (const json::exception&) {
    refuse(path, "is damaged: a value is missing, or is not what belongs there");
  } catch (const std::out_of_range& error) {
    refuse(path, std::string("is damaged: ") + error.what());
  }
}

}  // namespace harness
