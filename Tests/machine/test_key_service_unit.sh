# When the key service is killed, then systemd starts it again. The journal has only lines that the handbook names.
. /project/Tests/machine/inside.sh

handbook=/project/Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceWatching.md
install_key_service

property() { systemctl show -P "$1" vault-key-service; }
# Whether systemd has started another process, and that process is ready.
is_back() { [[ $(property MainPID) != "$process" ]] && systemctl is-active --quiet vault-key-service; }
# Whether nobody but the service, and root, can read its files, its key and its memory.
as_stranger() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
is_refused() {
    if as_stranger head -c 1 "$1" >/dev/null 2>/run/refused; then echo "Anybody can read $1." >&2; return 1; fi
    grep -qE 'Permission denied|Operation not permitted' /run/refused
}

# systemctl waits until the service accepts connections.
systemctl start vault-key-service
answers
process=$(property MainPID)

# The service has a user of its own, which exists only while a unit needs it.
user=$(property UID)
((user >= 61184 && user <= 65519))
if grep -q vault-key-service /etc/passwd; then exit 1; fi
grep -qE "^Uid:\s+$user\s" "/proc/$process/status"
[[ $(stat -c %u /var/lib/private/vault-key-service/keys.sqlite) == "$user" ]]
[[ $(stat -c %a /var/lib/private/vault-key-service{,-mark,-audit,-backup} | sort -u) == 700 ]]

# systemd gives the key to the service alone.
key=/run/credentials/vault-key-service.service/master.key
cmp "$key" /etc/vault-key-service/master.key
for file in "$key" /etc/vault-key-service/master.key /var/lib/vault-key-service/keys.sqlite \
    /proc/"$process"/{mem,maps,environ}; do
    is_refused "$file"
done

# Of 100. The second line proves that the check can fail.
systemd-analyze --no-pager --threshold=15 security vault-key-service >/dev/null
if systemd-analyze --no-pager --threshold=5 security vault-key-service >/dev/null; then exit 1; fi

# Neither new units nor a reload end the process.
systemctl daemon-reload
systemctl reload vault-key-service
answers
[[ $(property MainPID) == "$process" ]]

# An ended process comes back, with the same user and the same keys.
kill -KILL "$process"
await 'the restart' is_back
answers
[[ $(property UID) == "$user" ]]
vault-key-service-operate keys list
systemctl stop vault-key-service
[[ $(property Result) == success ]]

# Without its master key, the service does not start.
mv /etc/vault-key-service/master.key /root/
if systemctl start vault-key-service; then exit 1; fi
systemctl stop vault-key-service
mv /root/master.key /etc/vault-key-service/

# With wrong settings, the service stays down.
echo '{' >/etc/vault-key-service/vault-key-service.json
if systemctl start vault-key-service; then exit 1; fi
[[ $(systemctl show -P ExecMainStatus -P ActiveState -P NRestarts vault-key-service | sort | xargs) == '0 78 failed' ]]

# The last line says what is wrong with the settings.
journalctl --sync
sed -n '/^| Log line /,/^$/s/^| \(`.*`\) | .*/\1/p' "$handbook" | grep -o '`[^`]*`' |
    sed 's/`//g; s/\[/\\[/g; s/…/.*/g' >/run/names
echo 'vault-key-service: The settings in ' >>/run/names
journalctl --identifier=vault-key-service --output=cat >/run/journal
grep -q 'Stopped$' /run/journal
if grep -v -f /run/names /run/journal; then exit 1; fi
