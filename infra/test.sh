#!/usr/bin/env bash
# All tests, as `make test` runs them: phases with their times, and a line for each package as soon as
# it is done. Servers, logins and time limits are waited for everywhere, so three things go on at once:
# what the race detector watches, what is tested as shipped, and the end-to-end suite, which waits most
# and takes longest: it goes first where all want the processor. A fourth does what goes one after the
# other. A phase that fails does not keep the next from running; the exit code tells of any.
#
# Everything is compiled in two ways only: with the race detector, which vet can read, too, and as what is shipped, which tests build as well.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
logs=$PWD/bin/test
limit=-timeout=40m                   # for what hangs: a slow machine takes what it takes
export GORACE=atexit_sleep_ms=0      # a program with the race detector sleeps for a second when it ends, otherwise
# No symbols for debuggers: without them compiling takes a fifth less of CPU, and linking half. A compiler that collects its garbage only
# when it holds much takes a third less: what runs the tools sets that, so that programs and tests are not told. And the race detector
# leaves out what only computes: SQLite, whose memory is not Go's and which the detector cannot watch, compression, and the inside of hashes
# and ciphers. AWS's SDK is not watched either, through which each request goes in some fifty steps, nor are large libraries that are
# generated; nor are they inlined, which halves the time that they take to compile; nor is the API inlined, each of whose requests is a
# large function of its own. Nor does the race detector's build check the pointers of package unsafe, which nothing here has: that
# took a twentieth of all. Whatever tests build is built with the same flags, so that nothing is compiled a third time.
#
# What shares something by atomic operations must be watched, such as a cache of types in package json: the detector sees them only there,
# and would take what they guard for unguarded. AWS's SDK has such caches, too, of which nothing but the SDK reads anything.
#
# Folders are named, from wherever the go command runs: for a pattern of import paths it makes an expression anew for each package, which
# took three quarters of its time.
plain='-dwarf=false -d=checkptr=0'
alone="$plain -race=false"
up=../../../../../../../../../../../../../../../../../../../..
modules=$up$($go env GOMODCACHE)
flags="-trimpath -ldflags=-s '-toolexec=env GOGC=off GOMEMLIMIT=1400MiB' '-gcflags=all=$plain' '-gcflags=$up$PWD/shared/api=$plain -l'"
for p in github.com/aws go.lsp.dev github.com/jackc/pgx; do
  flags+=" '-gcflags=$modules/$p/...=$alone -l'"
done
for p in modernc.org github.com/klauspost; do
  flags+=" '-gcflags=$modules/$p/...=$alone'"
done
flags+=" '-gcflags=$up$($go env GOROOT)/src/crypto/internal/fips140/...=$alone'"
export GOFLAGS="${GOFLAGS:-} $flags"
cores=$(getconf _NPROCESSORS_ONLN)
many=$((cores + 1)) # packages at a time: most of them wait now and then

# What takes longest is begun first, so that none of it runs alone at the end.
long=(./shared/cli ./shared/aws/dynamo ./shared/aws/logs ./handlers/pkg ./handlers/svc ./functions/internal/handler ./shared/api ./shared/lang/python
  ./shared/lang/modtool ./shared/provider/providertest ./shared/service/fulfil ./shared/transport/ssh)
# Tests of programs that they build themselves, and of files: what runs at once there is not in the test.
programs=(./cmd/southbound ./examples/caddy ./examples/etc ./examples/fleet ./examples/services ./functions ./functions/log ./infra/... ./shared/scaffold)
# Many seeds.
seeds=(./shared/deploy/sim ./shared/service/sim ./shared/aws/awssim)
# Packages that start no goroutines, nor does what they use: there is nothing to watch. A test holds that.
quiet=(./handlers/internal/tool ./shared/dag ./shared/diffview ./shared/lang/jinja ./shared/lang/metadata ./shared/lang/module
  ./shared/lang/pep440 ./shared/lang/pep508 ./shared/lang/project ./shared/lang/std ./shared/lang/syntax ./shared/resource
  ./shared/schema ./shared/service/inventory ./shared/service/lifecycle ./shared/typefile
  ./functions/internal/memory ./handlers/internal/disk ./shared/aws/awserr ./shared/aws/emf ./shared/aws/pack ./shared/aws/sigv4
  ./shared/binform ./shared/deploy/model ./shared/deploy/state ./shared/diag ./shared/diff ./shared/entity ./shared/lang/lsp/names
  ./shared/lang/lsp/text ./shared/lang/types ./shared/schema/puppet ./shared/service/bundle ./shared/transport/options)
# Handlers in which nothing runs at once but their calls. The race detector watches those, in the checks of the suite of handlers that
# make several at a time; the rest, which asks a disk or a server for one thing after the other, takes many times as long with it, and
# runs as shipped. Each runs once. A test holds that there are tests with these names.
calls=(./handlers/aws ./handlers/fs ./handlers/sql)
at_once='Batch|Panics|Meanwhile|EditorsDoNotLose'
at_once+='|Conformance$/^(parallel|batch|canceled)$|Conformance$/^(usual|text|ministack)$/^(parallel|batch|canceled)$'
# Packages of which many calls at once are the point. They have all processors when the race detector watches them; see watched.
crowded=(./shared/deploy ./shared/deploy/lane ./shared/deploy/run ./shared/lang/lsp ./shared/local ./shared/provider ./shared/transport/pool
  ./shared/transport/remote ./shared/aws/worker)
