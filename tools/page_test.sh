#!/usr/bin/env bash
# tools/page_test.sh [options of tests/page/page_test.py]: drives the page of build/perceiver serve in
# Chromium, with Playwright, which it installs into .deps/page. A machine without Chromium, or on which
# Playwright cannot be installed, is no failure; it says so.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "skipped: $*"; exit 0; }

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "there is no Chromium here (Debian: apt-get install chromium)"
python=.deps/page/bin/python
if ! $python -c "import playwright" 2>/dev/null; then
  mkdir -p .deps
  # It drives the browser that is there and downloads none.
  { python3 -m venv .deps/page && $python -m pip install --quiet --disable-pip-version-check playwright; } \
    >.deps/page.log 2>&1 || skip "Playwright cannot be installed (.deps/page.log says why)"
fi
$python -B tests/page/page_test.py --chromium "$chromium" "$@"
