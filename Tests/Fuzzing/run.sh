#!/usr/bin/env bash
# Fuzzes the readers of bytes from outside with LLVM's libFuzzer:
#
#     Tests/Fuzzing/run.sh SECONDS [TARGET...]    each target, or the named ones, for SECONDS each
#     Tests/Fuzzing/run.sh merge [TARGET...]      adds as few new inputs as possible to Tests/Fuzzing/Seeds
#
# An input ends the run if it traps, takes more than a second, or takes more than 100 MB. It is left in
# .build/fuzzing/found. After the repair, put it into Tests/Fuzzing/Seeds/TARGET. The ordinary tests read all seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
what=${1:?"SECONDS or merge"}
shift
scratch=${CREDENTIAL_VAULT_FUZZING_SCRATCH:-.build/fuzzing}
work=.build/fuzzing
# The library without a main function, because vault-fuzz has its own.
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")/../lib
libraries=("$toolchain"/clang/*/lib/linux/libclang_rt.fuzzer_no_main-"$(uname -m)".a)
export CREDENTIAL_VAULT_FUZZING=${libraries[0]}
swift build --product vault-fuzz --scratch-path "$scratch" --traits TPM2,PKCS11,FIDO2,PostgreSQL
fuzz=$(swift build --show-bin-path --scratch-path "$scratch" --traits TPM2,PKCS11,FIDO2,PostgreSQL)/vault-fuzz
mapfile -t all < <("$fuzz" || true)
targets=("$@")
((${#targets[@]})) || targets=("${all[@]}")
for target in "${targets[@]}"; do
    corpus=$work/corpus/$target
    mkdir -p "$corpus" "$work/found/$target"
    if [[ $what == merge ]]; then
        "$fuzz" "$target" -merge=1 -max_len=4096 "Tests/Fuzzing/Seeds/$target" "$corpus"
        continue
    fi
    echo "== $target"
    "$fuzz" "$target" -max_total_time="$what" -max_len=65536 -timeout=1 -malloc_limit_mb=100 \
        -rss_limit_mb=100 -artifact_prefix="$work/found/$target/" -print_final_stats=1 \
        "$corpus" "Tests/Fuzzing/Seeds/$target"
done
