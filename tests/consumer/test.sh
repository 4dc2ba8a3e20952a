#!/usr/bin/env bash
# tests/consumer/test.sh BUILD_DIR: installs BUILD_DIR into a temporary prefix, then builds and runs
# programs by the README's recipe against what was installed, and nothing else of the project.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp "$here/"*.cpp "$work"
sed -n '/^```cmake$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$work/CMakeLists.txt"
recipe=(cmake -S "$work" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix")

# Without LibTorch, one message says how to name it.
if "${recipe[@]}" -B "$work/none" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON >"$work/log" 2>&1; then
  echo "configured without LibTorch"
  exit 1
fi
grep -q 'needs LibTorch' "$work/log" && grep -q -- '-DTorch_DIR=' "$work/log" || {
  cat "$work/log"
  exit 1
}

cat >>"$work/CMakeLists.txt" <<'EOF'
add_executable(toy_task toy_task.cpp)
target_link_libraries(toy_task PRIVATE perceiver::perceiver)
EOF
"${recipe[@]}" -B "$work/build"
cmake --build "$work/build"
cd "$work"  # where the programs leave their files
build/my_program prefix/share/perceiver
build/toy_task run
