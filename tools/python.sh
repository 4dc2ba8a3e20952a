#!/usr/bin/env bash
# tools/python.sh [--or-skip] [options of pytest]: builds the wheel, installs it with torch, numpy
# and transformers into a Python of its own (.deps/python), and runs tests/python there. With
# --or-skip a machine on which these cannot be installed is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
transformers_version=$(sed -n 's/^transformers_version=//p' tools/transformers.sh)

or_skip=
if [[ ${1:-} == --or-skip ]]; then
  or_skip=1
  shift
fi

torch_version=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" .deps/torch/version.py)
python=.deps/python/bin/python
installed=.deps/python/torch-$torch_version-transformers-$transformers_version

install_packages() {
  rm -rf .deps/python
  python3 -m venv .deps/python || return
  local -a pip=("$python" -m pip install --quiet --disable-pip-version-check)
  "${pip[@]}" "torch==$torch_version" ||
    "${pip[@]}" "torch==$torch_version" --index-url https://download.pytorch.org/whl/cpu || return
  "${pip[@]}" numpy pytest "transformers==$transformers_version" || return
  touch "$installed"
}

if [[ ! -e $installed ]]; then
  echo "installing torch $torch_version and transformers $transformers_version into .deps/python" >&2
  if ! install_packages >.deps/python.log 2>&1; then
    tail -n 5 .deps/python.log >&2
    [[ $or_skip ]] || exit 1
    echo "skipped: torch or transformers cannot be installed (.deps/python.log says why)"
    exit 0
  fi
fi
wheel=$(tools/wheel.sh)
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
# Not from the clone: what is tested is what was installed.
export PERCEIVER_ROOT=$PWD
cd tests/python
exec "../../$python" -B -m pytest -q -p no:cacheprovider "$@"
