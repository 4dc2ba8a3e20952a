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
  settings+=("-DCMAKE_CXX_COMPILER_LAUNCHER=$PWD/tools/ccache.sh")
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
