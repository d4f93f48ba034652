#include "kernels/runtime/captured_output.hpp"

#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace harness::kernels {

CapturedOutput::CapturedOutput() : file_(std::tmpfile()) {
  if (file_ == nullptr) throw std::runtime_error("no temporary file can be made");
}

CapturedOutput::~CapturedOutput() {
  restore();
  std::fclose(file_);
}

void CapturedOutput::capture() {
  std::fflush(stdout);
  saved_ = dup(STDOUT_FILENO);
  if (saved_ < 0 || dup2(fileno(file_), STDOUT_FILENO) < 0) {
    restore();
    throw std::runtime_error("standard output cannot be redirected to a temporary file");
  }
}

bool CapturedOutput::restore() {
  if (saved_ < 0) return true;
  const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  std::clearerr(stdout);
  dup2(saved_, STDOUT_FILENO);
  close(std::exchange(saved_, -1));
  return whole;
}

std::string CapturedOutput::text() {
  std::string text;
  std::rewind(file_);
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file_)) {
    text.append(part.data(), count);
  }
  return text;
}

}  // namespace harness::kernels
