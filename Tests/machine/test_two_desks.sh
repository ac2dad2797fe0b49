# When a machine is revoked, then it opens nothing any more, and other machines and people work on.
. /project/Tests/machine/inside.sh

# Two people at two desks. alice signs in at both, bob only at the second one.
make_person first
make_person second
start_services
. /root/services.env
install_key_service "\"ownerIssuer\": [\"$CREDENTIAL_VAULT_ISSUER\"], \"publicUrl\": \"http://127.0.0.1:8787\""
systemctl start vault-key-service
cat >>/etc/services.env <<'SETTINGS'
export CREDENTIAL_VAULT_KEY_SERVICE=http://127.0.0.1:8787 CREDENTIAL_VAULT_DEVICES=on
SETTINGS

at_the_desk first <<'DESK'
register
login
vault devices --json | grep -o '[0-9a-f]\{32\}' >/tmp/lost
DESK
at_the_desk second <<'DESK'
register
vault register --alias bob --no-agent --no-browser --password-file ~/password 2>~/address &
shows_address() { grep -q '^http' ~/address; }
await 'the address' shows_address
vault-dev browse "$(grep -m 1 '^http' ~/address)" --user bob
wait $!
vault login --user alice --password-file ~/password
vault login --user bob --password-file ~/password
vault devices revoke "$(cat /tmp/lost)" --user alice --yes
vault token --user alice --refresh >/dev/null
vault token --user bob --refresh >/dev/null
DESK
at_the_desk first <<'DESK'
# The session is open until it asks the key service.
vault token >/dev/null
(umask 077 && echo 284617 >~/pin)
ends_with 80 'This device was revoked' vault unlock add pin --new-pin-file ~/pin --password-file ~/password
is_locked
ends_with 80 'This device was revoked' vault login --password-file ~/password
DESK
at_the_desk second <<'DESK'
for user in alice bob; do
    vault lock --user "$user"
    vault login --user "$user" --password-file ~/password
    vault token --user "$user" >/dev/null
done
DESK
# The operator sees the end of one key.
vault-key-service-operate keys list | grep -c revoked | grep -x 1
