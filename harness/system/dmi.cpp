#include "harness/system/dmi.hpp"

#include <algorithm>

namespace harness {
namespace {

constexpr unsigned char kMemoryDevice = 17;
constexpr unsigned char kEndOfTable = 127;
constexpr std::size_t kSizeOffset = 0x0c;   // 0: no module in this slot
constexpr std::size_t kSpeedOffset = 0x15;  // rated, in megatransfers a second
constexpr std::size_t kConfiguredSpeedOffset = 0x20;

}  // namespace

MemorySpeed read_memory_speed(const SystemRoot& root) {
  const Reading table = root.raw("/sys/firmware/dmi/tables/DMI", std::size_t{1} << 20);
  if (!table.text) return {std::nullopt, table.reason};
  const std::string& bytes = *table.text;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const auto word = [&](std::size_t at) { return byte(at) | byte(at + 1) << 8; };
  int slowest = 0;
  std::size_t start = 0;
  // A structure is a header of (type, length, handle), its fields, and strings up to a double zero.
  while (start + 4 <= bytes.size()) {
    const std::size_t length = byte(start + 1);
    if (length < 4 || start + length > bytes.size() || byte(start) == kEndOfTable) break;
    if (byte(start) == kMemoryDevice && length >= kSpeedOffset + 2 &&
        word(start + kSizeOffset) != 0) {
      int speed = length >= kConfiguredSpeedOffset + 2 ? word(start + kConfiguredSpeedOffset) : 0;
      if (speed == 0) speed = word(start + kSpeedOffset);
      // 0 is unknown; 0xffff points to an extended field that no module needs yet.
      if (speed != 0 && speed != 0xffff) slowest = slowest == 0 ? speed : std::min(slowest, speed);
    }
    const std::size_t end = bytes.find(std::string(2, '\0'), start + length);
    if (end == std::string::npos) break;
    start = end + 2;
  }
  if (slowest == 0) return {std::nullopt, "the firmware's tables name no memory speed"};
  return {slowest * 1e6, {}};
}

}  // namespace harness
