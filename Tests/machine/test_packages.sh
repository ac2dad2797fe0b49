# When the packages are installed, upgraded, downgraded, removed and purged, then nobody loses an account or a key.
. /project/Tests/machine/inside.sh

# The programs of the packages come first.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin:/usr/local/bin
# The disk of the machine leaves out manual pages and documents of packages.
rm -f /etc/dpkg/dpkg.cfg.d/*

# apt ends the lines of dpkg with a carriage return.
apt_get() { DEBIAN_FRONTEND=noninteractive apt-get --yes "$@" | tr -d '\r'; }
store=/home/nurse/.local/share/credential-vault/vault.sqlite
database=/var/lib/vault-key-service/keys.sqlite

# Marks a database as changed by a later version, and takes the mark away.
mark_as_newer() { sqlite3 "$1" "INSERT INTO grdb_migrations VALUES ('later')"; }
unmark() { sqlite3 "$1" "DELETE FROM grdb_migrations WHERE identifier = 'later'"; }

# A package needs only these libraries. The symbols for debuggers are apart.
this=(/packages/this/credential-vault{,-key-service}_*.deb)
higher=(/packages/higher/credential-vault{,-key-service}_*.deb)
dpkg-deb --field "${this[0]}" Depends | sed 's/ ([^)]*)//g; s/, /\n/g' | sort >/root/needed
libraries=(libargon2-1 libc6 libsodium23 libsqlite3-0 zlib1g)
# Only in release programs, the library of Swift is linked statically.
if grep -qF libswiftCore.so /usr/local/bin/vault-command; then libraries+=(libgcc-s1 libstdc++6); fi
printf '%s\n' "${libraries[@]}" | sort | diff - /root/needed
[[ $(dpkg-deb --contents /packages/this/credential-vault-dbgsym_*.deb | grep -c '\.debug$') == 2 ]]

# Install.
apt_get install "${this[@]}"
/usr/bin/vault --help | grep -q 'vault login'
for file in man/man1/vault.1.gz man/man8/vault-key-service.8.gz man/man8/vault-key-service-operate.8.gz \
    bash-completion/completions/vault zsh/vendor-completions/_vault fish/vendor_completions.d/vault.fish \
    doc/credential-vault/{copyright,changelog.gz,changelog.Debian.gz,examples/policy.json} \
    doc/credential-vault-key-service/examples/vault-key-service.rules.yml; do
    test -s "/usr/share/$file"
done
bash -euc '. /usr/share/bash-completion/completions/vault && complete -p vault'
install -D -m 644 /usr/share/doc/credential-vault/examples/policy.json /etc/credential-vault/policy.json
vault doctor >/root/doctor || true
grep '^ok  *policy' /root/doctor | grep -v 'There is no file'
rm /etc/credential-vault/policy.json

# The operator starts the service, as the handbook says.
[[ $(systemctl is-enabled vault-key-service) == disabled ]]
vault-key-service make-master-key /etc/vault-key-service/master.key
# Without the database, the journal names the next command.
if systemctl start vault-key-service; then exit 1; fi
journalctl --sync
journalctl --unit=vault-key-service --output=cat | grep 'make a new data folder: vault-key-service-operate init$'
systemctl reset-failed vault-key-service
vault-key-service-operate init
vault-key-service-operate audit init --verification-key - >/root/audit.key
systemctl enable --now vault-key-service vault-key-service-backup.timer
[[ $(systemctl show -P Type vault-key-service) == notify ]]
first=$(systemctl show -P MainPID vault-key-service)
# Not root, and in the range of systemd's dynamic users.
(($(stat -c %u "/proc/$first") >= 61184 && $(stat -c %u "/proc/$first") <= 65519))

make_person nurse
start_services
echo 'export CREDENTIAL_VAULT_KEY_SERVICE=http://127.0.0.1:8787' >>/etc/services.env

# Upgrade while a session is open.
at_the_desk nurse <<'DESK' &
register
vault login --password-file ~/password
vault token >~/token
touch ~/has-a-session
await 'the upgrade' test -e /run/upgraded
vault token | cmp - ~/token
vault token --refresh | grep -q .
vault agent stop
vault login --password-file ~/password
vault token >/dev/null
DESK
desk=$!
await 'the session' test -e /home/nurse/has-a-session
apt_get install "${higher[@]}" | tee /root/upgrade
if grep 'The agents of these people' /root/upgrade; then exit 1; fi
[[ $(dpkg-query -W -f '${Version}' credential-vault) == 1000-1 ]]
touch /run/upgraded
wait "$desk"
[[ $(systemctl show -P MainPID vault-key-service) != "$first" ]]
systemctl is-active --quiet vault-key-service
systemctl is-enabled --quiet vault-key-service

# Downgrade. What a later version has changed is refused, and stays as it is.
apt_get install --allow-downgrades "${this[@]}"
at_the_desk nurse <<'DESK'
vault login --password-file ~/password
vault agent stop
DESK
mark_as_newer "$store"
if at_the_desk nurse <<'DESK' >/root/refusal 2>&1; then exit 1; fi
vault login --no-agent --password-file ~/password
DESK
grep 'was made by a newer version of this program' /root/refusal
unmark "$store"
systemctl stop vault-key-service
mark_as_newer "$database"
if systemctl start vault-key-service; then exit 1; fi
[[ $(systemctl show -P ExecMainStatus vault-key-service) == 78 ]]
unmark "$database"
systemctl reset-failed vault-key-service
systemctl start vault-key-service
at_the_desk nurse <<'DESK'
vault login --no-agent --password-file ~/password
DESK

# Remove and purge. apt forgets the command at its removal, because it has no settings in /etc. The
# removal names the agents, also one whose program was replaced.
at_the_desk nurse <<'DESK'
vault login --password-file ~/password
vault agent status --json | sed -n 's/.*"process" : \([0-9]*\).*/\1/p' >~/agent
DESK
apt_get install --reinstall "${this[@]}"
apt_get remove credential-vault credential-vault-key-service | tee /root/removal
agent=$(cat /home/nurse/agent)
grep -x "The agents of these people .*: nurse. To end them: sudo kill $agent" /root/removal
kill "$agent"
is_gone() { [[ ! -e /proc/$agent ]]; }
await 'the end of the agent' is_gone
for gone in /usr/bin/vault /usr/bin/vault-command /usr/bin/vault-key-service /usr/sbin/vault-key-service-operate; do
    test ! -e "$gone"
