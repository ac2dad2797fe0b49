#!/usr/bin/env bash
# Runs the Swift tests under a sanitizer of the compiler. Each sanitizer has a separate build:
#
#     Tests/sanitize.sh address [FILTER]     reads and writes outside of allocated memory
#     Tests/sanitize.sh thread [FILTER]      two threads at the same memory without a lock
#
# FILTER is the one of `swift test --filter`. Tests/Sanitizers lists the skipped tests and reports, with the reasons.
# Tests/run.sh installs the system packages. A build takes about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
kind=${1:-}
filter=${2:-}
traits=TPM2,PKCS11,FIDO2,PostgreSQL
# See Tests/run.sh.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1
flags=()
# A damaged answer of a hardware token can ask libcbor for more memory than there is. Then malloc fails, as without a
# sanitizer.
case $kind in
address)
    # The sanitizer does not look for leaks, because a test ends while other threads still work.
    export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1"
    ;;
thread)
    # See Sources/VaultBase/Lock.swift.
    flags=(-Xswiftc -DTHREAD_SANITIZER)
    export TSAN_OPTIONS="suppressions=$PWD/Tests/Sanitizers/thread.txt:allocator_may_return_null=1"
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
# "swift test" succeeds if it ran nothing.
if ! grep -qE 'Test run with [1-9][0-9]* test' "$log"; then
    echo "No test ran." >&2
    exit 1
fi
if grep -qE '(WARNING|ERROR): (Address|Thread)Sanitizer' "$log"; then
    echo "There are reports of the sanitizer, see above." >&2
    exit 1
fi
exit "$status"
