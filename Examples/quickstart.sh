#!/usr/bin/env bash
# A first session without a person. It builds the programs and starts a development identity provider and key service on
# this machine. Then it registers alice, signs in again with the password, and stops everything it started.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

packages=(libsodium-dev libargon2-dev libsqlite3-dev pkg-config curl)
missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    say "Installing ${missing[*]}"
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

# Tests/run.sh has built them already.
programs=${VAULT_BINARIES:-}
if [ -z "$programs" ]; then
    say "Building (the first time takes some minutes)"
    swift build --product vault-command
    swift build --product vault
    swift build --product vault-dev
    programs=$(swift build --show-bin-path)
fi
export PATH="$programs:$PATH"

work=$(mktemp -d)
provider=
register=
cleanup() {
    [ -z "$register" ] || kill "$register" 2>/dev/null || true
    [ ! -d "$work/run" ] || vault agent stop >/dev/null 2>&1 || true
    if [ -n "$provider" ]; then
        kill "$provider" 2>/dev/null || true
        wait "$provider" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT

say "Starting vault-dev: an identity provider and a key service on this machine"
vault-dev --data "$work/dev" --env-file "$work/env" >"$work/dev.log" 2>&1 &
provider=$!
for _ in $(seq 100); do
    [ -s "$work/env" ] && break
    kill -0 "$provider" 2>/dev/null || { cat "$work/dev.log" >&2; exit 1; }
    sleep 0.1
done
. "$work/env"
export CREDENTIAL_VAULT_HOME="$work/vault" XDG_CONFIG_HOME="$work/config" XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$work/run"
printf '%s' 'seven otters juggle' >"$work/password"
printf '%s' 'eight otters juggle' >"$work/wrong-password"

say "vault register --alias alice (a script plays the person in the browser)"
vault register --alias alice --no-browser --password-file "$work/password" 2>"$work/register.log" &
register=$!
for _ in $(seq 100); do
    grep -q '^http' "$work/register.log" && break
    kill -0 "$register" 2>/dev/null || { cat "$work/register.log" >&2; exit 1; }
    sleep 0.1
done
printf 'The browser shows: '
vault-dev browse "$(grep '^http' "$work/register.log")" --user alice
wait "$register"
register=

say "vault users"
vault users

say "vault login --user alice (no browser)"
vault login --user alice --password-file "$work/password"

say "vault token --user alice --json (the agent has the session: no password; the token itself is left out here)"
vault token --user alice --json | sed 's/\("access_token" : "\).*"/\1…"/'

say "What the provider says of the token's owner"
vault token --user alice |
    { read -r token; printf 'header = "Authorization: Bearer %s"\n' "$token"; } |
    curl --silent --fail --config - "$CREDENTIAL_VAULT_ISSUER/userinfo"
echo

say "vault login --user alice with a wrong password"
status=0
vault login --user alice --password-file "$work/wrong-password" || status=$?
echo "exit status $status"

say "vault agent status"
vault agent status

say "vault logout --user alice"
vault logout --user alice

say "Done. Everything that was started is stopped, and what it stored is removed."
