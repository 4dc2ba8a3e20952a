#!/usr/bin/env bash
# tools/transformers.sh: prints a Python that has Hugging Face's transformers and the torch that the
# program is built with. It is $PYTHON where that is set; else transformers is installed into
# .deps/peers. Fails, saying why, where that cannot be done.
set -euo pipefail
cd "$(dirname "$0")/.."
transformers_version=5.17.0

say() { echo "peers: $*" >&2; }

if [[ ${PYTHON:-} ]]; then
  "$PYTHON" -c "import torch, transformers" || { say "$PYTHON has no torch or no transformers"; exit 1; }
  echo "$PYTHON"
  exit 0
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
  tail -n 5 .deps/peers.log >&2
  say "cannot install transformers $transformers_version"
  exit 1
fi
# The torch that the program is built with, by a path: one that moved is found again.
torch_path=$(echo .deps/peers/lib/python3*/site-packages)/torch.pth
torch_folder=$(dirname "$(readlink -f .deps/torch)")
[[ -e $torch_path && $(<"$torch_path") == "$torch_folder" ]] || echo "$torch_folder" >"$torch_path"
echo "$python"
