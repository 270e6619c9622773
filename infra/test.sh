#!/usr/bin/env bash
# All tests, as `make test` runs them: one phase after the other. A failed phase does not stop the next one; the exit code reports any failure.
set -uo pipefail
cd "$(dirname "$0")/.."
export GORACE=atexit_sleep_ms=0 # a program with the race detector otherwise sleeps for a second before it exits
limit=-timeout=60m              # for hangs
logs=bin/test

phase() { # NAME COMMAND...
  local name=$1 began=$SECONDS
  shift
  echo "== $name"
  if "$@" 2>&1 | tee "$logs/$name.log"; then
    echo "== $name: $((SECONDS - began)) s"
  else
    echo "== $name: failed, $((SECONDS - began)) s"
    failed+=("$name")
  fi
}

mkdir -p "$logs" && rm -f "$logs"/*.log
failed=()
phase vet env GOGC=400 go vet -tags servers,e2e ./...
phase race env CGO_ENABLED=1 go test -race -short -vet=off "$limit" ./...
phase servers go test -tags servers -vet=off "$limit" ./...
phase end-to-end make --no-print-directory e2e

if [ ${#failed[@]} -gt 0 ]; then
  echo "== failures"
  grep -hE -B 20 -A 12 -e '^ *--- FAIL: ' -e '^(panic|fatal error): ' -e '^WARNING: DATA RACE' -e 'build failed\]' "$logs"/*.log | awk '!seen[$0]++' | head -n 300
fi
echo "== all: $SECONDS s${failed:+; failed: ${failed[*]}}"
[ ${#failed[@]} -eq 0 ]
