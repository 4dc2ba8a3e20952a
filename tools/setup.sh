#!/usr/bin/env bash
# Brings what the build needs: system packages, and LibTorch as the link .deps/torch.
# Costs nothing when all is there. SKIP_PACKAGES=1 leaves the system packages to you;
# `rm -r .deps` makes the next run look at everything afresh.
set -euo pipefail
cd "$(dirname "$0")/.."

# Names of Debian 12; Ubuntu 24.04 has the same.
required=(build-essential cmake ninja-build python3 python3-venv
          libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev
          libsentencepiece-dev libpng-dev libjpeg-dev zlib1g-dev)
optional=(ccache clang-format  # a faster second build; the formatting check
          libboost-dev libssl-dev  # perceiver serve
          pkg-config libavformat-dev libavcodec-dev libswscale-dev libswresample-dev libavutil-dev)
torch_version=2.13.0
oldest_torch=2.11

say() { echo "setup: $*" >&2; }

missing() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      echo "$package"
  done
}

install_packages() {
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here; install what these are called on your system: ${required[*]}"
    return
  fi
  local need want package
  mapfile -t need < <(missing "${required[@]}")
  mapfile -t want < <(missing "${optional[@]}")
  ((${#need[@]} + ${#want[@]})) || return 0

  local -a root=()
  if ((EUID)); then root=(sudo -n); fi
  if ! "${root[@]}" true 2>/dev/null; then
    local command="sudo apt-get update && sudo apt-get install -y ${need[*]} ${want[*]}"
    if ((${#need[@]})); then
      say "system packages are missing and this user may not install them; run this, then try again:"
      echo "$command" >&2
      exit 1
    fi
    say "going on without these optional packages: ${want[*]}"
    return
  fi

  local -a get=("${root[@]}" env DEBIAN_FRONTEND=noninteractive
                apt-get -qq -y --no-install-recommends)
  say "installing ${need[*]} ${want[*]}"
  local log=.deps/apt.log
  "${get[@]}" update >"$log" 2>&1 || say "apt-get update failed; trying with the old package lists"
  if ((${#need[@]})); then
    "${get[@]}" install "${need[@]}" >>"$log" 2>&1 || {
      tail -n 20 "$log" >&2
      say "cannot install ${need[*]}"
      exit 1
    }
  fi
  # One at a time: one that cannot be had must not take the others with it.
  for package in "${want[@]}"; do
    "${get[@]}" install "$package" >>"$log" 2>&1 || say "going on without the optional $package"
  done
}

# Prints the folder of an installed torch that is new enough, and its CUDA version or "cpu".
installed_torch() {
  python3 - "$oldest_torch" 2>/dev/null <<'PYTHON'
import os, sys, torch

def number(version):
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2])

folder = os.path.dirname(torch.__file__)
if number(torch.__version__) < number(sys.argv[1]) or torch.version.hip:
    sys.exit(1)
if not os.path.exists(folder + "/share/cmake/Torch/TorchConfig.cmake"):
    sys.exit(1)
print(folder)
print(torch.version.cuda or "cpu")
PYTHON
}

find_torch() {
  local -a found
  mapfile -t found < <(installed_torch)
  ((${#found[@]} == 2)) || return 1
  if [[ ${found[1]} != cpu ]]; then
    local nvcc
    if ! nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc); then
      say "not using ${found[0]}: it is built for CUDA ${found[1]} and there is no nvcc"
      return 1
    fi
    ln -sfn "$nvcc" .deps/nvcc  # configure.sh takes this as the sign to switch CUDA on
  fi
  say "using the installed torch in ${found[0]}"
  ln -sfn "${found[0]}" .deps/torch
}

install_torch() {
  say "fetching LibTorch $torch_version for CPUs into .deps: 200 MB, once"
  python3 -m venv .deps/venv
  # No dependencies: those are for Python, and only the libraries and headers are wanted. Never
  # the plain torch of the public index, which brings gigabytes of CUDA.
  local -a pip=(.deps/venv/bin/pip install --disable-pip-version-check --no-deps
                "torch==$torch_version+cpu")
  [[ -t 1 ]] || pip+=(--quiet)  # on a terminal it shows how far it is
  "${pip[@]}" 2>.deps/pip.log ||
    "${pip[@]}" --index-url https://download.pytorch.org/whl/cpu 2>>.deps/pip.log ||
    { cat .deps/pip.log >&2; say "cannot install torch $torch_version"; exit 1; }
  local folder
  folder=$(cd .deps && echo venv/lib/python3*/site-packages/torch)
  ln -sfn "$folder" .deps/torch
}

mkdir -p .deps
if [[ -z ${SKIP_PACKAGES:-} && ! .deps/packages -nt tools/setup.sh ]]; then
  install_packages
  touch .deps/packages
fi
if [[ ! -e .deps/torch/share/cmake/Torch/TorchConfig.cmake ]]; then
  rm -f .deps/nvcc
  find_torch || install_torch
fi
