#!/usr/bin/env bash
# tools/configure.sh PRESET [-DNAME=VALUE ...]: configures a preset of CMakePresets.json with the
# LibTorch that setup.sh found; does nothing when the build folder already has these settings.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

folder=build
[[ $preset == release ]] || folder=build-$preset

settings=("-DTorch_DIR=$PWD/.deps/torch/share/cmake/Torch")
if command -v ccache >/dev/null; then
  # Objects are found again from a clone in another folder: paths are taken relative to this one
  # and the folder itself is no part of the key. The sloppiness is what precompiled headers need.
  launcher="env;CCACHE_BASEDIR=$PWD;CCACHE_NOHASHDIR=1"
  launcher+=";CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;ccache"
  settings+=("-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher")
fi
if [[ -L .deps/nvcc ]]; then
  # Even a sanitized build, which has no kernels for CUDA, needs nvcc to find a LibTorch with CUDA.
  settings+=("-DCMAKE_CUDA_COMPILER=$(readlink .deps/nvcc)")
  [[ $preset == asan || $preset == tsan ]] || settings+=(-DPERCEIVER_CUDA=ON)
fi
settings+=("$@")

has_all_settings() {
  [[ -e $folder/build.ninja && ! CMakePresets.json -nt $folder/build.ninja ]] || return 1
  local setting name
  for setting in "${settings[@]}"; do
    setting=${setting#-D}
    name=${setting%%=*}
    [[ $(sed -n "s/^$name:[A-Z]*=//p" "$folder/CMakeCache.txt") == "${setting#*=}" ]] || return 1
  done
}

has_all_settings || {
  echo "configure: $folder" >&2
  cmake --log-level=NOTICE --preset "$preset" "${settings[@]}"
}
