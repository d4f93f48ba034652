#!/usr/bin/env bash
# Compiles a test of vector arithmetic for ARM (NEON) and runs it under an emulator. Ends with 77, which
# ctest shows as skipped, where the tools are not there.
# usage: simd_neon.sh SOURCE_DIR BUILD_DIR HEADER_DIRS NAME SOURCE... [-- ARGUMENT...]
# HEADER_DIRS: what the test includes besides the project's own, as /usr/include/hwy:/usr/include/catch2
set -eu -o pipefail

source_dir="$1" build_dir="$2/neon" headers="$3" name="$4"
shift 4
sources=()
while (($# > 0)) && [[ "$1" != -- ]]; do
  sources+=("$source_dir/$1")
  shift
done
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

# These headers alone: beside them lie those of this machine's own C library.
mkdir -p "$build_dir/include"
IFS=: read -r -a folders <<<"$headers"
for folder in "${folders[@]}"; do ln -sfn "$folder" "$build_dir/include/$(basename "$folder")"; done
# Statically linked: the emulated program finds no libraries of its own processor here. Only one
# instruction set: the others (SVE) would need Highway's library.
"$compiler" -std=c++20 -O2 -static -fopenmp -DHWY_COMPILE_ONLY_STATIC -Wall -Wextra -I"$source_dir" \
  -isystem "$build_dir/include" "${sources[@]}" -o "$build_dir/$name"
"$emulator" "$build_dir/$name" "${@:2}"
