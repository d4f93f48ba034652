#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <omp.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/autocast.hpp"
#include "kernels/runtime/threads.hpp"
#include "kernels/runtime/versions.hpp"

namespace kernels = harness::kernels;

TEST_CASE("the allocator counts what tensors hold, and the peak", "[runtime]") {
  kernels::use_allocator("system");
  const auto before = kernels::memory_counters();
  kernels::reset_peak_memory();
  constexpr int64_t kBytes = 40 << 20;
  {
    const at::Tensor first = at::empty({kBytes}, at::kByte);
    const auto held = kernels::memory_counters().current_bytes - before.current_bytes;
    CHECK(held >= kBytes);
    CHECK(held < kBytes + (64 << 10));
    { const at::Tensor second = at::empty({kBytes}, at::kByte); }
    CHECK(reinterpret_cast<std::uintptr_t>(first.data_ptr()) % 64 == 0);
  }
  CHECK(kernels::memory_counters().current_bytes == before.current_bytes);
  CHECK(kernels::memory_counters().peak_bytes >= before.current_bytes + 2 * kBytes);
  kernels::reset_peak_memory();
  CHECK(kernels::memory_counters().peak_bytes == before.current_bytes);
  CHECK(at::empty({0}).numel() == 0);
  CHECK_THROWS_WITH(kernels::use_allocator("pool"), Catch::Contains("known: pooled, system"));
}

TEST_CASE("branches that a model forks get no more threads than were asked for", "[runtime]") {
  const int before = kernels::threads();
  kernels::set_threads(1);
  CHECK(at::get_num_interop_threads() == 1);
  kernels::set_threads(before);
}

TEST_CASE("tensors go back to the allocator they came from, whichever is in use", "[runtime]") {
  kernels::use_allocator("pooled");
  const auto before = kernels::memory_counters();
  constexpr int64_t kBytes = 8 << 20;
  at::Tensor pooled = at::full({kBytes}, 3, at::kByte);
  const at::Tensor small = at::full({100}, 4, at::kByte);
  CHECK(kernels::pool_bytes() >= kBytes);
  kernels::use_allocator("system");
  at::Tensor system = at::full({kBytes}, 5, at::kByte);
  CHECK(kernels::memory_counters().current_bytes >= before.current_bytes + 2 * kBytes);
  CHECK(pooled.sum().item<int64_t>() == 3 * kBytes);
  pooled = at::Tensor();
  kernels::use_allocator("pooled");
  system = at::Tensor();
  CHECK(kernels::memory_counters().current_bytes < before.current_bytes + (64 << 10));
  const void* place = at::empty({kBytes}, at::kByte).data_ptr();
  CHECK(at::empty({kBytes}, at::kByte).data_ptr() == place);
  kernels::trim_pool();
  CHECK(small.sum().item<int64_t>() == 400);
  kernels::use_allocator("system");
}

TEST_CASE("what is kept and made anew leaves what passes its places", "[runtime]") {
  kernels::use_allocator("pooled");
  constexpr int64_t kUnit = 1 << 20;
  constexpr int kLayers = 8;
  constexpr int kSteps = 6;
  const auto make_anew = [](at::Tensor& kept, int64_t bytes, int step) {
    const kernels::KeptMemoryScope keeping;
    kept = at::full({bytes}, step, at::kByte);
  };
  // As prepared weights: those of both directions go when the forward pass finds them outdated.
  std::vector<at::Tensor> forward(kLayers);
  std::vector<at::Tensor> backward(kLayers);
  std::vector<std::set<const void*>> places(kLayers);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<at::Tensor> outputs;
    for (int layer = 0; layer < kLayers; ++layer) {
      backward[layer] = forward[layer] = at::Tensor();
      make_anew(forward[layer], (1 + layer % 3) * kUnit, step);
      outputs.push_back(at::empty({(3 + layer % 2) * kUnit}, at::kByte));
      places[layer].insert(outputs.back().data_ptr());
    }
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      make_anew(backward[layer], (1 + layer % 3) * kUnit, step);
      outputs.pop_back();
    }
  }
  for (int layer = 0; layer < kLayers; ++layer) {
    CAPTURE(layer);
    CHECK(places[layer].size() == 1);
    CHECK(forward[layer][0].item<int64_t>() == kSteps - 1);
    CHECK(backward[layer][-1].item<int64_t>() == kSteps - 1);
  }
  kernels::use_allocator("system");
}

