#!/usr/bin/env bash
# tools/peers.sh [--or-skip] [options of tests/peers/peers.py]: compares build/perceiver with Hugging
# Face's transformers, which it installs beside the project's torch into .deps/peers, and has
# TensorBoard read what training writes. With --or-skip a machine on which transformers cannot be
# installed is no failure; without TensorBoard that check is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
transformers_version=5.17.0

say() { echo "peers: $*" >&2; }

or_skip=
if [[ ${1:-} == --or-skip ]]; then
  or_skip=1
  shift
fi

python=.deps/peers/bin/python
installed=.deps/peers/transformers-$transformers_version

install_transformers() {
  rm -rf .deps/peers
  python3 -m venv .deps/peers || return
  # What torch itself needs of Python comes along; torch is not installed a second time.
  $python -m pip install --quiet --disable-pip-version-check "transformers==$transformers_version" \
    sympy networkx jinja2 || return
  touch "$installed"
}

[[ -e .deps/torch/lib ]] || { say "no LibTorch in .deps; run tools/setup.sh"; exit 1; }
[[ -e $installed ]] || say "installing transformers $transformers_version into .deps/peers"
if [[ ! -e $installed ]] && ! install_transformers >.deps/peers.log 2>&1; then
  if [[ $or_skip ]]; then
    echo "skipped: transformers $transformers_version cannot be installed (.deps/peers.log says why)"
    exit 0
  fi
  tail -n 5 .deps/peers.log >&2
  say "cannot install transformers $transformers_version"
  exit 1
fi
# The torch that the program is built with, by a path: one that moved is found again.
dirname "$(readlink -f .deps/torch)" >"$(echo .deps/peers/lib/python3*/site-packages)/torch.pth"
$python -B tests/peers/peers.py "$@"

if $python -c "import tensorboard" 2>/dev/null ||
    $python -m pip install --quiet --disable-pip-version-check tensorboard setuptools \
      >>.deps/peers.log 2>&1; then
  $python -B tests/peers/events.py "$@"
else
  echo "skipped: tensorboard cannot be installed (.deps/peers.log says why)"
fi
