#!/usr/bin/env bash
# A pilot in one command, as root: key service on PostgreSQL with TLS, an OpenID provider, and two desks.
#
#     Examples/pilot/run.sh                        with the packages that make-debian-packages made
#     VAULT_PACKAGES=FOLDER Examples/pilot/run.sh  with other packages, for example those of a release
#
# It shows each command after the name of the machine on which a person types it. Each machine is a booted Debian in a
# container, without a connection to any network outside. Afterwards, only the disk of the machines is left. The page
# "A pilot in an afternoon" in the operator's handbook has the same commands. If the programs need libraries that no
# Debian package has, set VAULT_LIBRARIES to the folder of these libraries.
set -Eeuo pipefail
umask 022
folder=$(dirname "$(realpath "$0")")
packages=$(realpath -m "${VAULT_PACKAGES:-$folder/../../.build/debian}")
libraries=${VAULT_LIBRARIES:-}
cd "$folder"

fail() {
    echo "Examples/pilot: $*" >&2
    exit 1
}

if [[ ${1:-} != inside ]]; then
    ((EUID == 0)) || fail "Only root can boot the machines of the pilot. Type: sudo Examples/pilot/run.sh"
    for tool in mmdebstrap systemd-nspawn; do
        command -v "$tool" >/dev/null || fail "$tool is missing. Type: apt-get install mmdebstrap systemd-container"
    done
    for package in credential-vault credential-vault-key-service; do
        compgen -G "$packages/${package}_*.deb" >/dev/null ||
            fail "$package is not in $packages. Type Sources/Packaging/make-debian-packages, or set VAULT_PACKAGES."
    done
    disk=$(../../Tests/machine/make-disk)
    # The cgroup of the machines. Linux does not remove an empty cgroup, so this process removes it at the end.
    group=$(sed -n 's|^0::/*|/|p' /proc/self/cgroup)
    group=${group%/}/credential-vault-pilot-$$
    root=$(findmnt --noheadings --first-only --output TARGET --types cgroup2)
    exec 3> >(
        trap '' INT TERM HUP
        cat
        for _ in {1..100}; do
            [[ -d $root$group ]] || break
            find "$root$group" -depth -type d -delete 2>/dev/null || sleep 0.1
        done
    )
    # When the script inside ends, Linux ends all other processes there, and removes their mounts and their network.
    export VAULT_PACKAGES=$packages
    exec unshare --mount --net --pid --fork --kill-child --mount-proc ./run.sh inside "$disk" "$group"
fi
# shellcheck source=machines.sh
. ./machines.sh
# shellcheck source=provider.sh
. ./provider.sh

trap '((BASH_SUBSHELL)) || { echo "The last command failed. The ends of all logs:"; show_logs; } >&2' ERR
trap 'exit 130' INT TERM
say() { printf '\n== %s\n' "$*"; }

say "Seven machines start, in the cgroup $3"
make_machines "$2" "$packages" "$3"
cp make-certificates ./*.conf ./*.json /srv/ca/home/alice/

say "Certificates"
on ca "./make-certificates"
copy ca ca.pem db.pem db.key postgresql.conf pg_hba.conf db
for keys in keys1 keys2; do
    copy ca ca.pem keys.pem keys.key vault.pem vault.key vault-key-service.json pilot.conf new-master-key.conf "$keys"
done
for desk in desk1 desk2; do copy ca ca.pem vault.json "$desk"; done
copy ca ca.pem login.pem login.key login
for machine in keys1 keys2 desk1 desk2 login; do
    on "$machine" "sudo install -m 644 ca.pem /usr/local/share/ca-certificates/pilot.crt"
    on "$machine" "sudo update-ca-certificates"
done

say "PostgreSQL"
# On a running machine, the installation of the package does this.
inside db systemctl --quiet enable --now postgresql
on db "sudo install -o postgres -m 600 ca.pem db.pem db.key /var/lib/postgresql/*/main/"
on db "sudo install -m 644 postgresql.conf /etc/postgresql/*/main/conf.d/"
on db "sudo tee -a /etc/postgresql/*/main/pg_hba.conf < pg_hba.conf"
on db "sudo systemctl restart postgresql"
on db "sudo -iu postgres createuser vault"
on db "sudo -iu postgres createdb --owner vault vault"
on db "sudo -iu postgres psql -c 'GRANT pg_read_all_stats TO vault'"

say "Glewlwyd, an OpenID provider"
start_provider
echo "$provider/api/oidc has the person alice and the client vault."

