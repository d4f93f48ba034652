// A pickle interpreter for plain tensor dictionaries. It knows the opcodes that torch.save() emits
// and a fixed list of names; it builds plain data and never calls, imports or looks up anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/checkpoint/tensor.hpp"

namespace harness::workloads {

/// Why a pickle is refused: the reasons that hold no number and no name of the file's.
namespace pickle_trouble {
inline constexpr const char* kCutOff = "ends in the middle of its pickle";
inline constexpr const char* kTooDeep = "is nested deeper than any tensor dictionary";
inline constexpr const char* kEmptyStack = "is damaged: its pickle takes from an empty stack";
inline constexpr const char* kNoMark = "is damaged: its pickle has no mark where it needs one";
inline constexpr const char* kSkippedSlot = "is damaged: its pickle skips memo slots";
inline constexpr const char* kNeverStored = "is damaged: its pickle recalls what it never stored";
inline constexpr const char* kKeyAlone = "is damaged: its pickle has a key without a value";
inline constexpr const char* kNoContainer =
    "is damaged: its pickle adds items to what is no container";
inline constexpr const char* kNoName = "is damaged: it calls something that is no name";
inline constexpr const char* kNoStorage = "is damaged: a reference to a storage that is none";
inline constexpr const char* kNoTensor = "is damaged: a tensor without storage or offset";
}  // namespace pickle_trouble

/// A pickled value: a number, or an index into the tables of PickleHeap. Values refer to each other
/// by index only, so cycles are harmless and destruction does not recurse.
struct PickleValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,     ///< number is 0 or 1
    kInt,      ///< number
    kFloat,    ///< read over; nothing here needs its value
    kText,     ///< texts[number]; str, bytes
    kLong,     ///< texts[number]: little-endian two's complement bytes of a wider integer
    kTuple,    ///< sequences[number]
    kList,     ///< sequences[number]
    kDict,     ///< sequences[number]: key, value, key, value, ... (later keys win)
    kGlobal,   ///< a name from the fixed list, position `number`
    kStorage,  ///< storages[number]
    kTensor,   ///< tensors[number]
    kOpaque,   ///< an allowed object whose content does not matter (argparse.Namespace, ...)
  };
  Kind kind = Kind::kNone;
  std::int64_t number = 0;
};

/// A reference to raw data that lies outside the pickle.
struct StorageRef {
  std::string_view key{};
  DType dtype = DType::kFloat32;
  std::int64_t numel = 0;        ///< elements of the whole storage under `key`
  std::int64_t view_offset = 0;  ///< the part that is meant, in elements; old files only
  std::int64_t view_numel = 0;   ///< equals numel when the whole storage is meant
};

/// Everything a pickle built. Texts are views of the pickle's bytes, which must outlive the heap.
struct PickleHeap {
  std::vector<std::string_view> texts{};
  std::vector<std::vector<PickleValue>> sequences{};
  std::vector<StorageRef> storages{};
  /// FileTensor::storage is an index into `storages`; views are checked against its declared size.
  std::vector<FileTensor> tensors{};

  std::size_t items = 0;  ///< all that sequences ever took in

  /// Counts items that a sequence takes in; throws BadFile over the limit, so that copying a long
  /// list again and again ends early.
  void charge(std::size_t count);
  /// The text of a kText value; empty for any other kind.
  [[nodiscard]] std::string_view text(PickleValue value) const;
  /// The last value under a text key of a kDict value; nullptr when there is none.
  [[nodiscard]] const PickleValue* find(PickleValue dict, std::string_view key) const;
};

/// Runs one pickle from `bytes`, starting at `position`, which is moved behind its STOP. Throws
/// BadFile for anything that is damaged, beyond the limits, or not part of a tensor dictionary.
PickleValue run_pickle(std::string_view bytes, std::size_t& position, PickleHeap& heap);

/// `text` as printable ASCII, at most 80 bytes: names from a file go to terminals and into JSON.
std::string plain_ascii(std::string_view text);

}  // namespace harness::workloads
