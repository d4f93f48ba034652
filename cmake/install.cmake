# `cmake --install BUILD --prefix DIR`: the program, what it reads while it runs, and a CMake package with
# which a program of one's own is made: the commands, and a workload that is not in this tree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# LibTorch and oneDNN stay where they are; the installed program looks for them there.
if(HARNESS_TORCH)
  get_target_property(_runpath kernels_libraries HARNESS_RUNPATH)
  set_target_properties(harness PROPERTIES INSTALL_RPATH "${_runpath}")
endif()
install(TARGETS harness RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET harness_mpi)
  install(TARGETS harness_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})  # it is looked for beside the program
endif()

# harness/base/files.cpp looks for this folder beside bin/. Same names in it as in the source tree.
set(_home share/harness)
install(DIRECTORY rules DESTINATION ${_home} FILES_MATCHING PATTERN "*.json")
install(DIRECTORY kernels/tuning DESTINATION ${_home}/kernels)
install(DIRECTORY results/schema DESTINATION ${_home}/results)
# What the score of a suite is against.
if(EXISTS ${PROJECT_SOURCE_DIR}/results/reference)
  install(DIRECTORY results/reference DESTINATION ${_home}/results FILES_MATCHING PATTERN "*.json")
endif()
install(DIRECTORY tests/golden DESTINATION ${_home}/tests)
install(FILES workloads/conv_blocks/retinanet.txt DESTINATION ${_home}/workloads/conv_blocks)
install(FILES workloads/inference/assets.json DESTINATION ${_home}/workloads/inference)
install(FILES workloads/classify/fashion_mnist_head.safetensors DESTINATION ${_home}/workloads/classify)
install(FILES workloads/detect/mini_retinanet.safetensors DESTINATION ${_home}/workloads/detect)
install(FILES workloads/segment/decoder.safetensors DESTINATION ${_home}/workloads/segment)
install(FILES workloads/sentiment/movies_head.safetensors DESTINATION ${_home}/workloads/sentiment)
install(FILES LICENSE DESTINATION ${_home})

# In a folder of their own: harness/workload/workload.hpp lies in include/harness/harness/workload/.
set(_include ${CMAKE_INSTALL_INCLUDEDIR}/harness)
install(DIRECTORY harness DESTINATION ${_include} FILES_MATCHING PATTERN "*.hpp")
target_include_directories(harness_options INTERFACE $<INSTALL_INTERFACE:${_include}>)
target_compile_features(harness_options INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)

set(_parts base stats profile system result workload scenario lockstep plan check mlperf measure compare report gate kinds submit cli)
foreach(_part IN LISTS _parts)
  set_target_properties(harness_${_part} PROPERTIES EXPORT_NAME ${_part})
endforeach()
# All of it, with the commands: what a program of one's own links.
set_target_properties(harness_commands PROPERTIES EXPORT_NAME core)
set_target_properties(harness_options PROPERTIES EXPORT_NAME options)
list(TRANSFORM _parts PREPEND harness_ OUTPUT_VARIABLE _libraries)
install(TARGETS harness_options harness_commands ${_libraries} EXPORT harness
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/harness)
if(TARGET loadgen)
  install(TARGETS loadgen EXPORT harness ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/harness)
endif()
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/harness)
install(EXPORT harness FILE harness-targets.cmake NAMESPACE harness:: DESTINATION ${_package})
configure_package_config_file(cmake/harness-config.cmake.in ${PROJECT_BINARY_DIR}/harness-config.cmake
                              INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/harness-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/harness-config.cmake ${PROJECT_BINARY_DIR}/harness-config-version.cmake
        DESTINATION ${_package})
