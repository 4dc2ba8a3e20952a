#!/usr/bin/env bash
# tools/peers.sh [--or-skip] [options of tests/peers/peers.py]: compares build/perceiver with Hugging
# Face's transformers, which it installs beside the project's torch into .deps/peers, and has
# TensorBoard read what training writes. With --or-skip a machine on which transformers cannot be
# installed is no failure; without TensorBoard that check is left out.
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

if $python -c "import tensorboard" 2>/dev/null ||
    $python -m pip install --quiet --disable-pip-version-check tensorboard setuptools \
      >>.deps/peers.log 2>&1; then
  $python -B tests/peers/events.py "$@"
else
  echo "skipped: tensorboard cannot be installed (.deps/peers.log says why)"
fi
