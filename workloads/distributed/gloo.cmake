# HARNESS_GLOO: whether the LibTorch at hand has gloo, and our few stub headers fit its own header for it. Known for
# the version that the project is built with; others are tried.
set(HARNESS_GLOO OFF)
get_target_property(_torch_version kernels_libraries HARNESS_LIBTORCH_VERSION)
get_target_property(_torch_library kernels_libraries HARNESS_RUNPATH)
list(GET _torch_library 0 _torch_library)
get_filename_component(_gloo_include "${_torch_library}/../include" ABSOLUTE)
file(STRINGS "${_torch_library}/libtorch_cpu.so" _gloo_symbol
     REGEX "ProcessGroupGloo.*createDeviceForHostname" LIMIT_COUNT 1)
if(_gloo_symbol AND EXISTS "${_gloo_include}/torch/csrc/distributed/c10d/ProcessGroupGloo.hpp")
  if(_torch_version VERSION_GREATER_EQUAL 2.13 AND _torch_version VERSION_LESS 2.14)
    set(HARNESS_GLOO ON)
  else()
    try_compile(HARNESS_GLOO_FITS
      SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/distributed/gloo_wire.cpp"
              "${CMAKE_CURRENT_SOURCE_DIR}/distributed/torch_ranks.cpp"
              "${PROJECT_SOURCE_DIR}/harness/workload/ranks.cpp"
              "${CMAKE_CURRENT_SOURCE_DIR}/distributed/gloo_probe.cpp"
      CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR};${CMAKE_CURRENT_SOURCE_DIR}/distributed;${_gloo_include}"
      COMPILE_DEFINITIONS -DUSE_C10D_GLOO
      LINK_LIBRARIES "${_torch_library}/libtorch_cpu.so" "${_torch_library}/libc10.so"
      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
    set(HARNESS_GLOO ${HARNESS_GLOO_FITS})
  endif()
endif()
if(NOT HARNESS_GLOO)
  message(WARNING "LibTorch ${_torch_version} has no gloo that fits: --engine gloo will not be there")
endif()
