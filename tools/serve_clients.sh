#!/usr/bin/env bash
# tools/serve_clients.sh [--or-skip] [--program build/perceiver]: has `perceiver serve` asked by those
# who will ask it: the clients of the Open Inference Protocol and of OpenAI, curl as README.md shows it,
# schemathesis from the server's own OpenAPI document, a browser, and clients that mean harm. What it
# needs of Python it installs into .deps/clients; what cannot be installed is skipped with a word.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == --or-skip ]]; then
  shift
elif ! python3 -m pip --version >/dev/null 2>&1; then
  echo "tools/serve_clients.sh: Python has no pip; install it (Debian: python3-pip), or give --or-skip"
  exit 1
fi
program=build/perceiver
[[ ${1:-} != --program ]] || program=$2

if ! "$program" serve -h >/dev/null 2>&1; then
  echo "skipped: this build has no 'perceiver serve' (Debian: libboost-dev libssl-dev)"
  exit 0
fi

log=.deps/clients.log
mkdir -p .deps/clients
export PYTHONPATH=$PWD/.deps/clients:$PWD/tests/server PYTHONDONTWRITEBYTECODE=1
failed=() skipped=0

# has MODULE PACKAGE: whether Python has it, or can get it
has() {
  python3 -c "import $1" 2>/dev/null ||
    python3 -m pip install --quiet --disable-pip-version-check --target .deps/clients "$2" >>$log 2>&1 ||
    { echo "skipped: $2 cannot be installed ($log says why)"; ((++skipped)); false; }
}
check() {
  local name=$1
  shift
  echo "-- $name"
  "$@" || failed+=("$name")
}

# Two minutes of requests that the document allows, and of some that it does not.
schemathesis() {
  local url port
  coproc SERVER { exec "$program" serve --port 0 -q --threads 1 -m language-mini -m image-mini; }
  local server=$SERVER_PID
  read -r url <&"${SERVER[0]}"
  for _ in $(seq 300); do
    curl -sf "$url/health" >/dev/null && break
    sleep 0.1
  done
  timeout 300 python3 -m schemathesis.cli run "$url/docs/openapi.json" --url "$url" --max-examples 8 \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --seed 1 --suppress-health-check all --phases coverage,fuzzing --request-timeout 30 --no-color \
    >.deps/schemathesis.log 2>&1 || { tail -60 .deps/schemathesis.log; kill "$server"; return 1; }
  tail -12 .deps/schemathesis.log
  kill "$server"
  wait "$server"
}

for package in "tritonclient tritonclient[http]" "open_inference open-inference-openapi" "openai openai" \
    "prometheus_client prometheus-client"; do
  has ${package% *} "${package#* }" || true
done
check "clients" python3 tests/server/clients.py --program "$program"
check "README.md's curl" python3 tests/server/readme.py --program "$program"
check "attacks" python3 tests/server/attacks.py --program "$program"
if has schemathesis schemathesis; then check "schemathesis" schemathesis; fi
if has playwright playwright; then
  if ! command -v chromium chromium-headless-shell google-chrome >/dev/null; then
    apt-get install -y -qq chromium-headless-shell >>$log 2>&1 || true
  fi
  check "the page, in Chromium" python3 tests/server/page.py --program "$program" --screenshots .deps/screenshots
fi
if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "all that could be asked was answered as it should be; $skipped skipped"