say "The key service, on two machines"
settings=/etc/vault-key-service
drop_ins=/etc/systemd/system/vault-key-service.service.d
for keys in keys1 keys2; do
    on "$keys" "sudo apt install --yes ./credential-vault-key-service_*_amd64.deb libpq5"
    on "$keys" "sudo install -m 600 keys.key vault.key $settings/ && shred --remove keys.key vault.key"
    on "$keys" "sudo install -m 644 ca.pem keys.pem vault.pem vault-key-service.json $settings/"
    on "$keys" "sudo install -D -m 644 pilot.conf $drop_ins/pilot.conf"
    on "$keys" "sudo systemctl daemon-reload"
done
on keys1 "vault-key-service make-master-key master.key"
copy keys1 master.key keys2
for keys in keys1 keys2; do
    on "$keys" "sudo install -m 600 master.key $settings/ && shred --remove master.key"
    on "$keys" "sudo vault-key-service-operate init"
    on "$keys" "sudo systemctl enable --now vault-key-service"
done
on keys2 "curl -sS https://keys2.example.com:8787/readyz"
echo

say "The desks"
for desk in desk1 desk2; do
    on "$desk" "sudo apt install --yes ./credential-vault_*_amd64.deb"
    on "$desk" "sudo install -D -m 644 vault.json /etc/credential-vault/config.json"
    # alice stays logged in at the desk until the end.
    inside "$desk" systemd-run --quiet --uid=alice --property=PAMName=desk sleep infinity
    quietly_on "$desk" "umask 077; echo 'seven otters juggle' > password; echo 284617 > pin"
done
on desk1 "vault doctor --verbose | grep answers"

# Registers alice at a desk: register MACHINE
register() {
    on "$1" "vault register --alias alice --no-browser --password-file password 2> log" &
    local register=$!
    await "the address for the browser" grep -q '^https' "/srv/$1/home/alice/log"
    sign_in "$1" "$(grep -m 1 '^https' "/srv/$1/home/alice/log")"
    wait "$register"
}
for desk in desk1 desk2; do
    say "alice registers at $desk, adds a PIN, and logs in with it"
    register "$desk"
    on "$desk" "vault unlock add pin --new-pin-file pin --password-file password"
    on "$desk" "vault lock"
    on "$desk" "vault login --pin --password-file pin"
    on "$desk" "loginctl user-status --lines=0"
    on "$desk" "loginctl lock-session"
    await "the lock of $desk" eval "! quietly_on $desk 'vault token > token'"
    on "$desk" "vault agent status"
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
on keys1 "vault-key-service make-master-key new.key"
copy keys1 new.key keys2
for keys in keys1 keys2; do
    on "$keys" "sudo install -m 600 new.key $settings/ && shred --remove new.key"
    on "$keys" "sudo install -m 644 new-master-key.conf $drop_ins/"
    on "$keys" "sudo systemctl daemon-reload"
    on "$keys" "sudo systemctl restart vault-key-service"
done
on keys1 "sudo vault-key-service-operate rotate-master-key"
for keys in keys1 keys2; do
    on "$keys" "sudo mv $settings/master.key $settings/old.key"
    on "$keys" "sudo mv $settings/new.key $settings/master.key"
    on "$keys" "sudo rm $drop_ins/new-master-key.conf"
    on "$keys" "sudo systemctl daemon-reload"
    on "$keys" "sudo systemctl restart vault-key-service"
done
on desk2 "vault lock"
on desk2 "vault login --password-file password"

say "A backup and a restore"
on db "sudo -iu postgres pg_dump --format custom --file vault.dump vault"
on keys1 "sudo vault-key-service-operate keys list --json > keys.json"
for keys in keys1 keys2; do on "$keys" "sudo systemctl stop vault-key-service"; done
on db "sudo -iu postgres psql -c 'ALTER DATABASE vault RENAME TO lost'"
on db "sudo -iu postgres createdb --owner vault vault"
on db "sudo -iu postgres pg_restore --exit-on-error --dbname vault vault.dump"
on keys1 "sudo vault-key-service-operate accept-rollback"
for keys in keys1 keys2; do on "$keys" "sudo systemctl start vault-key-service"; done
on desk2 "vault lock"
on desk2 "vault login --password-file password"
refused 80 desk1 "vault login --password-file password"

say "keys1 loses its power: keys2 answers"
kill_machine keys1
on desk2 "vault lock"
on desk2 "vault login --pin --password-file pin"
on desk2 "vault token --refresh > token"

say "The power is back: the service starts by itself"
boot keys1
is_up keys1
is_ready keys1
on keys1 "curl -sS https://keys1.example.com:8787/readyz"
echo

say "Done. The machines are gone."
