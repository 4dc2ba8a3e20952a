#!/usr/bin/env bash
# tools/build.sh FOLDER TARGET...: builds them with JOBS processes. On a terminal progress is one
# line; elsewhere it is a line for each tenth, and what the compiler has to say.
set -euo pipefail
folder=$1
shift
command=(cmake --build "$folder" -j "${JOBS:-$(nproc)}" --target "$@")

if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then
  NINJA_STATUS="built %f of %t in %e s: " exec "${command[@]}"
fi
"${command[@]}" | awk -F '[][/]' '
  /^\[[0-9]+\/[0-9]+\] / {
    tenth = int(10 * $2 / $3)
    if (tenth > last) print "built " $2 " of " $3
    if (tenth > last) last = tenth
    fflush()
    next
  }
  { print; fflush() }'
