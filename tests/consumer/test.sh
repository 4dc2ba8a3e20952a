#!/usr/bin/env bash
# tests/consumer/test.sh BUILD_DIR TORCH_PREFIX: installs BUILD_DIR into a temporary prefix, then
# builds and runs the consumer against what was installed, and nothing else of the project.
set -euo pipefail
build=$1 torch=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp "$here/CMakeLists.txt" "$here/main.cpp" "$work"
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix;$torch"
cmake --build "$work/build"
"$work/build/consumer"
