#include "harness/profile/verbose_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::string_view kMarker = "onednn_verbose,";
// Eleven days: no primitive takes longer, and sums of such times stay numbers.
constexpr double kLongestMilliseconds = 1e9;
constexpr std::string_view kTemplate = "template:";
constexpr std::string_view kCreatedFrom = "create:cache_";

[[noreturn]] void unreadable(const std::string& why) { throw std::invalid_argument(why); }

/// Takes the first field off.
std::string take(std::vector<std::string>& fields) {
  if (fields.empty()) unreadable("it ends too soon");
  std::string first = std::move(fields.front());
  fields.erase(fields.begin());
  return first;
}

bool is_timestamp(const std::string& field) {
  return !field.empty() && std::isdigit(static_cast<unsigned char>(field[0])) != 0 &&
         parse_number(field).has_value();
}

void read_primitive(const std::vector<std::string>& fields, const VerboseTemplate& columns,
                    VerboseLine& line) {
  // The template names the event (`operation`) and the timestamp too, which are taken off by now.
  VerboseTemplate rest;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(rest),
               [](const std::string& name) { return name != "operation" && name != "timestamp"; });
  if (fields.size() != rest.size()) {
    unreadable("it has " + std::to_string(fields.size()) + " columns, not " +
               std::to_string(rest.size()));
  }
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string& name = rest[i];
    const std::string& value = fields[i];
    Primitive& primitive = line.primitive;
    if (name == "primitive") primitive.kind = value;
    if (name == "implementation") primitive.implementation = value;
    if (name == "prop_kind") primitive.direction = value;
    if (name == "memory_descriptors") primitive.tensors = parse_tensors(value);
    if (name == "attributes") primitive.attributes = value;
    if (name == "auxiliary") primitive.auxiliary = value;
    if (name == "problem_desc") primitive.problem = value;
    if (name != "exec_time") continue;
    const auto time = parse_number(value);
    if (!time || *time < 0 || *time > kLongestMilliseconds)
      unreadable("'" + printable(value, 30) + "' is no time");
    primitive.milliseconds = *time;
  }
}

constexpr std::array<std::string_view, 12> kTypes = {
    "undef", "f64", "f32", "bf16", "f16", "s32", "s8", "u8", "s4", "f8_e5m2", "u4", "f8_e4m3"};

/// "src_f32" -> src, f32.
std::pair<std::string, std::string> split_name(const std::string& text) {
  for (const std::string_view type : kTypes) {
    if (text.size() > type.size() && text.ends_with(type) &&
        text[text.size() - type.size() - 1] == '_') {
      return {text.substr(0, text.size() - type.size() - 1), std::string(type)};
    }
  }
  const std::size_t cut = text.rfind('_');
  if (cut == std::string::npos) return {text, ""};
  return {text.substr(0, cut), text.substr(cut + 1)};
}

}  // namespace

const VerboseTemplate& default_verbose_template() {
  static const VerboseTemplate columns = {
      "operation",          "engine",     "primitive", "implementation", "prop_kind",
      "memory_descriptors", "attributes", "auxiliary", "problem_desc",   "exec_time"};
  return columns;
}

std::optional<VerboseTemplate> template_in(const VerboseLine& line) {
  if (line.event != VerboseEvent::kInfo || line.info.empty()) return std::nullopt;
  // Graphs have a template of their own, which is passed over with their events.
  const std::size_t at = line.info[0].find(kTemplate);
  if (at == std::string::npos || line.info[0].starts_with("graph")) return std::nullopt;
  VerboseTemplate columns = line.info;
  columns[0].erase(0, at + kTemplate.size());
  return columns;
}

std::vector<TensorLayout> parse_tensors(std::string_view text) {
  std::vector<TensorLayout> tensors;
  for (const std::string& word : split(text, ' ')) {
    if (word.empty()) continue;
    std::vector<std::string> parts = split(word, ':');
    TensorLayout tensor;
    std::size_t next = 1;
    if (parts.size() > 1 && std::find(kTypes.begin(), kTypes.end(), parts[1]) != kTypes.end()) {
      tensor.name = parts[0];
      tensor.type = parts[next++];
    } else {
      std::tie(tensor.name, tensor.type) = split_name(parts[0]);
    }
    // ...:[a]:[p][o]:blocked:TAG:...; what stands before the kind of format are flags.
    if (parts.size() > next) {
      tensor.chosen_by_library = parts[next].find('a') != std::string::npos;
    }
    if (parts.size() > next + 2 && parts[next + 1] != "undef") tensor.layout = parts[next + 2];
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

namespace {

/// What stands before the columns; the rest stays in `fields`. Empty for a line without the marker.
std::optional<VerboseLine> take_head(std::string_view text, std::vector<std::string>& fields,
                                     std::string& event) {
  // The last marker: what a torn line left before it belongs to none.
  const std::size_t at = text.rfind(kMarker);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view whole = text.substr(at + kMarker.size());
  while (!whole.empty() && (whole.back() == '\n' || whole.back() == '\r')) whole.remove_suffix(1);
  fields = split(whole, ',');

  VerboseLine line;
  if (fields[0] == "v0" || fields[0] == "v1") line.form = take(fields);
  const auto take_timestamp = [&] {
    if (!fields.empty() && is_timestamp(fields[0])) line.timestamp = parse_number(take(fields));
  };
  take_timestamp();
  event = take(fields);
  if (event == "primitive" || event == "common") {
    line.names_component = true;
    take_timestamp();
    event = take(fields);
  }
  if (event == "info") {
    line.event = VerboseEvent::kInfo;
  } else if (event == "exec") {
    line.event = VerboseEvent::kExecuted;
  } else if (event == "create" || event.starts_with(kCreatedFrom)) {
    line.event = VerboseEvent::kCreated;
  }
  return line;
}

}  // namespace

std::optional<VerboseLine> parse_verbose_head(std::string_view text) {
  std::vector<std::string> fields;
  std::string event;
  return take_head(text, fields, event);
}

std::optional<VerboseLine> parse_verbose_line(std::string_view text,
                                              const VerboseTemplate& columns) {
  std::vector<std::string> fields;
  std::string event;
  std::optional<VerboseLine> line = take_head(text, fields, event);
  if (!line) return line;
  if (line->event == VerboseEvent::kInfo) {
    line->info = std::move(fields);
    return line;
  }
  if (line->event == VerboseEvent::kOther) return line;
  // 2.x and 3.x say where from behind a colon.
  if (event.starts_with(kCreatedFrom)) line->cache = event.substr(event.find(':') + 1);
  read_primitive(fields, columns, *line);
  return line;
}

}  // namespace harness
