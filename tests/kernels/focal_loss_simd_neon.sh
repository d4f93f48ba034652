#!/usr/bin/env bash
# Compiles focal_loss_simd_test for ARM (NEON) and runs it under an emulator. Ends with 77, which ctest
# shows as skipped, where the tools are not there.
# usage: focal_loss_simd_neon.sh SOURCE_DIR BUILD_DIR HIGHWAY_INCLUDE_DIR
set -eu -o pipefail

source_dir="$1" build_dir="$2/neon" highway="$3"
compiler=aarch64-linux-gnu-g++
emulator=
for candidate in qemu-aarch64 qemu-aarch64-static; do
  if command -v "$candidate" >/dev/null; then emulator="$candidate"; fi
done
command -v "$compiler" >/dev/null || {
  echo "skipped: there is no $compiler (Debian: apt-get install g++-aarch64-linux-gnu)"
  exit 77
}
[[ -n "$emulator" ]] || {
  echo 'skipped: there is no qemu-aarch64 (Debian: apt-get install qemu-user)'
  exit 77
}

# Highway's headers alone: beside them lie those of this machine's own C library.
mkdir -p "$build_dir/include"
ln -sfn "$highway/hwy" "$build_dir/include/hwy"
# Statically linked: the emulated program finds no libraries of its own processor here. Only one
# instruction set: the others (SVE) would need Highway's library.
"$compiler" -std=c++20 -O2 -static -DHWY_COMPILE_ONLY_STATIC -Wall -Wextra -I"$source_dir" -isystem "$build_dir/include" \
  "$source_dir/tests/kernels/focal_loss_simd_test.cpp" "$source_dir/kernels/focal_loss/focal_loss_simd.cpp" \
  -o "$build_dir/focal_loss_simd_test"
# Emulation is slow: every 9973rd float will do.
"$emulator" "$build_dir/focal_loss_simd_test" 9973
