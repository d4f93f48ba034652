// bf16 by autocast, as Python's `with torch.autocast("cpu", torch.bfloat16)`.
#pragma once

#include <c10/core/ScalarType.h>

namespace harness::kernels {

/// While it lives, operators on autocast's list run in bf16. The cache of converted weights lives
/// until the outermost scope ends. With `enabled` false it does nothing.
class AutocastScope {
 public:
  explicit AutocastScope(bool enabled);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  bool was_enabled_ = false;
  bool was_caching_ = false;
  c10::ScalarType was_type_ = c10::ScalarType::Float;
};

}  // namespace harness::kernels
