#!/usr/bin/env bash
# Runs each test of this folder on a booted machine: systemd, D-Bus, logind and PAM, without a network.
#
#     Tests/machine/run.sh            all tests
#     Tests/machine/run.sh FILTER...  only tests whose name contains one of the FILTERs
#     Tests/machine/run.sh --list     shows the tests, and runs none
#     VAULT_RELEASE_BINARIES=.build/release Tests/machine/run.sh     builds nothing before
#     VAULT_RELEASE_BINARIES=.build/tests/release Tests/machine/run.sh     with the programs of Tests/run.sh
#     VAULT_MACHINE_RELEASE=trixie Tests/machine/run.sh     on Debian 13, with programs built on this machine
#
# A test is a script test_….sh here. systemd runs it as root on the machine, and its exit status is the result. Its
# output is shown if it fails. Lines that begin with "Measured: " are always shown. Each document with a block that is
# marked for this machine is a test, too: document.sh runs the document. The machine has the packages that the article
# GettingStarted names, vault as the article builds it or from VAULT_RELEASE_BINARIES, and vault-dev and
# vault-key-service of Tests/run.sh. It sees the project in /project.
#
# The machine is Linux's own containers (systemd-nspawn), so this needs root. make-disk makes its disk once. Each test
# starts with a fresh copy, because its changes stay in memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
article=Sources/CredentialVault/CredentialVault.docc/GettingStarted.md
test_programs=${VAULT_BINARIES:-$PWD/.build/tests/release}

fail() {
    echo "Tests/machine: $*" >&2
    echo "To leave these tests out: Tests/run.sh --without-machine" >&2
    exit 1
}

# Builds the programs by the commands of the article. It installs them with sudo.
build_programs() {
    local commands
    commands=$(sed -n '/^## Install the programs/,/^## What next/s/^\$ //p' "$article" | sed '/^sudo install/,$d')
    [[ $commands == *"--product vault-command"*"--product vault"* ]] || fail "The build is not found in $article."
    echo "Building vault as GettingStarted says"
    env -u CREDENTIAL_VAULT_STRICT bash -euc "$commands" || fail "The build of GettingStarted failed."
}

list_tests() {
    find Tests/machine -name 'test_*.sh' | sort
    grep -rlE --include='*.md' '^<!-- test: machine(,| )' README.md Sources | sort | sed 's|^|Tests/machine/document.sh |'
}
if [[ ${1:-} == --list ]]; then
    list_tests
    exit
fi
filters=("$@")
mapfile -t tests < <(list_tests | grep -F -e "$(printf '%s\n' "${filters[@]}")")
((${#tests[@]})) || exit 0
((EUID == 0)) || fail "Only root can boot a machine. Run the tests as root."
for tool in mmdebstrap systemd-nspawn minisign openssl; do
    command -v "$tool" >/dev/null || fail "$tool is missing. Install mmdebstrap, systemd-container, minisign, openssl."
done
for program in vault-dev vault-key-service; do
    [[ -x $test_programs/$program ]] || fail "$program is not in $test_programs. Tests/run.sh builds it."
done
SECONDS=0

[[ -n ${VAULT_RELEASE_BINARIES:-} ]] || build_programs

disk=$(Tests/machine/make-disk ${VAULT_MACHINE_RELEASE:+"$VAULT_MACHINE_RELEASE"})
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=()
release_programs=${VAULT_RELEASE_BINARIES:-$PWD/.build/release}
for program in "$release_programs"/vault{,-command} "$test_programs"/vault-{dev,key-service}; do
    programs+=("--bind-ro=$program:/usr/local/bin/${program##*/}")
done
for program in minisign openssl; do programs+=("--bind-ro=$(command -v "$program"):/usr/local/bin/$program"); done
# The packages of these programs, and the same ones as a later version. Level 0 takes seconds in place of minutes.
mkdir "$work/packages"
if [[ ${tests[*]} =~ test_packages|test_first_token|KeyServicePostgreSQL ]]; then
    echo "Packing the programs"
    pack=(
        Sources/Packaging/make-debian-packages pack --programs "$release_programs" --key-service-programs "$test_programs"
        --allow-missing-libraries --compression 0
    )
    "${pack[@]}" --output "$work/packages/this" >/dev/null || fail "The packages could not be made."
fi
if [[ ${tests[*]} == *test_packages.sh* ]]; then
    "${pack[@]}" --output "$work/packages/higher" --version 1000-1 >/dev/null || fail "The packages could not be made."
fi
# The programs of Tests/run.sh need the libraries of Swift.
swift=$(swift -print-target-info | sed -nE 's/.*"(.*swift\/linux)".*/\1/p' | head -1)
echo "$swift" >"$work/swift.conf"

# Boots the machine, runs a test, and returns its status. systemd needs the system call bpf there for IPAddressDeny:
# boot TEST
boot() {
    rm -rf "$work/out"
    mkdir "$work/out"
    cat >"$work/test.service" <<E2
[Unit]
Description=$1
After=multi-user.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
TimeoutStartSec=300
Environment=HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
ExecStartPre=/sbin/ldconfig
ExecStart=/bin/bash -euo pipefail /project/$1
StandardOutput=append:/out/log
StandardError=append:/out/log
E2
    timeout --kill-after=10 320 systemd-nspawn --quiet --directory="$disk" --volatile=overlay --boot \
        --machine="credential-vault-$$" --register=no --keep-unit --private-network --console=pipe \
        --system-call-filter=bpf \
        --bind-ro="$PWD:/project" "${programs[@]}" --bind="$work/out:/out" --bind-ro="$work/packages:/packages" \
        --bind-ro="$swift" --bind-ro="$work/swift.conf:/etc/ld.so.conf.d/swift.conf" \
        --bind-ro="$work/test.service:/etc/systemd/system/test.service" -- systemd.wants=test.service \
        </dev/null >"$work/boot" 2>&1
}

passed=0 failed=0
for test in "${tests[@]}"; do
    status=0 started=$SECONDS
    boot "$test" || status=$?
    if [[ ! -e $work/out/log ]]; then
        tail -20 "$work/boot" >&2
        fail "systemd-nspawn cannot boot a machine here (status $status)."
    fi
    if ((status == 0)); then
        echo "passed $test in $((SECONDS - started)) s"
        sed -n 's/^Measured: /    /p' "$work/out/log"
        ((passed += 1))
    else
        sed 's/^/    /' "$work/out/log"
        echo "FAILED $test (status $status)"
        ((failed += 1))
    fi
done
echo "Machine: $passed passed, $failed failed in $SECONDS s"
((failed == 0)) || exit 1
# Sources/Packaging/release.sh reads in this file which commit passed with its release programs.
if [[ -z ${1:-} && -z ${VAULT_RELEASE_BINARIES:-}${VAULT_MACHINE_RELEASE:-} && -z $(git status --porcelain 2>&1) ]]; then
    git rev-parse HEAD >.build/machine-passed
fi
