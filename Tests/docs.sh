#!/usr/bin/env bash
# Checks the documents:
#
#     Tests/docs.sh            builds the pages (a warning is an error), and runs every sample and console session
#     Tests/docs.sh pages      builds the pages only
#
# The pages are in .build/docs/site afterwards. The script needs the programs that Tests/run.sh builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export VAULT_BINARIES=${VAULT_BINARIES:-$PWD/.build/tests/release}
if [[ ! -e $VAULT_BINARIES/vault ]]; then
    echo "Build the programs first: Tests/run.sh unit" >&2
    exit 1
fi
Tests/documented.py
Tests/docs.py "$VAULT_BINARIES" .build/docs
[[ ${1:-} == pages ]] ||
    .build/end-to-end-venv/bin/python -m pytest Tests/EndToEnd -k "test_documents or test_example_app"
