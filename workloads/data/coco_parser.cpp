#include "workloads/data/coco_parser.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/regular_file.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 32;

/// A file's bytes one at a time; hashes them, reports progress, and bounds a single text, which the
/// JSON lexer would otherwise collect whole.
class ByteSource {
 public:
  ByteSource(const fs::path& path, const Preparation& preparation)
      : name_(printable(path.string())), preparation_(preparation), buffer_(1 << 20), file_(path) {
    fill();
  }

  bool at_end() const { return position_ == size_; }
  char current() const { return buffer_[position_]; }

  void advance() {
    watch(buffer_[position_]);
    if (++position_ == size_) fill();
  }

  /// Of the whole file, once all was read.
  std::string hash() { return sha_.hex(); }
  std::int64_t bytes_read() const { return read_; }
  const std::string& name() const { return name_; }

 private:
  void fill() {
    preparation_.interrupted();
    preparation_.progress("reading annotations (bytes)", read_,
                          static_cast<std::int64_t>(file_.size()));
    position_ = 0;
    size_ = file_.read(buffer_.data(), buffer_.size());
    read_ += static_cast<std::int64_t>(size_);
    sha_.update(buffer_.data(), size_);
  }

  void watch(char c) {
    if (in_text_) {
      if (++text_length_ > kMaxText) throw Error(name_, "holds a text of over 1 MiB");
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_text_ = false;
      }
    } else if (c == '"') {
      in_text_ = true;
      text_length_ = 0;
    } else if ((c >= '0' && c <= '9') || c == '.') {
      if (++digits_ > 4096) throw Error(name_, "holds a number of over 4096 digits");
      return;
    }
    digits_ = 0;
  }

  std::string name_;
  const Preparation& preparation_;
  std::vector<char> buffer_;
  RegularFile file_;
  std::int64_t read_ = 0;
  std::size_t position_ = 0;
  std::size_t size_ = 0;
  Sha256 sha_;
  bool in_text_ = false;
  bool escaped_ = false;
  std::size_t text_length_ = 0;
  std::size_t digits_ = 0;
};

/// What nlohmann's parser wants to read from; the end is the one without a source.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;
  explicit ByteIterator(ByteSource* source) : source_(source) {}
  char operator*() const { return source_->current(); }
  ByteIterator& operator++() {
    source_->advance();
    return *this;
  }
  ByteIterator operator++(int) {
    ByteIterator before = *this;
    source_->advance();
    return before;
  }
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) {
    return a.ended() == b.ended();
  }
  friend bool operator!=(const ByteIterator& a, const ByteIterator& b) { return !(a == b); }

 private:
  bool ended() const { return source_ == nullptr || source_->at_end(); }
  ByteSource* source_ = nullptr;
};

enum class Section { kNone, kImages, kAnnotations, kCategories };

