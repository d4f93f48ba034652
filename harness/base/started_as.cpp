#include "harness/base/started_as.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kLongestPath = 4096;  // a line to be pasted is whole, or of no use

}  // namespace

std::string started_as() {
  const char* words = std::getenv("HARNESS_STARTED_AS");
  return words == nullptr || *words == '\0' ? "harness" : printable(words);
}

std::string going_on_text(const std::string& command, const std::filesystem::path& out) {
  return fmt::format("to go on from here: {} {} --resume {}\n", started_as(), command,
                     shell_word(printable(out.string(), kLongestPath)));
}

}  // namespace harness
