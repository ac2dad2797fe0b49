#!/usr/bin/env bash
# Runs the Swift tests under a sanitizer of the compiler, each with a build of its own:
#
#     Tests/sanitize.sh address [FILTER]     reads and writes outside of what was allocated
#     Tests/sanitize.sh thread [FILTER]      two threads at the same memory without a lock
#
# FILTER is that of `swift test --filter`. Tests/Sanitizers has the tests and the reports that are left out, and why. The
# system packages are those that Tests/run.sh installs. A build takes about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kind=${1:-}
filter=${2:-}
traits=Logind,TPM2,PKCS11,FIDO2
# See Tests/run.sh.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1
flags=()
case $kind in
address)
    # Leaks are not looked for: a test ends in the middle of what other threads do.
    export ASAN_OPTIONS="detect_leaks=0"
    ;;
thread)
    # See Sources/VaultLocks.
    flags=(-Xswiftc -DTHREAD_SANITIZER)
    export TSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/thread.txt"
    ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 64
    ;;
esac

skips=()
while IFS='|' read -r name reason; do
    [[ -z $name || $name == \#* ]] && continue
    echo "Left out: $name ($reason)"
    skips+=(--skip "$name")
done <"Tests/Sanitizers/skipped.txt"

scratch=.build/sanitize-$kind
swift build --build-tests --sanitize "$kind" --scratch-path "$scratch" --traits "$traits" ${flags[@]+"${flags[@]}"}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
swift test --skip-build --sanitize "$kind" --scratch-path "$scratch" --traits "$traits" ${flags[@]+"${flags[@]}"} \
    ${skips[@]+"${skips[@]}"} ${filter:+--filter "$filter"} 2>&1 | tee "$log" || status=$?
# "swift test" is content when it ran nothing.
if ! grep -qE 'Test run with [1-9][0-9]* test' "$log"; then
    echo "No test ran." >&2
    exit 1
fi
if grep -qE '(WARNING|ERROR): (Address|Thread)Sanitizer' "$log"; then
    echo "There are reports of the sanitizer, see above." >&2
    exit 1
fi
exit "$status"