/// Depths: 1 inside the top object, 2 inside a section's array, 3 inside an entry, 4 inside its
/// bbox.
class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Handler(const std::string& name, CocoListener& listener) : name_(name), listener_(listener) {}

  bool null() { return number(std::numeric_limits<double>::quiet_NaN(), std::nullopt); }
  bool boolean(bool value) {
    if (at_member("iscrowd")) entry_.iscrowd = value ? 1 : 0;
    if (in_bbox()) entry_.bbox_size = -1;
    return other();
  }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value), value); }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return number(static_cast<double>(value), std::nullopt);
    }
    return number(static_cast<double>(value), static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    // Python writers may give ids and sizes as 640.0.
    constexpr double kExact = 9007199254740992.0;  // 2^53
    std::optional<std::int64_t> whole;
    if (value >= -kExact && value <= kExact) {
      const auto truncated = static_cast<std::int64_t>(value);
      if (static_cast<double>(truncated) == value) whole = truncated;
    }
    return number(value, whole);
  }
  bool string(string_t& value) {
    if (at_member(section_ == Section::kImages ? "file_name" : "name")) entry_.text = value;
    if (in_bbox()) entry_.bbox_size = -1;
    return other();
  }
  bool binary(binary_t&) { return false; }  // not in JSON text

  bool start_object(std::size_t) {
    if (depth_ == 1) refuse_section("an object");
    if (in_bbox() || at_member("bbox")) entry_.bbox_size = -1;
    enter();
    if (depth_ == 3 && section_ != Section::kNone) {
      entry_ = {};
      in_entry_ = true;
    }
    return true;
  }
  bool key(string_t& value) {
    if (depth_ == 1) {
      section_ = value == "images"        ? Section::kImages
                 : value == "annotations" ? Section::kAnnotations
                 : value == "categories"  ? Section::kCategories
                                          : Section::kNone;
    } else if (in_entry_ && depth_ == 3) {
      member_ = value;
    }
    return true;
  }
  bool end_object() {
    if (in_entry_ && depth_ == 3) {
      in_entry_ = false;
      member_.clear();
      if (section_ == Section::kImages) listener_.image(entry_);
      if (section_ == Section::kAnnotations) listener_.annotation(entry_);
      if (section_ == Section::kCategories) listener_.category(entry_);
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 0) throw Error(name_, "is a list, not an object with images and annotations");
    if (depth_ == 1) seen(section_) = true;
    if (depth_ == 2 && section_ != Section::kNone) refuse_entry();
    if (in_bbox()) entry_.bbox_size = -1;
    enter();
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception& e) {
    // Python's json writes NaN and Infinity, which JSON does not know.
    const std::string_view token = last_token;
    if (token.ends_with("N") || token.ends_with("I") || token.ends_with("-I")) {
      throw Error(name_, fmt::format("malformed JSON at byte {}: NaN or Infinity", position),
                  "JSON has no such numbers; write null or leave the box out");
    }
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&e) != nullptr) {
      throw Error(name_, fmt::format("malformed JSON at byte {}: the number {} is too large",
                                     position, printable(last_token, 40)));
    }
    std::string_view why = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." repeats the place.
    if (const auto colon = why.find(": "); colon != std::string_view::npos) {
      why.remove_prefix(colon + 2);
    }
    throw Error(name_, fmt::format("malformed JSON at byte {}: {}", position, printable(why)));
  }

  void finish() {
    for (const Section section : {Section::kImages, Section::kAnnotations, Section::kCategories}) {
      if (!seen(section)) {
        throw Error(name_,
                    fmt::format("has no list \"{}\": not a COCO-format file", title(section)));
      }
    }
  }

 private:
  static const char* title(Section section) {
    return section == Section::kImages        ? "images"
           : section == Section::kAnnotations ? "annotations"
                                              : "categories";
  }
  bool& seen(Section section) { return seen_[static_cast<std::size_t>(section)]; }

  void enter() {
    if (++depth_ > kMaxDepth) throw Error(name_, "nested too deep to be a COCO-format file");
  }
  bool at_member(std::string_view name) const {
    return in_entry_ && depth_ == 3 && member_ == name;
  }
  bool in_bbox() const { return in_entry_ && depth_ == 4 && member_ == "bbox"; }

  bool other() {
    if (depth_ == 0) throw Error(name_, "is not an object with images and annotations");
    if (depth_ == 1) refuse_section("a plain value");
    if (depth_ == 2 && section_ != Section::kNone) refuse_entry();
    return true;
  }
  void refuse_section(const char* is) {
    if (section_ == Section::kNone) return;
    throw Error(name_, fmt::format("\"{}\" is {}, not a list", title(section_), is));
  }
  void refuse_entry() {
    throw Error(name_, fmt::format("an entry of \"{}\" is not an object", title(section_)));
  }

  bool number(double value, std::optional<std::int64_t> whole) {
    other();
    if (in_bbox()) {
      if (entry_.bbox_size >= 0 && entry_.bbox_size < 4) {
        entry_.bbox[static_cast<std::size_t>(entry_.bbox_size)] = value;
      }
      if (entry_.bbox_size >= 0 && entry_.bbox_size < 5) ++entry_.bbox_size;
    } else if (in_entry_ && depth_ == 3) {
      if (member_ == "id") entry_.id = whole;
      if (member_ == "image_id") entry_.image_id = whole;
      if (member_ == "category_id") entry_.category_id = whole;
      if (member_ == "width") entry_.width = whole;
      if (member_ == "height") entry_.height = whole;
      if (member_ == "iscrowd") entry_.iscrowd = whole;
      if (member_ == "area") entry_.area = value;
    }
    return true;
  }

  const std::string& name_;
  CocoListener& listener_;
  std::size_t depth_ = 0;
  Section section_ = Section::kNone;
  std::array<bool, 4> seen_{};
  bool in_entry_ = false;
  std::string member_;
  CocoEntry entry_;
};

}  // namespace

std::string parse_coco(const fs::path& file, CocoListener& listener,
                       const Preparation& preparation) {
  ByteSource source(file, preparation);
  Handler handler(source.name(), listener);
  if (source.at_end()) throw Error(source.name(), "the file is empty");
  nlohmann::json::sax_parse(ByteIterator(&source), ByteIterator(), &handler);
  handler.finish();
  return source.hash();
}

}  // namespace harness::workloads
