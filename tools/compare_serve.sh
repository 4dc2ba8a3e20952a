#!/usr/bin/env bash
# tools/compare_serve.sh [options of tests/server/compare.py]: measures `perceiver serve` beside
# transformers behind FastAPI and uvicorn, with the weights of language_bytes, which are random: the
# time is the same. What that takes is installed into .deps/peers.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(tools/transformers.sh)
$python -c "import fastapi, uvicorn" 2>/dev/null ||
  $python -m pip install --quiet --disable-pip-version-check fastapi uvicorn >>.deps/peers.log 2>&1
program=build/perceiver
for ((i = 1; i < $#; ++i)); do
  [[ ${!i} != --program ]] || { next=$((i + 1)) && program=${!next}; }
done
model=.deps/language_bytes
[[ -e $model/config.json ]] || "$program" convert language_bytes "$model" >/dev/null
exec "$python" -B tests/server/compare.py "$model" --python "$python" "$@"
