#include "harness/base/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestExactInteger = (std::uint64_t{1} << 53) - 1;

// The parser tells its position only in errors of its own. Ours need one too, so it reads through
// an iterator that leaves its position behind for us.
class TrackingIterator {
 public:
  struct Reached {
    const char* at = nullptr;
    bool end = false;  ///< the parser wanted more than there is
  };

  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackingIterator(const char* at, Reached* reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TrackingIterator& operator++() {
    reached_->at = ++at_;
    return *this;
  }
  TrackingIterator operator++(int) {
    const TrackingIterator before = *this;
    ++*this;
    return before;
  }
  /// The parser asks it for the end alone: who is there wanted to read on.
  bool operator==(const TrackingIterator& other) const {
    reached_->end = at_ == other.at_;
    return reached_->end;
  }

 private:
  const char* at_;
  Reached* reached_;
};

// Builds the document from the parser's events. The parser itself keeps its state in a vector, so
// neither it nor this class recurses; every refusal returns false, which ends the parsing.
class Builder {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  json& root() { return root_; }
  const std::string& trouble() const { return trouble_; }
  bool syntax_error() const { return syntax_error_; }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) {
    return value >= -static_cast<std::int64_t>(kLargestExactInteger) || !limits_.exact_integers
               ? add(value)
               : refuse(inexact(std::to_string(value)));
  }
  bool number_unsigned(std::uint64_t value) {
    return value <= kLargestExactInteger || !limits_.exact_integers
               ? add(value)
               : refuse(inexact(std::to_string(value)));
  }
  bool number_float(double value, const std::string& text) {
    // An integer too long for 64 bits arrives here, rounded.
    if (text.find_first_of(".eE") == std::string::npos) return refuse(inexact(text));
    return add(value);
  }
  bool string(std::string& value) { return short_enough(value) && add(std::move(value)); }
  bool binary(json::binary_t&) { return refuse("binary data"); }

  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& value) {
    if (!short_enough(value)) return false;
    if (open_.back()->contains(value)) {
      return refuse("the key \"" + printable(value, 60) + "\" is there twice in one object");
    }
    key_ = std::move(value);
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const json::exception& error) {
    // No mistake in the syntax: no double holds the number.
    if (dynamic_cast<const json::out_of_range*>(&error) != nullptr) {
      return refuse("the number " + printable(token, 40) + " is too large");
    }
    syntax_error_ = true;
    // The library's text carries an id and a position before what is wrong; ours stands there.
    const std::string text = error.what();
    const std::size_t start = text.find("parse error");
    const std::size_t colon = text.find(": ", start == std::string::npos ? 0 : start);
    return refuse(printable(colon == std::string::npos ? text : text.substr(colon + 2), 160));
  }

 private:
  static std::string inexact(const std::string& text) {
    return "the integer " + printable(text, 40) + " is too large to be exact";
  }

  bool refuse(std::string trouble) {
    trouble_ = std::move(trouble);
    return false;
  }

  bool short_enough(const std::string& text) {
    return text.size() <= limits_.string_bytes ||
           refuse(fmt::format("a string of {} bytes, over the limit of {}", text.size(),
                              limits_.string_bytes));
  }

  bool add(json&& value) { return place(std::move(value)) != nullptr; }

  json* place(json&& value) {
    if (++values_ > limits_.values) {
      refuse(fmt::format("more than {} values", limits_.values));
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }

  bool open(json&& container) {
    if (open_.size() >= limits_.depth) {
      return refuse(fmt::format("nested more than {} deep", limits_.depth));
    }
    json* placed = place(std::move(container));
    if (placed == nullptr) return false;
    // Stable: a container on this stack gets no sibling before it is closed.
    open_.push_back(placed);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  json root_;
  std::vector<json*> open_;
  std::string key_;
  std::size_t values_ = 0;
  std::string trouble_;
  bool syntax_error_ = false;
};

std::string position_text(std::string_view before) {
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

}  // namespace

json parse_json(std::string_view text, const std::string& name, const JsonLimits& limits) {
  if (text.size() > limits.file_bytes) {
    throw Error(printable(name),
                fmt::format("{} bytes are over the limit of {}", text.size(), limits.file_bytes));
  }
  // The parser takes it for the end of the text, whatever follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw Error(printable(name),
                "not JSON at " + position_text(text.substr(0, nul + 1)) + ": a NUL byte");
  }
  Builder builder(limits);
  TrackingIterator::Reached reached{text.data()};
  const char* end = text.data() + text.size();
  if (!json::sax_parse(TrackingIterator(text.data(), &reached), TrackingIterator(end, &reached),
                       &builder)) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      throw Error(printable(name), "is empty");
    }
    const std::string_view before =
        text.substr(0, static_cast<std::size_t>(reached.at - text.data()));
    // A copy that broke off, or a full disk. Behind a number the parser always looks one further.
    const bool cut_off = builder.syntax_error() && reached.end &&
                         builder.trouble().find("unexpected number literal") == std::string::npos;
    throw Error(printable(name), (builder.syntax_error() ? "not JSON at " : "refused at ") +
                                     position_text(before) + ": " +
                                     (cut_off ? "it is cut off there" : builder.trouble()));
  }
  return std::move(builder.root());
}

json read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json(read_file(path, limits.file_bytes), path.string(), limits);
}

}  // namespace harness
