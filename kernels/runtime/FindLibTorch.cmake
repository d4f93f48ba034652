# Finds libc10, libtorch_cpu, libtorch and their headers without LibTorch's own CMake files: those of a CUDA
# build insist on a CUDA toolkit, which nothing here needs.
#
# Looked at, in this order (the first that is set or exists wins):
#   HARNESS_LIBTORCH     cache or environment variable: a libtorch folder, or site-packages/torch
#   .venv                of this source tree
#   CMAKE_PREFIX_PATH    each entry, and torch/ or libtorch/ below it
# Defines the target LibTorch::LibTorch and LibTorch_ROOT_DIR, LibTorch_LIBRARY_DIR, LibTorch_VERSION.
set(HARNESS_LIBTORCH "" CACHE PATH "LibTorch to build with: a libtorch folder or site-packages/torch")

set(_libtorch_asked "${HARNESS_LIBTORCH}")
if(NOT _libtorch_asked AND DEFINED ENV{HARNESS_LIBTORCH})
  set(_libtorch_asked "$ENV{HARNESS_LIBTORCH}")
endif()

if(_libtorch_asked)
  set(_libtorch_roots "${_libtorch_asked}" "${_libtorch_asked}/torch" "${_libtorch_asked}/libtorch")
else()
  file(GLOB _libtorch_roots "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  foreach(_prefix IN LISTS CMAKE_PREFIX_PATH)
    list(APPEND _libtorch_roots "${_prefix}" "${_prefix}/torch" "${_prefix}/libtorch")
  endforeach()
  # A CMAKE_PREFIX_PATH made for find_package(Torch) names share/cmake inside LibTorch.
  foreach(_prefix IN LISTS CMAKE_PREFIX_PATH)
    list(APPEND _libtorch_roots "${_prefix}/../..")
  endforeach()
endif()

set(LibTorch_ROOT_DIR "")
foreach(_root IN LISTS _libtorch_roots)
  if(EXISTS "${_root}/include/ATen/ATen.h" AND EXISTS "${_root}/lib/libtorch_cpu.so"
     AND EXISTS "${_root}/lib/libc10.so" AND EXISTS "${_root}/lib/libtorch.so")
    get_filename_component(LibTorch_ROOT_DIR "${_root}" ABSOLUTE)
    break()
  endif()
endforeach()

set(_libtorch_why "")
if(LibTorch_ROOT_DIR)
  set(LibTorch_LIBRARY_DIR "${LibTorch_ROOT_DIR}/lib")
  set(_libtorch_include "${LibTorch_ROOT_DIR}/include")
  # The version macros moved between headers over the supported range.
  foreach(_header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${_libtorch_include}/${_header}")
      file(STRINGS "${_libtorch_include}/${_header}" _lines
           REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      if(_lines)
        string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3"
               LibTorch_VERSION "${_lines}")
        break()
      endif()
    endif()
  endforeach()
  # libfmt and the other C++ libraries of the system use the new std::string, so LibTorch must too.
  file(STRINGS "${LibTorch_LIBRARY_DIR}/libc10.so" _new_abi REGEX "c105Error.*__cxx11" LIMIT_COUNT 1)
  if(NOT _new_abi)
    set(_libtorch_why "${LibTorch_ROOT_DIR} was built with the old C++ ABI (_GLIBCXX_USE_CXX11_ABI=0)")
    set(LibTorch_ROOT_DIR "")
  endif()
elseif(_libtorch_asked)
  set(_libtorch_why "HARNESS_LIBTORCH=${_libtorch_asked} holds no include/ATen/ATen.h and lib/libtorch_cpu.so")
else()
  set(_libtorch_why "neither .venv nor CMAKE_PREFIX_PATH holds LibTorch (set HARNESS_LIBTORCH)")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT_DIR VERSION_VAR LibTorch_VERSION
                                  REASON_FAILURE_MESSAGE "${_libtorch_why}")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  foreach(_library c10 torch_cpu torch)
    add_library(LibTorch::${_library} SHARED IMPORTED)
    set_target_properties(LibTorch::${_library} PROPERTIES
      IMPORTED_LOCATION "${LibTorch_LIBRARY_DIR}/lib${_library}.so")
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::torch LibTorch::torch_cpu LibTorch::c10)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    "${_libtorch_include}" "${_libtorch_include}/torch/csrc/api/include")
  target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
endif()
