#!/usr/bin/env bash
# tools/peers.sh [--or-skip] [options of tests/peers/peers.py]: compares build/perceiver with Hugging
# Face's transformers, which it installs beside the project's torch into .deps/peers, has TensorBoard
# read what training writes, and compares build/statistics_peer with scikit-learn and scipy. With
# --or-skip a machine on which transformers cannot be installed is no failure; without TensorBoard
# or scikit-learn that check is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

or_skip=
if [[ ${1:-} == --or-skip ]]; then
  or_skip=1
  shift
fi

if ! python=$(tools/transformers.sh); then
  [[ $or_skip ]] || exit 1
  echo "skipped: transformers cannot be installed (.deps/peers.log says why)"
  exit 0
fi
$python -B tests/peers/peers.py "$@"

# with PACKAGE MODULE SCRIPT [ARGUMENTS]: runs the script if Python has the module or can get it.
with() {
  local packages=$1 module=$2
  shift 2
  # shellcheck disable=SC2086
  if $python -c "import $module" 2>/dev/null ||
      $python -m pip install --quiet --disable-pip-version-check $packages \
        >>.deps/peers.log 2>&1; then
    $python -B "$@"
  else
    echo "skipped: $module cannot be installed (.deps/peers.log says why)"
  fi
}
with "tensorboard setuptools" tensorboard tests/peers/events.py "$@"
with scikit-learn sklearn tests/peers/scores.py "$@"
