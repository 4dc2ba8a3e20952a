#!/usr/bin/env bash
# tools/fuzz.sh SECONDS: builds every fuzzer of tests/fuzz with clang into build-fuzz and runs each
# for so long, from its corpus. Fails on a crash, a hang or a leak; the input that caused it is then
# in build-fuzz. What the runs find new is kept there too, and is where the next run starts.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: tools/fuzz.sh SECONDS}

if ! command -v clang++ >/dev/null; then
  echo "skipped: no clang++"
  exit 0
fi
tools/configure.sh fuzz

fuzzers=()
for source in tests/fuzz/*_fuzz.cpp; do
  fuzzers+=("$(basename "$source" .cpp)")
done
cmake --build build-fuzz -j "$(nproc)" --target "${fuzzers[@]}"

# Nobody should wait 10 s for a file, nor 2 GiB be taken by one: corpora are of small files.
limits=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024
        -print_final_stats=1)
for fuzzer in "${fuzzers[@]}"; do
  found=build-fuzz/found/$fuzzer
  mkdir -p "$found"
  log=build-fuzz/$fuzzer.log
  if ! "build-fuzz/$fuzzer" "${limits[@]}" -artifact_prefix="build-fuzz/$fuzzer-" "$found" \
       "tests/fuzz/corpus/${fuzzer%_fuzz}" >"$log" 2>&1; then
    grep -aE 'ERROR|SUMMARY|Test unit written' "$log" || tail -n 20 "$log"
    echo "$fuzzer: FAILED ($log has the rest)"
    exit 1
  fi
  echo "$fuzzer: ok, $(sed -n 's/stat::number_of_executed_units: *//p' "$log") inputs"
done
