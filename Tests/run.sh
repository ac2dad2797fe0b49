#!/usr/bin/env bash
# Installs what the tests need and runs them all, on Debian 12 or later with Swift 6.3:
#
#     Tests/run.sh            everything
#     Tests/run.sh FILTER     only tests whose name contains FILTER (swift test --filter, pytest -k)
#
# It asks for nothing. System packages that are missing are installed by apt (with sudo unless run by root).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
filter=${1:-}

# The C libraries, a message bus with a logind on it, a TPM and tokens made of software, and what the tests of the programs
# drive: an identity provider, a browser, a disk that fills up.
packages=(
    libsodium-dev libargon2-dev libsqlite3-dev libqrencode-dev pkg-config
    libsystemd-dev dbus-daemon python3-dbusmock
    libtss2-dev libfido2-dev libp11-kit-dev
    swtpm tpm2-tools libtss2-tcti-swtpm0 softhsm2 opensc p11-kit libtpm2-pkcs11-1
    glewlwyd sqlite3 openssl curl zbar-tools xdg-utils bindfs fuse3 chromium chromium-driver util-linux mount zsh fish python3 python3-venv
)

install_missing_packages() {
    local package missing=()
    for package in "${packages[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    echo "Installing: ${missing[*]}"
    local as_root=()
    ((EUID == 0)) || as_root=(sudo)
    # The tests start their own Glewlwyd. The one that the package would run as a service is not wanted.
    if [[ " ${missing[*]} " == *" glewlwyd "* && -d /run/systemd/system ]]; then
        "${as_root[@]}" systemctl mask --quiet glewlwyd.service
    fi
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
make_python_environment

export CREDENTIAL_VAULT_STRICT=1 PYTHONDONTWRITEBYTECODE=1
# At once, hundreds of tests with servers of their own would wait for each other until some limit is over. And Foundation's
# Process, up to Swift 6.3.1, reads beyond a page's end where some 1,350 files are open (swift-corelibs-foundation 5472).
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=1
# With every trait. That the package builds without, Examples/quickstart.sh shows.
traits=Logind,TPM2,PKCS11,FIDO2
swift build --build-tests --traits "$traits"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
swift_status=0
swift test --skip-build --traits "$traits" ${filter:+--filter "$filter"} 2>&1 | tee "$logs/swift" || swift_status=$?
python_status=0
"$python" -m pytest Tests/EndToEnd ${filter:+-k "$filter"} 2>&1 | tee "$logs/python" || python_status=$?

# "swift test" is content when it ran nothing, and pytest when it skipped everything: so the tests are counted.
swift_line=$(grep -E 'Test run with [0-9]+ test' "$logs/swift" | tail -1 || true)
python_line=$(tail -1 "$logs/python")
swift_count=$(sed -nE 's/.*Test run with ([0-9]+) test.*/\1/p' <<<"$swift_line")
python_count=$(sed -nE 's/.*[^0-9]([0-9]+) passed.*/\1/p' <<<" $python_line")

example_status=0
if [[ -z $filter && -x Examples/quickstart.sh ]]; then
    echo "Running Examples/quickstart.sh"
    Examples/quickstart.sh </dev/null || example_status=$?
fi

# Again what failed: it is far up by now, and some who keep a log keep only its end.
grep -hE ' recorded an issue | failed after |^(FAILED|ERROR) |[Ff]atal error' "$logs/swift" "$logs/python" | tail -40 || true

echo
echo "swift test: ${swift_line:-no test ran}"
echo "pytest:     ${python_line:-no test ran}"
if [[ -n $filter ]]; then
    # A filter may well mean only one of the two.
    ((${swift_count:-0} + ${python_count:-0} > 0)) || { echo "No test matches \"$filter\"." >&2; exit 1; }
    ((python_status == 5)) && python_status=0
else
    ((${swift_count:-0} > 0)) || { echo "swift test ran no test." >&2; exit 1; }
    ((${python_count:-0} > 0)) || { echo "pytest ran no test." >&2; exit 1; }
fi
((swift_status == 0 && python_status == 0 && example_status == 0)) || { echo "There are failures, see above." >&2; exit 1; }
