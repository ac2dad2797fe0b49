#!/usr/bin/env bash
# Measures speed and memory of the release build and prints each figure as a ratio of two things measured in one run.
# Takes some minutes; everything it starts listens on loopback and is stopped at the end. Options: see benchmark.py.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=(libsodium-dev libargon2-dev libsqlite3-dev libqrencode-dev pkg-config hyperfine wrk python3)
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

# Not exporting every symbol spares the dynamic loader a search at each start.
release=(-c release --static-swift-stdlib -Xlinker --no-export-dynamic)
for product in vault vault-key-service vault-dev vault-benchmarks; do
    swift build "${release[@]}" --product "$product"
done
exec python3 Tests/Benchmarks/benchmark.py --programs "$(swift build "${release[@]}" --show-bin-path)" "$@"
