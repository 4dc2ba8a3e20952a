#!/usr/bin/env bash
# tools/serve_clients.sh [build/perceiver]: has the clients that people use ask `perceiver serve`:
# curl as in the README, tritonclient and open-inference-openapi, schemathesis from the OpenAPI file,
# and Chromium with the page. They are installed into .deps/clients; what cannot be is skipped, and said.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.deps/clients/bin/python
log=.deps/clients.log

program=${1:-build/perceiver}

# with MODULES PACKAGES SCRIPT [ARGUMENTS]: runs the script where Python has the modules or can get them.
with() {
  local modules=$1 packages=$2
  shift 2
  # shellcheck disable=SC2086
  if $python -c "import $modules" 2>/dev/null ||
      $python -m pip install --quiet --disable-pip-version-check $packages >>"$log" 2>&1; then
    $python -B "$@" --program "$program"
  else
    echo "skipped: $packages cannot be installed ($log says why)"
  fi
}

if ! "$program" help serve >/dev/null 2>&1; then
  echo "skipped: $program has no 'serve' (Debian: libboost-dev libssl-dev, then build again)"
  exit 0
fi
mkdir -p .deps
[[ -x $python ]] || python3 -m venv .deps/clients >"$log" 2>&1 || true
if command -v curl >/dev/null; then
  python3 -B tests/server/readme.py --program "$program"
else
  echo "skipped: no curl is installed"
fi
with tritonclient.http,open_inference.openapi.client "tritonclient[http] open-inference-openapi" \
  tests/server/oip.py
with schemathesis schemathesis tests/server/openapi.py
with playwright playwright tests/server/page.py
