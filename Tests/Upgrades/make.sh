#!/usr/bin/env bash
# Makes the fixtures of the release that this source makes, in a folder with the name of the version:
#
#     Tests/Upgrades/make.sh
#
# Tests/run.sh builds the programs and what else this needs. If VAULT_BINARIES is set, it names their folder. The
# fixtures are final when the version has its tag. Then this script refuses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=$(sed -nE 's/^ *package static let version = "(.*)"$/\1/p' Sources/VaultBase/Release.swift)
if git rev-parse --quiet --verify "refs/tags/$version" >/dev/null; then
    echo "$version is released, so its fixtures stay. Raise the version in Sources/VaultBase/Release.swift." >&2
    exit 1
fi
python=$PWD/.build/end-to-end-venv/bin/python
if [[ ! -x $python ]]; then
    echo "Python's packages are missing. Type: Tests/run.sh test_upgrades" >&2
    exit 1
fi
export VAULT_BINARIES=${VAULT_BINARIES:-$PWD/.build/tests/release} PYTHONPATH=$PWD/Tests/EndToEnd
export PYTHONDONTWRITEBYTECODE=1
exec "$python" Tests/Upgrades/make.py