done
if systemctl is-active --quiet vault-key-service; then exit 1; fi
test -s /etc/vault-key-service/vault-key-service.json
apt_get purge credential-vault-key-service | tee /root/purge
test ! -e /etc/vault-key-service/vault-key-service.json
grep 'rm -r /etc/vault-key-service .*/var/lib/private/vault-key-service' /root/purge
test -s /etc/vault-key-service/master.key
test -s "$database"
test -s "$store"

# After all that, the old account and its key still open.
apt_get install "${this[@]}"
systemctl start vault-key-service
at_the_desk nurse <<'DESK'
vault login --no-agent --password-file ~/password
DESK

# The command that purge names leaves nothing. A purge without keys leaves nothing, either.
is_clean() {
    if find /etc/vault-key-service /var/lib/systemd/timers /var/lib -maxdepth 2 -path '*vault-key-service*' \
        2>/dev/null | grep .; then return 1; fi
}
apt_get purge credential-vault-key-service | tee /root/purge
if is_clean >/dev/null; then exit 1; fi
eval "$(sed -n 's/.*delete them for good: //p' /root/purge)"
is_clean
apt_get install "${this[@]}"
if systemctl start vault-key-service; then exit 1; fi
apt_get purge credential-vault-key-service | tee /root/purge
if grep 'The keys of the key service stay' /root/purge; then exit 1; fi
is_clean