# Counts of requests, by one test after the other.
counts=(./infra/aws/cost)
# Suites of which the race detector watches a part: each way through the code, but not with each server,
# and not each point of a crash. SOUTHBOUND_TEST_REST has them leave out the servers that it watches.
parts=(./shared/aws/dynamo ./shared/aws/logs)

# raced lists the packages that the race detector watches with one processor: all others. The simulators run in both ways, with fewer seeds there.
raced() {
  $go list -tags servers "${programs[@]}" "${counts[@]}" "${quiet[@]}" "${calls[@]}" "${crowded[@]}" ./localstack/e2e | grep -vxFf - <($go list -tags servers ./...)
}

# tests runs go test; a line for each package when it is done, and what a test that fails says as soon as it does.
tests() {
  if [ -x "$logs/gotestsum" ]; then
    nice -n 5 "$logs/gotestsum" --format pkgname-and-test-fails --format-icons text --hide-summary skipped -- "$@"
  else
    nice -n 5 $go test "$@"
  fi
}

# Programs that the race detector watches have one processor, on which their goroutines take turns. With two, the kernel tells the other
# processor of each page that the detector's memory gets, which took a third of all. Races are found by what happens before what, and not
# by what meets; still, of 31 locks that were left out for once, with one processor the tests missed one that they found with two, and the
# other way round. So what is made for calls at once has all of them.
watched() { GOMAXPROCS=1 at_a_time -race "$@"; }
watched_at_once() { at_a_time -race "$@"; }
shipped() { CGO_ENABLED=0 at_a_time "$@"; }

# Of the tests of a package that may run beside each other, most wait for servers.
at_a_time() { tests -vet=off -tags servers "$limit" -parallel "$((2 * cores))" "$@"; }

phase() { # NAME COMMAND...: run it, and say how long it took
  local name=$1 began=$SECONDS
  shift
  echo "== $name"
  if "$@" 2>&1 | tee -a "$log"; then
    echo "== $name: $((SECONDS - began)) s"
  else
    echo "$name" >>"$logs/failed"
    echo "== $name: failed, $((SECONDS - began)) s"
  fi
}

end_to_end() { # says little while it runs
  make --no-print-directory e2e >"$logs/e2e.log" 2>&1
  local ended=$?
  grep -e '^ *--- ' -e 'took' -e 'recovered' "$logs/e2e.log"
  [ $ended -eq 0 ] || cat "$logs/e2e.log"
  return $ended
}

as_shipped() { # many seeds and programs, and the rest of what is watched in part
  phase 'tests as shipped: seeds, programs, counts' shipped -p "$cores" "${counts[@]}" "${seeds[@]}" "${programs[@]}" "${quiet[@]}"
  SOUTHBOUND_TEST_REST=1 phase 'tests as shipped: what is watched in part' shipped -p "$cores" -run 'TestCrash|TestConformance' "${parts[@]}"
}

one_by_one() { # handlers, in both ways, and what holds much
  phase 'handlers that are called several times at once, with the race detector' watched_at_once -p 1 -run "$at_once" "${calls[@]}"
  phase 'packages that are made for calls at once, with the race detector' watched_at_once -p "$cores" "${crowded[@]}"
  phase 'handlers, but for what is called at once' shipped -p 1 -skip "$at_once" "${calls[@]}"
  phase 'tests of what is large or long, one after the other' shipped -p 1 \
    -run 'Many|Large|Cost|TestMemory|TestBounds|TestPack|TestPlanIsWhatApplyDoes|TestTargetIsAllThatChanges' \
    ./shared/aws/logs ./shared/source ./shared/api/chunk ./shared/deploy
}

beside=()
begin() { # LOG COMMAND...: run it beside the rest, in a process group of its own, which can be ended with all that it has begun
  log=$logs/$1.log
  shift
  set -m
  "$@" &
  beside+=($!)
  set +m
}

# failures tells once more what failed, and why, which stands before it or behind it: what the end of a log shows is what people see of it.
failures() {
  echo "== what failed"
  grep -hE -B 20 -A 12 -e '^ *--- FAIL: ' -e '^(panic|fatal error): ' -e '^WARNING: DATA RACE' -e '\[build failed\]' "$logs"/*.log |
    awk '!seen[$0]++' | cut -c 1-300 | head -n 200
}

mkdir -p "$logs"
rm -f "$logs"/*.log "$logs/failed"
trap 'for p in "${beside[@]}"; do kill -- -"$p" 2>/dev/null; done' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

begin end phase 'end to end' end_to_end
log=$logs/vet.log
phase 'compile with the race detector, and vet' nice -n 5 $go vet -race -p "$many" -tags servers ./...
# Now that the end-to-end suite has compiled what it shares with this.
(cd / && GOBIN=$logs CGO_ENABLED=0 $go install gotest.tools/gotestsum@v1.13.0) || echo "without gotestsum, packages are told in order, not when they are done"
begin shipped as_shipped
begin single one_by_one
log=$logs/race.log
phase 'tests with the race detector' watched -p "$many" "${long[@]}" $(raced)
wait
failed=$(paste -sd ';' "$logs/failed" 2>/dev/null)
[ -z "$failed" ] || failures
echo "== all: $SECONDS s${failed:+; failed: $failed}"
[ -z "$failed" ]
