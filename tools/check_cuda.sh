#!/usr/bin/env bash
# Compiles all code for GPUs where there is nvcc, on a machine without a GPU: kernels stand behind a
# plain struct and need nvcc alone; the sources between them and LibTorch are checked against the
# headers, which LibTorch for CPUs has too.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc); then
  echo "skipped: no nvcc"
  exit 0
fi
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# The compiler itself says where its headers are: what PATH finds may be a script that calls it.
echo '#include <cuda_runtime.h>' >"$objects/headers.cu"
cuda=$("$nvcc" -M "$objects/headers.cu" | tr ' ' '\n' | sed -n 's|/cuda_runtime\.h$||p')

while IFS= read -r source; do
  echo "$source"
  "$nvcc" -std=c++20 -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90a,code=sm_90a -I. -c "$source" -o "$objects/object.o"
done < <(find perceiver bench -name '*.cu' | sort)

# The macro stands for a header that only LibTorch's build for CUDA has.
launcher=()
if command -v ccache >/dev/null; then
  launcher=(env "CCACHE_BASEDIR=$PWD" CCACHE_NOHASHDIR=1 ccache)
fi
while IFS= read -r source; do
  if grep -q 'cublasLt.h' "$source" && [[ ! -e $cuda/cublasLt.h ]]; then
    echo "$source: skipped, no cublasLt.h"
    continue
  fi
  echo "$source"
  "${launcher[@]}" g++ -std=c++20 -O0 -Wall -Wextra -Werror -DFMT_HEADER_ONLY \
    -DC10_USING_CUSTOM_GENERATED_MACROS -I. -isystem .deps/torch/include \
    -isystem .deps/torch/include/torch/csrc/api/include -isystem "$cuda" \
    -c "$source" -o "$objects/object.o"
done < <(find perceiver/kernels -name '*_torch.cpp' | sort
         echo perceiver/kernels/optimizer/parameter_table.cpp)
