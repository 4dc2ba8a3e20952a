#!/usr/bin/env bash
# tools/format.sh -i: formats every source in place; without -i: fails when one is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
# Versions format differently; 14, Debian 12's, is the one that counts.
clang_format=$(command -v clang-format-14 || command -v clang-format) || {
  echo "format: no clang-format here; install the package clang-format" >&2
  exit 1
}
mode=(--dry-run --Werror)
[[ ${1:-} != -i ]] || mode=(-i)

folders=()
for folder in perceiver cli python tests bench; do
  [[ ! -d $folder ]] || folders+=("$folder")
done
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 |
  xargs -0 -r "$clang_format" "${mode[@]}"
