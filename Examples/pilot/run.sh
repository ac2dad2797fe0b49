#!/usr/bin/env bash
# A pilot in one command, as root: key service on PostgreSQL with TLS, an OpenID provider, and two desks.
#
#     Examples/pilot/run.sh                          with the programs in .build/release
#     VAULT_BINARIES=/usr/bin Examples/pilot/run.sh  with other programs
#
# It shows each command after the name of the machine on which a person would type it. The machines are namespaces of
# Linux: they see no network, and nothing of them is left afterwards. The page "A pilot in an afternoon" in the
# operator's handbook has the same commands for real machines.
set -Eeuo pipefail
folder=$(dirname "$(realpath "$0")")
programs=$(realpath -m "${VAULT_BINARIES:-$folder/../../.build/release}")
cd "$folder"
postgresql=$(find /usr/lib/postgresql -path '*/bin/postgres' -printf '%h\n' 2>/dev/null | sort -V | tail -1 || true)

fail() {
    echo "Examples/pilot: $*" >&2
    exit 1
}

if [[ ${1:-} != inside ]]; then
    ((EUID == 0)) || fail "Only root can make the machines of the pilot. Type: sudo Examples/pilot/run.sh"
    for program in vault vault-key-service; do
        [[ -x $programs/$program ]] || fail "$program is not in $programs. Build it, or set VAULT_BINARIES."
    done
    for tool in glewlwyd sqlite3 openssl curl unshare ip; do
        command -v "$tool" >/dev/null || missing=1
    done
    [[ -z ${missing:-} && -n $postgresql && -f /etc/ssl/certs/ca-certificates.crt ]] ||
        fail "Type: apt-get install postgresql libpq5 glewlwyd sqlite3 openssl curl ca-certificates iproute2"
    # When the process inside ends, Linux ends all others there, and removes their files and their network.
    export VAULT_BINARIES=$programs
    exec unshare --mount --net --pid --fork --kill-child --mount-proc ./run.sh inside
fi
# shellcheck source=machines.sh
. ./machines.sh
# shellcheck source=provider.sh
. ./provider.sh

say() { printf '\n== %s\n' "$*"; }
trap '((BASH_SUBSHELL)) || { echo "The last command failed. The ends of all logs:"; tail -n 20 /srv/*/log; } >&2' ERR
trap 'exit 130' INT TERM

make_machines "$programs"

# Shows a command that has to fail with a status: refused STATUS MACHINE COMMAND
refused() {
    local status=0
    on "$2" "$3" || status=$?
    echo "status $status"
    [[ $status == "$1" ]]
}

# Starts the key service on a machine: serve MACHINE [OPTIONS]
serve() {
    on "$1" "vault-key-service serve${2:+ $2} >> log 2>&1 & echo \$! > pid"
    await "the key service on $1" curl -sSf -o /dev/null "https://$1.example.com:8787/readyz"
}

# Stops it: stop MACHINE
stop() {
    # shellcheck disable=SC2016 # The shell of the machine knows it.
    on "$1" 'kill "$(cat pid)"'
    await "the end of the key service on $1" eval "! kill -0 $(cat "/srv/$1/pid")"
}

say "Certificates"
cp make-certificates /srv/ca/
on ca "./make-certificates"
copy ca ca.pem db.pem db.key db
copy ca login.pem login.key login
for keys in keys1 keys2; do
    copy ca ca.pem keys.pem keys.key vault.pem vault.key "$keys"
done

say "Each machine trusts the authority"
# As update-ca-certificates does, which takes some seconds.
cat /srv/ca/ca.pem >>/etc/ssl/certs/ca-certificates.crt

say "PostgreSQL"
on db "initdb --auth peer --no-sync -D data > log"
cat postgresql.conf >>/srv/db/data/postgresql.conf
cat pg_hba.conf >/srv/db/data/pg_hba.conf
on db "postgres -D data > log 2>&1 &"
await PostgreSQL quietly_on db "pg_isready -q"
on db "createuser vault"
on db "createdb --owner vault vault"
on db "psql -c 'GRANT pg_read_all_stats TO vault'"

