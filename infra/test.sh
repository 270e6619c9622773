#!/usr/bin/env bash
# All tests, as `make test` runs them: phases with their times, and a line for each package as soon as it is done. The end-to-end suite waits
# more than it works, so it runs beside all others. A phase that fails does not keep the next from running; the exit code tells of any.
#
# Everything is compiled in two ways only: with the race detector, which vet can read, too, and as what is shipped, which tests build as well.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
logs=$PWD/bin/test
limit=-timeout=40m                   # for what hangs: a slow machine takes what it takes
export GORACE=atexit_sleep_ms=0      # a program with the race detector sleeps for a second when it ends, otherwise
# No symbols for debuggers: without them compiling takes a fifth less of CPU, and linking half. A compiler that collects its garbage later
# takes a quarter less: what runs the tools sets that, so that programs and tests are not told. And the race detector leaves out what only
# computes: SQLite, whose memory is not Go's and which the detector cannot watch, and the inside of hashes and ciphers. Large libraries that
# are generated are not watched either, nor inlined, which halves the time that they take to compile. Whatever tests build is built with the
# same flags, so that nothing is compiled a third time.
plain=-dwarf=false
alone="$plain -race=false"
flags="-trimpath -ldflags=-s '-toolexec=env GOGC=400' -gcflags=all=$plain"
for p in modernc.org crypto/internal/fips140; do
  flags+=" '-gcflags=$p/...=$alone'"
done
for p in github.com/aws/aws-sdk-go-v2/service go.lsp.dev github.com/jackc/pgx/v5; do
  flags+=" '-gcflags=$p/...=$alone -l'"
done
export GOFLAGS="${GOFLAGS:-} $flags"
many=$(($(getconf _NPROCESSORS_ONLN) + 1)) # packages at a time: most of them wait now and then

# What takes longest is begun first, so that none of it runs alone at the end.
long=(./shared/cli ./shared/aws/dynamo ./shared/aws/logs ./handlers/aws ./handlers/sql ./handlers/svc ./handlers/pkg)
# Tests of programs that they build themselves, and of files: what runs at once there is not in the test.
programs=(./cmd/southbound ./examples/caddy ./examples/etc ./examples/fleet ./functions ./functions/log ./infra/... ./shared/scaffold)
# Many seeds.
seeds=(./shared/deploy/sim ./shared/aws/awssim)
# Suites of which the race detector watches a part: each way through the code, but not with each server, and not each point of a crash.
parts=(./shared/aws/dynamo ./shared/aws/logs)

# raced lists the packages that are watched by the race detector: all others. The simulators run in both ways, with fewer seeds there.
raced() {
  $go list -tags servers "${programs[@]}" ./shared/aws/cost ./localstack/e2e | grep -vxFf - <($go list -tags servers ./...)
}

# tests runs go test; a line for each package when it is done, and what a test that fails says as soon as it does.
tests() {
  if [ -x "$logs/gotestsum" ]; then
    "$logs/gotestsum" --format pkgname-and-test-fails --format-icons text --hide-summary skipped -- "$@"
  else
    $go test "$@"
  fi
}

shipped() { CGO_ENABLED=0 tests -vet=off -tags servers "$limit" "$@"; }

failed=()
phase() { # NAME COMMAND...: run it, and say how long it took
  local name=$1 began=$SECONDS
  shift
  echo "== $name"
  if "$@" 2>&1 | tee -a "$logs/all.log"; then
    echo "== $name: $((SECONDS - began)) s"
  else
    failed+=("$name")
    echo "== $name: failed, $((SECONDS - began)) s"
  fi
}

beside() { # what waits more than it works: the end-to-end suite, and then the counts of requests, one test after the other
  local began=$SECONDS ended=0
  make --no-print-directory e2e >"$logs/e2e.log" 2>&1 || ended=1
  echo "== end to end, beside: $((SECONDS - began)) s"
  shipped ./shared/aws/cost >>"$logs/e2e.log" 2>&1 || ended=1
  echo "== end to end and counts, beside: ended with $ended after $((SECONDS - began)) s"
  return $ended
}

# failures tells once more what failed, with the first lines of each: what the end of a log shows is what people see of it.
failures() {
  echo "== what failed"
  grep -hE -A 12 -e '^ *--- FAIL: ' -e '^(panic|fatal error): ' -e '^WARNING: DATA RACE' -e '\[build failed\]' "$logs/all.log" |
    awk '!seen[$0]++' | cut -c 1-300 | head -n 200
}

mkdir -p "$logs"
: >"$logs/all.log"
(cd / && GOBIN=$logs CGO_ENABLED=0 $go install gotest.tools/gotestsum@v1.13.0) || echo "without gotestsum, packages are told in order, not when they are done"

set -m # a process group of its own, which can be ended with all that it has begun
beside &
e2e=$!
set +m
trap 'kill -- -$e2e 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

phase 'compile with the race detector, and vet' $go vet -race -tags servers ./...
phase 'tests with the race detector' tests -race -vet=off -tags servers -p "$many" "$limit" "${long[@]}" $(raced)
phase 'tests as shipped: seeds, programs' shipped -p "$many" "${seeds[@]}" "${programs[@]}"
phase 'tests as shipped: what was watched in part' shipped -p "$many" -run 'TestCrash|TestConformance' "${parts[@]}"
phase 'tests that hold much, one after the other' shipped -p 1 -run 'Many|Large|Cost|TestMemory' ./shared/aws/logs ./shared/source
echo '== end to end, and counts'
if wait "$e2e"; then
  grep -e '^ *--- ' -e 'took' -e 'recovered' "$logs/e2e.log"
else
  failed+=('end to end, and counts')
  tee -a "$logs/all.log" <"$logs/e2e.log"
fi
[ ${#failed[@]} -eq 0 ] || failures
echo "== all: $SECONDS s${failed[*]/#/; failed: }"
[ ${#failed[@]} -eq 0 ]
