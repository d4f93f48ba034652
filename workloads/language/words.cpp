#include "workloads/language/words.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace harness::workloads {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// What a character begins with `lead`: how many bytes follow, and between which the first of them
/// lies (table 3-7 of the Unicode standard).
struct Sequence {
  int following = 0;
  unsigned char low = 0x80, high = 0xBF;
};

Sequence sequence_of(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {1};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {2};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {3};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

bool is_dropped(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return c == kReplacement;
  }
}

bool is_space(char32_t c) {
  if (c == U'\t' || c == U'\n' || c == U'\r') return true;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL ||
         kind == UTF8PROC_CATEGORY_ZP;
}

/// All of ASCII that is neither letter, digit nor space counts.
bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return c > U' ' && c < 0x7F && !(c >= U'0' && c <= U'9') && !(c >= U'A' && c <= U'Z') &&
           !(c >= U'a' && c <= U'z');
  }
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

/// The blocks that BERT takes for Chinese; the last but two as `tokenizers` has it.
bool is_ideograph(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr std::array<Range, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                             {0x3400, 0x4DBF},
                                             {0x20000, 0x2A6DF},
                                             {0x2A700, 0x2B73F},
                                             {0x2B740, 0x2B81F},
                                             {0x2B820, 0x2CEAF},
                                             {0xF900, 0xFAFF},
                                             {0x2F800, 0x2FA1F}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(),
                     [c](const Range& block) { return c >= block.first && c <= block.last; });
}

/// Takes decomposed characters in canonical order.
class Splitter {
 public:
  explicit Splitter(std::size_t most) : most_(most) {}

  bool full() const { return words_.size() >= most_; }

  void put(char32_t c) {
    if (is_space(c)) {
      end_word();
    } else if (is_punctuation(c)) {
      end_word();
      word_.push_back(c);
      end_word();
    } else if (category(c) != UTF8PROC_CATEGORY_MN) {
      word_.push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }

  void end_word() {
    if (!word_.empty() && !full()) words_.push_back(word_);
    word_.clear();
  }

  std::vector<std::u32string> take() { return std::move(words_); }

 private:
  std::size_t most_;
  std::u32string word_{};
  std::vector<std::u32string> words_{};
};

/// Decomposes, and hands on in canonical order: marks behind a character sorted by their class.
class Decomposer {
 public:
  explicit Decomposer(Splitter& next) : next_(next) {}

  void put(char32_t c) {
    // The longest canonical decomposition there is has four characters.
    std::array<utf8proc_int32_t, 16> parts{};
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                               parts.size(), UTF8PROC_DECOMPOSE, &boundary);
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::max<utf8proc_ssize_t>(count, 0));
         ++i) {
      const int order = utf8proc_get_property(parts[i])->combining_class;
      if (order == 0) flush();
      marks_.push_back({order, static_cast<char32_t>(parts[i])});
      if (order == 0) flush();
    }
  }

  void flush() {
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Mark& a, const Mark& b) { return a.order < b.order; });
    for (const Mark& mark : marks_) next_.put(mark.character);
    marks_.clear();
  }

 private:
  struct Mark {
    int order = 0;
    char32_t character = 0;
  };

  Splitter& next_;
  std::vector<Mark> marks_{};
};

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) {
      result.push_back(lead);
      continue;
    }
    Sequence sequence = sequence_of(lead);
    int rest = sequence.following;
    char32_t c = rest == 0 ? kReplacement : lead & (0x3FU >> rest);
    for (; rest > 0; --rest, ++i) {
      const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : '\0';
      if (byte < sequence.low || byte > sequence.high) break;
      c = c << 6 | (byte & 0x3FU);
      sequence.low = 0x80;
      sequence.high = 0xBF;
    }
    result.push_back(rest == 0 ? c : kReplacement);
  }
  return result;
}

std::string utf8(std::u32string_view text) {
  std::string result;
  std::array<utf8proc_uint8_t, 4> bytes{};
  for (const char32_t c : text) {
    const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
    result.append(bytes.begin(), bytes.begin() + count);
  }
  return result;
}

std::vector<std::u32string> words(std::string_view text, std::size_t most) {
  Splitter splitter(most);
  Decomposer decomposer(splitter);
  for (const char32_t c : code_points(text)) {
    if (splitter.full()) break;
    if (is_space(c)) {
      decomposer.put(U' ');
    } else if (!is_dropped(c)) {
      const bool alone = is_ideograph(c);
      if (alone) decomposer.put(U' ');
      decomposer.put(c);
      if (alone) decomposer.put(U' ');
    }
  }
  decomposer.flush();
  splitter.end_word();
  return splitter.take();
}

}  // namespace harness::workloads
