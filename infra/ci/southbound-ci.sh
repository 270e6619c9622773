#!/bin/sh
# southbound-ci.sh: what a pipeline does with resource documents. Nothing but a POSIX shell and southbound is needed.
#
#   southbound-ci.sh validate|plan|export|apply PATH [FLAG]...
#
# It runs `southbound COMMAND PATH FLAG...` and shows what came of it: annotations with file and line, a summary in Markdown,
# and on a pull request of GitHub one comment that is written over each time. export waits until what changed is deployed.
#
# Exit codes are those of southbound: 0 done, 1 could not do it, 2 bad documents, 3 something failed, 4 the time ran out, 130 cancelled. plan ends with 0
# whether or not something would change, unless --exit-code is among the flags (5: it would).
#
# SOUTHBOUND_BIN           the program; otherwise `southbound` on the path, or it is built with Go from the repository that this script is in
# SOUTHBOUND_CI_OUT        folder for result.jsonl, resources.jsonl, summary.md, gl-code-quality-report.json (southbound-ci)
# SOUTHBOUND_CI_TITLE      heading of the summary ("Southbound COMMAND PATH")
# SOUTHBOUND_CI_TIMEOUT    how long export and apply wait (30m)
# SOUTHBOUND_CI_PREFIX     path from the root of the repository to where the script is run ("")
# SOUTHBOUND_CI_COMMENT    "true": comment on the pull request; needs GITHUB_TOKEN
# SOUTHBOUND_ENVIRONMENT, SOUTHBOUND_API, SOUTHBOUND_DATA as for southbound itself
set -u

say() { printf '%s\n' "southbound-ci: $*" >&2; }
die() { say "$2"; exit "$1"; }

case ${1-} in
validate | plan | export | apply) command=$1 ;;
*) die 1 "usage: southbound-ci.sh validate|plan|export|apply PATH [FLAG]..." ;;
esac
[ $# -ge 2 ] && [ -n "$2" ] || die 1 "which documents? usage: southbound-ci.sh $command PATH [FLAG]..."
path=$2
shift 2

here=$(cd "$(dirname "$0")" && pwd) || exit 1
start=$(pwd)
out=${SOUTHBOUND_CI_OUT:-southbound-ci}
mkdir -p "$out" && out=$(cd "$out" && pwd) || die 1 "the folder $out cannot be made"
result=$out/result.jsonl resources=$out/resources.jsonl summary=$out/summary.md
rm -f "$result" "$resources" "$summary" "$out/gl-code-quality-report.json"
title=${SOUTHBOUND_CI_TITLE:-Southbound $command $path}

# The program.
bin=${SOUTHBOUND_BIN:-}
if [ -z "$bin" ]; then
	if command -v southbound >/dev/null 2>&1; then
		bin=southbound
	elif [ -f "$here/../../go.mod" ] && command -v go >/dev/null 2>&1; then
		bin=$out/southbound
		(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -o "$bin" ./cmd/southbound) || die 1 "southbound could not be built"
	else
		die 1 "there is no southbound: set SOUTHBOUND_BIN, put it on the path, or install Go"
	fi
fi
case $bin in
/*) ;;
*/*) bin=$start/$bin ;;
esac

command -v "$bin" >/dev/null 2>&1 || die 1 "there is no program $bin"

# The command runs here, as it does when it is typed, so that it has the same state. Commands without a path are told where the project file is.
if [ -d "$path" ]; then
	project=$path
elif [ -e "$path" ]; then
	project=$(dirname "$path")
else
	die 1 "there is no $path"
fi
path=${path#"$start/"}
prefix=${SOUTHBOUND_CI_PREFIX:-}

wants_code=
for flag in "$@"; do
	[ "$flag" = --exit-code ] && wants_code=yes
done
case $command in
plan) [ -n "$wants_code" ] || set -- "$@" --exit-code ;;
export) set -- --wait --timeout "${SOUTHBOUND_CI_TIMEOUT:-30m}" "$@" ;;
apply) set -- --timeout "${SOUTHBOUND_CI_TIMEOUT:-30m}" "$@" ;;
esac

# What is printed must not be taken for commands of GitHub's runner.
quiet_runner() {
	[ "${GITHUB_ACTIONS:-}" = true ] || return 0
	if [ "$1" = begin ]; then
		word=southbound-$$-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
		printf '%s\n' "::stop-commands::$word" >&2
	else
		printf '%s\n' "::$word::" >&2
	fi
}

# A job that is cancelled gets a signal and some seconds. southbound then stops claims, waits for what runs, and keeps its state; a second signal ends it at
# once, which loses nothing either. A shell starts what runs in the background with SIGINT ignored, so SIGTERM is passed on.
cancelled=
child=
stop() {
	cancelled=yes
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}
trap stop INT TERM HUP
quiet_runner begin
"$bin" "$command" "$path" --json "$@" >"$result" &
child=$!
# A signal may have come before there was a child to pass it on to.
[ -z "$cancelled" ] || kill -TERM "$child" 2>/dev/null
while :; do
	wait "$child"
	code=$?
	kill -0 "$child" 2>/dev/null || break # a signal ends wait, not the child
done
trap '' INT TERM HUP # what follows takes no time
quiet_runner end
[ -z "$cancelled" ] || [ "$code" -le 128 ] || code=130

# What is wrong, by resource.
set --
case $command-$code in
export-3 | export-4 | apply-3 | apply-4)
	environment=$(sed -n 's/^{"environment":"\([A-Za-z0-9_-]*\)".*/\1/p' "$result" | head -n 1)
	if "$bin" resources --json --project "$project" ${environment:+--environment "$environment"} >"$resources"; then
		set -- "$resources"
	else
		rm -f "$resources"
	fi
	;;
esac

report() { "$bin" report "$@"; }

"$bin" report --format markdown --title "$title" --limit 900000 "$result" "$@" >"$summary" || say "no summary could be written"
if [ "$code" -eq 130 ]; then
	printf '\n%s\n' "🛑 **Cancelled.** What was done is recorded, and what is left stays scheduled: run the job again, or \`southbound deploy\`, to go on; \`southbound halt\` to stop it." >>"$summary"
fi
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$summary" >>"$GITHUB_STEP_SUMMARY"
if [ "${GITHUB_ACTIONS:-}" = true ]; then
	report --format github --prefix "$prefix" --documents "$path" "$result" "$@"
elif [ "${GITLAB_CI:-}" = true ]; then
	report --format gitlab --prefix "$prefix" --documents "$path" "$result" "$@" >"$out/gl-code-quality-report.json"
	cat "$summary"
else
	cat "$summary"
fi
if [ "${SOUTHBOUND_CI_COMMENT:-}" = true ]; then
	report --comment --title "$title" "$result" "$@" || say "there is no comment; the job goes on"
fi

changes=false
if [ "$command" = plan ] && [ "$code" -eq 5 ]; then
	changes=true
	[ -n "$wants_code" ] || code=0
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
	printf '%s\n' "exit-code=$code" "changes=$changes" "summary=$summary" >>"$GITHUB_OUTPUT"
fi
exit "$code"
