#include "kernels/runtime/threads.hpp"

#include <ATen/Parallel.h>
#include <omp.h>

#include <stdexcept>
#include <string>

namespace harness::kernels {

void set_threads(int threads) {
  if (threads < 1) {
    throw std::invalid_argument("at least one thread is needed, got " + std::to_string(threads));
  }
  // Branches that a TorchScript model forks have threads of their own, as many as the machine has
  // processors unless told otherwise, and once only.
  static const bool told = [] {
    at::set_num_interop_threads(1);
    return true;
  }();
  (void)told;
  at::set_num_threads(threads);
  // ATen may be built on another thread pool; our own loops use OpenMP in any case.
  omp_set_num_threads(threads);
}

int threads() { return at::get_num_threads(); }

}  // namespace harness::kernels
