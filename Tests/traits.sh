#!/usr/bin/env bash
# Checks the traits: Tests/traits.sh .build/tests/release. The folder has a build with every trait.
#
# No program of this build may need a library that only a trait, a person at a phone, or a desktop needs. A machine
# without the library could not start the program.
#
# Every target with code for a trait must also compile without any trait. The compiler only checks the types, against
# the modules of the build. This takes seconds. A build without traits takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binaries=$1
# The Swift package manager names a package after its folder.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]' | tr -c '[:alnum:]\n' _)

# A library is opened when the program needs it first: Sources/CLinux/library.h
for program in vault vault-command vault-key-service vault-dev; do
    if needed=$(readelf --dynamic "$binaries/$program" | grep -E 'NEEDED.*\[lib(tss2|fido2|p11-kit|systemd|pq|qrencode)'); then
        echo "$program cannot start without a library that it seldom uses:" "$needed" >&2
        exit 1
    fi
done

# The module maps of the C modules.
maps=()
for map in Sources/C*/module.modulemap "$binaries"/*.build/module.modulemap \
    "${binaries%/*}"/checkouts/*/Sources/*/module.modulemap "${binaries%/*}"/checkouts/*/Sources/*/include/module.modulemap; do
    [[ -e $map ]] && maps+=(-Xcc "-fmodule-map-file=$map")
done
mapfile -t targets < <(
    grep -rlE '^ *#(if|elseif) .*(Networking|TPM2|PKCS11|FIDO2|PostgreSQL)' Sources | cut -d/ -f2 | sort -u
)
for target in "${targets[@]}"; do
    echo "Without traits: $target"
    mapfile -t files < <(find "Sources/$target" -name '*.swift')
    swiftc -typecheck -swift-version 6 -package-name "$package" -module-name "$target" \
        -I "$binaries/Modules" "${maps[@]}" -enable-upcoming-feature ExistentialAny \
        -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature InternalImportsByDefault \
        -warnings-as-errors "${files[@]}"
done
