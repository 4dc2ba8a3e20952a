#!/usr/bin/env bash
# tools/wheel.sh [sdist]: builds what the Python package is made of in build/ and puts a wheel into
# build/wheel, or, without building, a source distribution.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} == sdist ]]; then
  exec python3 -B python/package.py sdist build/wheel
fi
cmake --build build -j "${JOBS:-$(nproc)}" --target perceiver_python perceiver_portable >&2
rm -f build/wheel/*.whl
exec python3 -B python/package.py wheel build build/wheel
