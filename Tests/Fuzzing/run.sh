#!/usr/bin/env bash
# Fuzzes the readers of bytes from outside with LLVM's libFuzzer:
#
#     Tests/Fuzzing/run.sh SECONDS [TARGET...]    each target, or those named, for so many seconds
#     Tests/Fuzzing/run.sh merge [TARGET...]      adds what was found on the way to Tests/Fuzzing/Seeds, as little as does
#
# An input that traps, takes more than a second, or more than 100 MB ends the run. It is left in .build/fuzzing/found;
# put it into Tests/Fuzzing/Seeds/TARGET when it is mended: the ordinary tests read all of that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
what=${1:?"SECONDS or merge"}
shift
scratch=${CREDENTIAL_VAULT_FUZZING_SCRATCH:-.build/fuzzing}
work=.build/fuzzing
# The library without a main function of its own: vault-fuzz has one.
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")/../lib
libraries=("$toolchain"/clang/*/lib/linux/libclang_rt.fuzzer_no_main-"$(uname -m)".a)
export CREDENTIAL_VAULT_FUZZING=${libraries[0]}
swift build --product vault-fuzz --scratch-path "$scratch" --traits Logind,TPM2,PKCS11,FIDO2
fuzz=$(swift build --show-bin-path --scratch-path "$scratch" --traits Logind,TPM2,PKCS11,FIDO2)/vault-fuzz
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
