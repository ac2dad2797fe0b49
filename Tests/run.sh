#!/usr/bin/env bash
# Installs what the tests need and runs them all, on Debian 12 or later with Swift 6.3:
#
#     Tests/run.sh                 everything
#     Tests/run.sh FILTER          only tests whose name contains FILTER (swift test --filter, pytest -k)
#     Tests/run.sh unit [FILTER]   the Swift tests alone. It installs only what these need.
#     Tests/run.sh quick FILTER    Swift tests of one target, and builds only what this target needs. FILTER is a name in
#                                  that target, for example OPRFLoginTests, or VaultCryptoTests for the whole target.
#                                  It installs nothing, and names no trait.
#     Tests/run.sh optimised [FILTER]
#                                  everything, with optimised programs, as a release has them. Before a release: the
#                                  optimiser can make faults that no other test sees.
#     Tests/run.sh --without-machine [FILTER]
#                                  everything except the tests on a booted machine, which need root
#
# The script asks nothing. It installs missing system packages with apt (with sudo unless root runs it).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
only_swift=false

# Runs tests of the one target that has FILTER in its name or in its files: run_quick FILTER
run_quick() {
    local filter=${1:?FILTER is missing: Tests/run.sh quick FILTER} targets
    if [[ -d Tests/${filter%%[./]*} ]]; then
        targets=${filter%%[./]*}
    else
        targets=$(grep -rlwF --include='*.swift' -e "${filter%%[./]*}" Tests/*Tests | cut -d/ -f2 | sort -u)
    fi
    if [[ $(wc -w <<<"$targets") != 1 ]]; then
        echo "\"$filter\" is in ${targets:+more than one target: ${targets//$'\n'/, }}${targets:-no target}." \
            "Name one target: Tests/run.sh quick TARGET.NAME" >&2
        return 64
    fi
    local scratch=.build/quick log
    SWIFT_DETERMINISTIC_HASHING=1 CREDENTIAL_VAULT_ONLY=$targets CREDENTIAL_VAULT_STRICT=1 \
        swift build --quiet --build-tests --scratch-path "$scratch"
    log=$(mktemp)
    # shellcheck disable=SC2064 # The name is needed now.
    trap "rm -f '$log'" EXIT
    CREDENTIAL_VAULT_STRICT=1 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1 \
        "$scratch/debug/credential-vaultPackageTests.xctest" --testing-library swift-testing --filter "$filter" 2>&1 |
        tee "$log"
    if ! grep -qE 'Test run with [1-9][0-9]* test' "$log"; then
        echo "No test of $targets matches \"$filter\"." >&2
        return 1
    fi
}

if [[ ${1:-} == quick ]]; then
    run_quick "${2:-}"
    exit
fi
if [[ ${1:-} == unit ]]; then
    only_swift=true
    shift
fi
folder=.build/tests
export BUILD_OPTIONS=Tests/build-options.txt
if [[ ${1:-} == optimised ]]; then
    folder=.build/optimised
    BUILD_OPTIONS=Tests/optimised-options.txt
    shift
fi
without_machine=false
if [[ ${1:-} == --without-machine ]]; then
    without_machine=true
    shift
fi
filter=${1:-}

# For the Swift tests: the C libraries, a message bus with a logind or a Secret Service, a software TPM, software tokens
# and PostgreSQL.
packages=(
    libsodium-dev libargon2-dev libsqlite3-dev libqrencode-dev pkg-config
    libsystemd-dev dbus-daemon python3-dbusmock
    libtss2-dev libfido2-dev libp11-kit-dev libpq-dev postgresql
    swtpm tpm2-tools libtss2-tcti-swtpm0 softhsm2 opensc p11-kit libtpm2-pkcs11-1
    openssl util-linux python3
)
# The tests of the programs also need an identity provider, a browser, a disk that fills up, Prometheus' promtool, the
# keyring of a desktop, tools that make packages, a machine to boot, and a network for the pilot.
if ! $only_swift; then
    packages+=(
        glewlwyd sqlite3 curl git zbar-tools xdg-utils bindfs fuse3 chromium chromium-driver mount zsh fish man-db mandoc
        prometheus gnome-keyring debhelper minisign systemd systemd-container mmdebstrap iproute2 procps
        ca-certificates python3-venv
    )
fi

install_missing_packages() {
    local package missing=()
    for package in "${packages[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    echo "Installing: ${missing[*]}"
    local as_root=()
    ((EUID == 0)) || as_root=(sudo)
    # The tests start their own Glewlwyd and PostgreSQL, and no Prometheus. The packages' own services are not wanted.
    local service
    for service in glewlwyd postgresql prometheus; do
        if [[ " ${missing[*]} " == *" $service "* && -d /run/systemd/system ]]; then
            "${as_root[@]}" systemctl mask --quiet "$service.service"
        fi
    done
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

make_python_environment() {
    local folder=.build/end-to-end-venv requirements=Tests/EndToEnd/requirements.txt
    if ! cmp -s "$requirements" "$folder/requirements.txt"; then
        rm -rf "$folder"
        mkdir -p .build
        /usr/bin/python3 -m venv "$folder"
        "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
        cp "$requirements" "$folder/requirements.txt"
    fi
    python=$PWD/$folder/bin/python
}

install_missing_packages

export CREDENTIAL_VAULT_STRICT=1 PYTHONDONTWRITEBYTECODE=1
# Run at once, hundreds of tests with their own servers would wait for each other until a time limit. Also, Foundation's
# Process (up to Swift 6.3.1) reads beyond a page's end if about 1,350 files are open (swift-corelibs-foundation 5472).
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1
# Builds with every trait, in a separate folder, because a build with other options builds every target again. Networking
# is on without its name. Swift gives the traits to the compiler in the order of a set. With these names, it is the same
# order as in Tests/EndToEnd/test_example_app.py, so the example apps use the libraries that are built here. With other
# names, everything would be compiled once more, which takes five minutes.
mapfile -t options < <(grep -v '^#' "$BUILD_OPTIONS" | tr ' ' '\n')
build=(--build-tests "${options[@]}" --traits TPM2,PKCS11,FIDO2,PostgreSQL --scratch-path "$folder")
export VAULT_BINARIES=$PWD/$folder/release
# The variable keeps Swift's sets in order. Without it, each plan of a build lists the traits in another order, and all
# targets are built again.
SWIFT_DETERMINISTIC_HASHING=1 swift build "${build[@]}"
Tests/traits.sh "$VAULT_BINARIES"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=()

# Runs some of the Swift tests, one at a time, as "swift test" does: run_swift_tests LOG OPTION...
run_swift_tests() {
    "$VAULT_BINARIES/credential-vaultPackageTests.xctest" --testing-library swift-testing "${@:2}" 2>&1 |
        sed -u 's/\x1b\[[0-9;]*m//g' | tee "$logs/$1"
}

if [[ -n $filter ]]; then
    run_swift_tests swift-tests --filter "$filter" || failures+=("Swift tests")
else
    # Runs two processes side by side. Each one has about half of the work.
    half='^(VaultAuthTests|VaultUnlockTests|VaultTPM2Tests|FuzzingTests)\.'
    run_swift_tests swift-tests-1 --filter "$half" &
    run_swift_tests swift-tests-2 --skip "$half" || failures+=("Swift tests")
    wait $! || failures+=("Swift tests")
fi

if ! $only_swift; then
    make_python_environment
    python_status=0
    # Most tests wait for a timeout, a server or a terminal, so a core serves two.
    "$python" -m pytest Tests/EndToEnd --numprocesses "$((2 * $(nproc)))" --dist worksteal ${filter:+-k "$filter"} 2>&1 |
        tee "$logs/pytest" || python_status=$?
    # 5: no test. A filter may match Swift tests only.
    ((python_status == 0)) || [[ -n $filter && $python_status == 5 ]] || failures+=("pytest")
    if ! $without_machine; then
        # A release build would take longer than all tests on the machine. Before a release, it is tested there, too.
        VAULT_RELEASE_BINARIES=$VAULT_BINARIES Tests/machine/run.sh "$filter" 2>&1 |
            tee "$logs/machine" || failures+=("Tests/machine/run.sh")
        # The packages are for Debian 13, too.
        if [[ -z $filter ]]; then
            VAULT_MACHINE_RELEASE=trixie VAULT_RELEASE_BINARIES=$VAULT_BINARIES \
                Tests/machine/run.sh test_packages test_first_token 2>&1 |
                tee "$logs/machine-trixie" || failures+=("Tests/machine/run.sh on Debian 13")
        fi
    fi
    if [[ -z $filter ]]; then
        echo "Building the documentation"
        Tests/docs.sh pages || failures+=("Tests/docs.sh pages")
        echo "Running Examples/quickstart.sh"
        Examples/quickstart.sh </dev/null || failures+=("Examples/quickstart.sh")
    fi
fi

# Repeats the failures, because they are far above, and some logs keep only the end.
grep -hE ' recorded an issue | failed after |^(FAILED|ERROR) |[Ff]atal error' "$logs"/* | tail -40 || true

# Swift Testing succeeds if it ran nothing, and pytest succeeds if it skipped everything. So the tests are counted.
echo
count=0
for log in "$logs"/*; do
    line=$(grep -E 'Test run with [0-9]+ test|[0-9]+ passed.* in ' "$log" | tail -1 || true)
    ran=$(sed -nE 's/.*[^0-9]([0-9]+) (test|passed).*/\1/p' <<<" $line")
    echo "$(basename "$log"): ${line:-no test ran}"
    count=$((count + ${ran:-0}))
    [[ -n $filter ]] || ((${ran:-0} > 0)) || failures+=("$(basename "$log"), which ran no test")
done
if $without_machine; then echo "machine: LEFT OUT (--without-machine). Nothing was tested on a booted machine."; fi
((count > 0)) || failures+=("no test matches \"$filter\"")
# Sources/Packaging/release.sh reads in this file which commit passed all tests.
passed=$folder/passed
if ((${#failures[@]})); then
    printf 'Failed: %s\n' "${failures[@]}" >&2
    rm -f "$passed"
    exit 1
fi
if ! $only_swift && ! $without_machine && [[ -z $filter && -z $(git status --porcelain 2>&1) ]]; then
    git rev-parse HEAD >"$passed"
fi