say "Glewlwyd, an OpenID provider"
start_provider /srv/login
echo "$provider/api/oidc has the person alice and the client vault."

say "The key service, on two machines"
for keys in keys1 keys2; do
    sed "s/keys1/$keys/" vault-key-service.json >"/srv/$keys/vault-key-service.json"
done
on keys1 "vault-key-service init"
on keys2 "mkdir -m 700 keys-secrets"
copy keys1 keys-secrets/master.key keys2
on keys2 "vault-key-service init --master-key-file keys-secrets/master.key"
serve keys1
serve keys2
on keys2 "curl -sS https://keys2.example.com:8787/readyz"
echo

say "The desks"
install -d -m 755 /etc/credential-vault
install -m 644 vault.json /etc/credential-vault/config.json
for desk in desk1 desk2; do
    quietly_on "$desk" "umask 077; echo 'seven otters juggle' > password; echo 284617 > pin"
done
on desk1 "vault doctor --verbose | grep answers"

# Registers alice at a desk: register MACHINE
register() {
    on "$1" "vault register --alias alice --no-browser --password-file password 2> log" &
    local register=$!
    await "the address for the browser" grep -q '^https' "/srv/$1/log"
    sign_in "$1" "$(grep -m 1 '^https' "/srv/$1/log")"
    wait "$register"
}
for desk in desk1 desk2; do
    say "alice registers at $desk, adds a PIN, and logs in with it"
    register "$desk"
    on "$desk" "vault unlock add pin --new-pin-file pin --password-file password"
    on "$desk" "vault lock"
    on "$desk" "vault login --pin --password-file pin"
done

say "Desk 1 is lost: alice revokes it at desk 2"
on desk1 "vault devices" | tee /srv/devices
lost=$(sed -n 's/ .*(this device).*//p' /srv/devices)
on desk2 "vault devices rename 'desk 1' --device $lost"
on desk2 "vault devices"
on desk2 "vault devices revoke $lost --yes"
refused 80 desk1 "vault login --password-file password"
on desk2 "vault lock"
on desk2 "vault login --pin --password-file pin"

say "A new master key, one server after the other"
both='--master-key-file keys-secrets/new.key --old-master-key-file keys-secrets/master.key'
on keys1 "vault-key-service make-master-key keys-secrets/new.key"
copy keys1 keys-secrets/new.key keys2
for keys in keys1 keys2; do
    stop "$keys"
    serve "$keys" "$both"
done
on keys1 "vault-key-service rotate-master-key $both"
for keys in keys1 keys2; do
    on "$keys" "mv keys-secrets/master.key keys-secrets/old.key && mv keys-secrets/new.key keys-secrets/master.key"
    stop "$keys"
    serve "$keys"
done
on desk2 "vault lock"
on desk2 "vault login --password-file password"

say "A backup, and the way back"
on db "pg_dump --format custom --file vault.dump vault"
on keys1 "vault-key-service keys list --json > keys.json"
stop keys1
stop keys2
on db "psql -c 'ALTER DATABASE vault RENAME TO lost'"
on db "createdb --owner vault vault"
on db "pg_restore --exit-on-error --dbname vault vault.dump"
on keys1 "vault-key-service accept-rollback"
serve keys1
serve keys2
on desk2 "vault lock"
on desk2 "vault login --password-file password"
refused 80 desk1 "vault login --password-file password"

say "A server dies: the other one answers"
# shellcheck disable=SC2016 # The shell of the machine knows it.
on keys1 'kill -9 "$(cat pid)"'
on desk2 "vault lock"
on desk2 "vault login --pin --password-file pin"
on desk2 "vault token --refresh > token"
serve keys1

say "Done. Nothing of the pilot is left on this machine."
