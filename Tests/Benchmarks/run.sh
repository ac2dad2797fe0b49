#!/usr/bin/env bash
# Measures speed and memory of the release build and prints each figure as a ratio of two things measured in one run.
# Takes some minutes. Everything it starts listens on loopback and is stopped at the end. Options: see benchmark.py.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=(
    libsodium-dev libargon2-dev libsqlite3-dev pkg-config hyperfine wrk python3
    oidc-agent-cli glewlwyd sqlite3 openssl python3-requests
    libtss2-dev libfido2-dev libp11-kit-dev libpq-dev postgresql swtpm tpm2-tools libtss2-tcti-swtpm0 softhsm2 opensc libtpm2-pkcs11-1)
missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

# Builds as GettingStarted.md says.
mkdir -p .build/static
ln -sf "$(clang -print-file-name=libstdc++.a)" .build/static/
ln -sf "$(clang -print-file-name=libgcc_eh.a)" .build/static/libgcc_s.a
release=(-c release --static-swift-stdlib -Xlinker --no-export-dynamic -Xlinker "-L$PWD/.build/static")
release+=(--traits TPM2,PKCS11,FIDO2,PostgreSQL)
# Without the variable, each product would build every target again.
export SWIFT_DETERMINISTIC_HASHING=1
for product in vault vault-command vault-key-service vault-dev vault-benchmarks vault-tpm2-benchmark \
    vault-pkcs11-benchmark; do
    swift build "${release[@]}" --product "$product"
done
exec python3 Tests/Benchmarks/benchmark.py --programs "$(swift build "${release[@]}" --show-bin-path)" "$@"
