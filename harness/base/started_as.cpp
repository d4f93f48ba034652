#include "harness/base/started_as.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr const char* kVariable = "HARNESS_STARTED_AS";
constexpr std::size_t kLongestPath = 4096;  // a line to be pasted is whole, or of no use

std::string& typed() {
  static std::string text = "harness";
  return text;
}

}  // namespace

void start_as(const char* program) {
  const char* words = std::getenv(kVariable);
  if (words != nullptr && *words != '\0') {
    typed() = printable(words, kLongestPath);
  } else if (program != nullptr && *program != '\0') {
    typed() = pasted_word(printable(program, kLongestPath));
  }
  ::unsetenv(kVariable);
}

std::string started_as() { return typed(); }

std::string going_on_text(const std::string& command, const std::filesystem::path& out) {
  return fmt::format("to go on from here: {} {} --resume {}\n", started_as(), command,
                     pasted_word(printable(out.string(), kLongestPath)));
}

}  // namespace harness
