#include "workloads/checkpoint/pickle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "workloads/checkpoint/pickle_names.hpp"

namespace harness::workloads {
namespace {

using Kind = PickleValue::Kind;

// Each is far above what a detection model with its optimiser needs (about 30,000 objects), and
// together they keep a hostile pickle below some 200 MB.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxObjects = 1'000'000;
constexpr std::size_t kMaxItems = 4'000'000;
constexpr std::size_t kMaxStack = 1'000'000;
constexpr std::size_t kMaxMarks = 10'000;
constexpr std::size_t kMaxText = std::size_t{1} << 20;

// Names as in CPython's Modules/_pickle.c.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

BadFile too_big(const char* what) {
  return BadFile(fmt::format("has more pickled {} than any tensor dictionary needs", what));
}

class Machine {
 public:
  Machine(std::string_view bytes, std::size_t position, PickleHeap& heap)
      : bytes_(bytes), begin_(position), position_(position), heap_(heap) {}

  PickleValue run() {
    while (true) {
      const auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == kStop) return pop();
      if (!constant(opcode) && !container(opcode) && !object(opcode)) {
        throw BadFile(
            fmt::format("holds pickle opcode 0x{:02x} at byte {}, which no tensor "
                        "dictionary has",
                        opcode, position_ - 1));
      }
      if (position_ - begin_ > kMaxBytes) throw too_big("bytes");
      if (heap_.texts.size() + heap_.sequences.size() + heap_.storages.size() +
              heap_.tensors.size() >
          kMaxObjects) {
        throw too_big("objects");
      }
    }
  }
  std::size_t position() const { return position_; }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) throw BadFile(pickle_trouble::kCutOff);
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }
  /// Unsigned little-endian number of `count` <= 8 bytes.
  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view raw = take(count);
    for (std::size_t i = 0; i < count; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    }
    return value;
  }
  /// A newline-terminated name.
  std::string_view line() {
    const std::string_view window = bytes_.substr(position_, kMaxText);
    const std::size_t end = window.find('\n');
    if (end == std::string_view::npos) throw BadFile(pickle_trouble::kCutOff);
    position_ += end + 1;
    return window.substr(0, end);
  }

  void push(PickleValue value) {
    if (stack_.size() >= kMaxStack) throw too_big("values");
    stack_.push_back(value);
  }
  /// What lies below the last mark belongs to someone else.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue pop() {
    if (stack_.size() <= floor()) throw BadFile(pickle_trouble::kEmptyStack);
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue top() {
    const PickleValue value = pop();
    stack_.push_back(value);
    return value;
  }
  std::vector<PickleValue> pop_many(std::size_t count) {
    if (stack_.size() - floor() < count) throw BadFile(pickle_trouble::kEmptyStack);
    heap_.charge(count);
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    return values;
  }
  std::vector<PickleValue> pop_to_mark() {
    if (marks_.empty()) throw BadFile(pickle_trouble::kNoMark);
    std::vector<PickleValue> values = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }

  void push_text(std::uint64_t size, Kind kind = Kind::kText) {
    if (size > kMaxText && size <= bytes_.size() - position_) throw too_big("text");
    heap_.texts.push_back(take(size));
    push({kind, static_cast<std::int64_t>(heap_.texts.size() - 1)});
  }
  void push_sequence(Kind kind, std::vector<PickleValue> items) {
    heap_.sequences.push_back(std::move(items));
    push({kind, static_cast<std::int64_t>(heap_.sequences.size() - 1)});
  }
  void push_int(std::int64_t value) { push({Kind::kInt, value}); }
  void push_long(std::uint64_t size) {
    if (size > 8) return push_text(size, Kind::kLong);
    if (size == 0) return push_int(0);
    const auto unused = static_cast<unsigned>(64 - 8 * size);
    // Shifting up and back down extends the sign.
    push_int(std::bit_cast<std::int64_t>(number(size) << unused) >> unused);
  }

  void remember(std::uint64_t slot) {
    // Picklers number their memo from 0 without gaps.
    if (slot > memo_.size() || slot >= kMaxObjects) throw BadFile(pickle_trouble::kSkippedSlot);
    const PickleValue value = top();
    if (slot == memo_.size()) {
      memo_.push_back(value);
    } else {
      memo_[slot] = value;
    }
  }
  void recall(std::uint64_t slot) {
    if (slot >= memo_.size()) throw BadFile(pickle_trouble::kNeverStored);
    push(memo_[slot]);
  }

  void extend(PickleValue target, Kind kind, const std::vector<PickleValue>& values) {
    if (kind == Kind::kDict && values.size() % 2 != 0) throw BadFile(pickle_trouble::kKeyAlone);
    if (target.kind != kind) throw BadFile(pickle_trouble::kNoContainer);
    auto& items = heap_.sequences[static_cast<std::size_t>(target.number)];
    items.insert(items.end(), values.begin(), values.end());
  }

  bool constant(unsigned char opcode) {
    switch (opcode) {
      case kNone:
        push({Kind::kNone, 0});
        return true;
      case kNewTrue:
      case kNewFalse:
        push({Kind::kBool, opcode == kNewTrue ? 1 : 0});
        return true;
      case kBinInt:
        push_int(static_cast<std::int32_t>(number(4)));
        return true;
      case kBinInt1:
        push_int(static_cast<std::int64_t>(number(1)));
        return true;
      case kBinInt2:
        push_int(static_cast<std::int64_t>(number(2)));
        return true;
      case kLong1:
        push_long(number(1));
        return true;
      case kLong4:
        push_long(number(4));
        return true;
      case kBinFloat:
        take(8);
        push({Kind::kFloat, 0});
        return true;
      case kShortBinString:
      case kShortBinBytes:
      case kShortBinUnicode:
        push_text(number(1));
        return true;
      case kBinString:
      case kBinBytes:
      case kBinUnicode:
        push_text(number(4));
        return true;
      case kBinUnicode8:
        push_text(number(8));
        return true;
      default:
        return false;
    }
  }

  bool container(unsigned char opcode) {
    switch (opcode) {
      case kMark:
        if (marks_.size() >= kMaxMarks) throw BadFile(pickle_trouble::kTooDeep);
        marks_.push_back(stack_.size());
        return true;
      case kEmptyTuple:
        push_sequence(Kind::kTuple, {});
        return true;
      case kEmptyList:
        push_sequence(Kind::kList, {});
        return true;
      case kEmptyDict:
        push_sequence(Kind::kDict, {});
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_sequence(Kind::kTuple, pop_many(opcode - kTuple1 + 1));
        return true;
      case kTuple:
        push_sequence(Kind::kTuple, pop_to_mark());
        return true;
      case kAppend:
      case kSetItem: {
        const std::vector<PickleValue> values = pop_many(opcode == kAppend ? 1 : 2);
        extend(top(), opcode == kAppend ? Kind::kList : Kind::kDict, values);
        return true;
      }
      case kAppends:
      case kSetItems: {
        const std::vector<PickleValue> values = pop_to_mark();
        extend(top(), opcode == kAppends ? Kind::kList : Kind::kDict, values);
        return true;
      }
      default:
        return false;
    }
  }

  bool object(unsigned char opcode) {
    switch (opcode) {
      case kProto:
        if (const std::uint64_t version = number(1); version < 2 || version > 5) {
          throw BadFile(fmt::format("uses pickle protocol {}; 2 to 5 are known", version));
        }
        return true;
      case kFrame:
        if (number(8) > bytes_.size() - position_) throw BadFile(pickle_trouble::kCutOff);
        return true;
      case kBinPut:
        remember(number(1));
        return true;
      case kLongBinPut:
        remember(number(4));
        return true;
      case kMemoize:
        remember(memo_.size());
        return true;
      case kBinGet:
        recall(number(1));
        return true;
      case kLongBinGet:
        recall(number(4));
        return true;
      case kGlobal: {
        const std::string_view module = line();
        push(allowed_global(module, line()));
        return true;
      }
      case kStackGlobal: {
        const PickleValue name = pop();
        const PickleValue module = pop();
        push(allowed_global(heap_.text(module), heap_.text(name)));
        return true;
      }
      case kReduce:
      case kNewObj: {
        const PickleValue arguments = pop();
        push(reduce(pop(), arguments, heap_));
        return true;
      }
      case kBuild:
        // Attributes of a dictionary (PyTorch's _metadata) or of an object nobody looks at.
        pop();
        if (const Kind kind = top().kind; kind != Kind::kDict && kind != Kind::kOpaque) {
          throw BadFile("is damaged: its pickle sets attributes of what has none");
        }
        return true;
      case kBinPersId:
        push(persistent_storage(pop(), heap_));
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  std::size_t begin_;
  std::size_t position_;
  PickleHeap& heap_;
  std::vector<PickleValue> stack_{};
  std::vector<std::size_t> marks_{};
  std::vector<PickleValue> memo_{};
};

}  // namespace

void PickleHeap::charge(std::size_t count) {
  items += count;
  if (items > kMaxItems) throw too_big("items");
}

std::string_view PickleHeap::text(PickleValue value) const {
  return value.kind == Kind::kText ? texts[static_cast<std::size_t>(value.number)]
                                   : std::string_view{};
}

const PickleValue* PickleHeap::find(PickleValue dict, std::string_view key) const {
  if (dict.kind != Kind::kDict) return nullptr;
  const auto& entries = sequences[static_cast<std::size_t>(dict.number)];
  for (std::size_t i = entries.size(); i >= 2; i -= 2) {
    if (entries[i - 2].kind == Kind::kText && text(entries[i - 2]) == key) return &entries[i - 1];
  }
  return nullptr;
}

PickleValue run_pickle(std::string_view bytes, std::size_t& position, PickleHeap& heap) {
  Machine machine(bytes, position, heap);
  const PickleValue value = machine.run();
  position = machine.position();
  return value;
}

std::string plain_ascii(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return text.size() > 80 ? out + "..." : out;
}

}  // namespace harness::workloads
