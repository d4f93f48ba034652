#include "kernels/runtime/autocast.hpp"

#include <ATen/autocast_mode.h>

namespace harness::kernels {

AutocastScope::AutocastScope(bool enabled) : active_(enabled) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(at::kCPU);
  was_type_ = at::autocast::get_autocast_dtype(at::kCPU);
  was_caching_ = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::increment_nesting();
  at::autocast::set_autocast_cache_enabled(true);
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, was_enabled_);
  at::autocast::set_autocast_dtype(at::kCPU, was_type_);
  at::autocast::set_autocast_cache_enabled(was_caching_);
}

}  // namespace harness::kernels
