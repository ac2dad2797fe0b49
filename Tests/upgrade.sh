#!/usr/bin/env bash
# Opens what each released version stored with the present programs: stores, databases, backups, audit logs and agents.
# Also gives the programs what a newer version stored.
#
#     Tests/upgrade.sh [pytest's options]
#
# Tests/run.sh runs the same tests, and builds the programs. If VAULT_BINARIES is set, it names their folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export VAULT_BINARIES=${VAULT_BINARIES:-$PWD/.build/tests/release} PYTHONDONTWRITEBYTECODE=1
tests=(Tests/EndToEnd/test_upgrades.py Tests/EndToEnd/test_newer_formats.py)
exec .build/end-to-end-venv/bin/python -m pytest "${tests[@]}" "$@"
