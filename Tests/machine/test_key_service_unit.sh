# When the key service is killed, then systemd starts it again. The journal has only lines that the handbook names.
. /project/Tests/machine/inside.sh

handbook=/project/Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceWatching.md
operate=/project/Sources/Packaging/vault-key-service-operate
# The service does not get the variable of this test.
echo "$LD_LIBRARY_PATH" >/etc/ld.so.conf.d/swift.conf
ldconfig
install -m 644 /project/Sources/Packaging/vault-key-service.service /etc/systemd/system/
install -m 755 -d /etc/vault-key-service
install -m 644 /project/Sources/Packaging/vault-key-service.json /etc/vault-key-service/
vault-key-service make-master-key /etc/vault-key-service/master.key
"$operate" init
"$operate" audit init --verification-key - >/root/audit.key
systemctl daemon-reload

answers() {
    exec 3<>/dev/tcp/127.0.0.1/8787
    printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
    grep -q '"ready"' <&3
}
# Whether systemd has started another process, and that process is ready.
is_back() {
    [[ $(systemctl show -P MainPID vault-key-service) != "$killed" ]] &&
        systemctl is-active --quiet vault-key-service
}

# systemctl waits until the service accepts connections.
systemctl start vault-key-service
(answers)
killed=$(systemctl show -P MainPID vault-key-service)
kill -KILL "$killed"
await 'the restart' is_back
(answers)
"$operate" keys list
systemctl stop vault-key-service
[[ $(systemctl show -P Result vault-key-service) == success ]]

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
