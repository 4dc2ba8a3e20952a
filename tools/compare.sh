#!/usr/bin/env bash
# tools/compare.sh [options of tests/peers/compare.py]: times build/perceiver beside Hugging Face's
# transformers, with the same weights, inputs and threads, taking turns. PYTHON=python3 takes a Python
# that has torch and transformers already.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(tools/transformers.sh)
exec "$python" -B tests/peers/compare.py "$@"
