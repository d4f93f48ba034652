// Standard output as text.
#pragma once

#include <cstdio>
#include <string>

namespace harness::kernels {

/// A temporary file that takes standard output's place for a while, again and again.
class CapturedOutput {
 public:
  CapturedOutput();   ///< throws std::runtime_error where no temporary file can be made
  ~CapturedOutput();  ///< restores
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  /// Throws std::runtime_error where that cannot be done.
  void capture();
  /// False when something that was printed meanwhile is lost: the disk is full.
  bool restore();
  /// All that was captured so far. Precondition: restored.
  std::string text();

 private:
  std::FILE* file_;
  int saved_ = -1;  ///< what standard output was; -1 while it is that
};

}  // namespace harness::kernels