TEST_CASE("a scope of kept memory ends with itself, and is its thread's alone", "[runtime]") {
  kernels::use_allocator("pooled");
  const auto before = kernels::memory_counters();
  constexpr int64_t kBytes = 1 << 20;
  const auto place = [] { return at::empty({kBytes}, at::kByte).data_ptr(); };
  const void* const passing = place();
  const void* kept = nullptr;
  at::Tensor out_of_scope;
  try {
    const kernels::KeptMemoryScope outer;
    kept = place();
    {
      const kernels::KeptMemoryScope inner;
      CHECK(place() == kept);
    }
    CHECK(place() == kept);
    const void* elsewhere = nullptr;
    std::thread([&] { elsewhere = place(); }).join();
    CHECK(elsewhere == passing);
    out_of_scope = at::empty({kBytes}, at::kByte);
    throw std::runtime_error("as a kernel may");
  } catch (const std::runtime_error&) {
  }
  CHECK(kept != passing);
  CHECK(place() == passing);
  kernels::use_allocator("system");
  CHECK(out_of_scope.data_ptr() == kept);
  std::thread([tensor = std::move(out_of_scope)]() mutable { tensor = at::Tensor(); }).join();
  CHECK(kernels::memory_counters().current_bytes == before.current_bytes);
}

TEST_CASE("memory that is not there is said in one way, whatever the allocator", "[runtime]") {
  for (const std::string& name : kernels::allocator_names()) {
    kernels::use_allocator(name);
    const auto before = kernels::memory_counters();
    CHECK_THROWS_AS(at::empty({int64_t{1} << 50}, at::kByte), std::bad_alloc);
    CHECK(kernels::memory_counters().current_bytes == before.current_bytes);
  }
  kernels::use_allocator("system");
}

TEST_CASE("one OpenMP runtime serves LibTorch, oneDNN and us", "[runtime]") {
  CHECK_FALSE(kernels::library_versions().at("openmp_library").empty());
  std::set<std::string> copies;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    const std::string name = path.substr(path.rfind('/') + 1);
    for (const char* runtime : {"libgomp", "libiomp", "libomp"}) {
      if (name.rfind(runtime, 0) == 0) copies.insert(path);
    }
  }
  CHECK(copies.size() == 1);
}

TEST_CASE("the number of threads reaches ATen and our own OpenMP regions", "[runtime]") {
  const int before = kernels::threads();
  for (const int threads : {1, 2, 3}) {
    kernels::set_threads(threads);
    CHECK(kernels::threads() == threads);
    CHECK(omp_get_max_threads() == threads);
  }
  CHECK_THROWS_AS(kernels::set_threads(0), std::invalid_argument);
  kernels::set_threads(before);
}

TEST_CASE("the versions of what really runs", "[runtime]") {
  const auto versions = kernels::library_versions();
  for (const char* key : {"libtorch", "onednn", "libtorch_onednn", "openmp", "openmp_library",
                          "cpu_capability", "vector_target"}) {
    INFO(key);
    CHECK(versions.count(key) == 1);
  }
  CHECK(versions.at("onednn").front() == '3');
  CHECK(versions.at("libtorch") >= "2.");
}

TEST_CASE("std::filesystem is the compiler's, not the one within LibTorch", "[runtime]") {
  bool (*const function)(const std::filesystem::path&) = std::filesystem::create_directories;
  Dl_info info{};
  REQUIRE(::dladdr(reinterpret_cast<const void*>(function), &info) != 0);
  CHECK_THAT(info.dli_fname, Catch::Contains("libstdc++"));
}

TEST_CASE("autocast runs convolutions in bf16 and leaves no trace", "[runtime]") {
  const at::Tensor input = at::rand({1, 4, 8, 8});
  const at::Tensor weight = at::rand({4, 4, 3, 3}).set_requires_grad(true);
  const auto type = [&] { return at::conv2d(input, weight).scalar_type(); };
  {
    const kernels::AutocastScope outer(true);
    CHECK(type() == at::kBFloat16);
    { const kernels::AutocastScope inner(true); }
    CHECK(type() == at::kBFloat16);
    { const kernels::AutocastScope off(false); }
    CHECK(type() == at::kBFloat16);
  }
  CHECK(type() == at::kFloat);
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}
