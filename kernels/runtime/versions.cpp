#include "kernels/runtime/versions.hpp"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/native/DispatchStub.h>
#include <dlfcn.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <torch/version.h>

#include <sstream>
#include <stdexcept>

#include "kernels/runtime/instruction_sets.hpp"

namespace harness::kernels {
namespace {

#define HARNESS_TEXT_OF(x) #x
#define HARNESS_TEXT(x) HARNESS_TEXT_OF(x)
constexpr const char* kOneDnnHeaders = HARNESS_TEXT(DNNL_VERSION_MAJOR) "." HARNESS_TEXT(
    DNNL_VERSION_MINOR) "." HARNESS_TEXT(DNNL_VERSION_PATCH);

// The text after `key` in a line of at::show_config(), up to the first of `ends`.
std::string after(const std::string& text, const std::string& key, const char* ends) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return {};
  const size_t begin = at + key.size();
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

}  // namespace

std::map<std::string, std::string> library_versions() {
  const dnnl_version_t* onednn = dnnl_version();
  std::ostringstream loaded;
  loaded << onednn->major << '.' << onednn->minor << '.' << onednn->patch;
  if (loaded.str() != kOneDnnHeaders) {
    throw std::runtime_error("oneDNN " + loaded.str() + " was loaded, but the headers are of " +
                             kOneDnnHeaders);
  }
  const std::string config = at::show_config();
  std::map<std::string, std::string> versions{
      {"libtorch", TORCH_VERSION},         {"onednn", loaded.str()},
      {"openmp", std::to_string(_OPENMP)}, {"cpu_capability", at::get_cpu_capability()},
      {"vector_target", vector_target()},
  };
  const auto add = [&versions](const char* key, const std::string& value) {
    if (!value.empty()) versions[key] = value;
  };
  add("libtorch_onednn", after(config, "MKL-DNN) v", " \n"));
  if (!versions.contains("libtorch_onednn")) {
    add("libtorch_onednn", after(config, "MKL-DNN v", " \n"));
  }
  add("libtorch_mkl", after(config, "Math Kernel Library Version ", "\n"));
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&omp_get_max_threads), &info) != 0) {
    add("openmp_library", info.dli_fname);
  }
  return versions;
}

}  // namespace harness::kernels
