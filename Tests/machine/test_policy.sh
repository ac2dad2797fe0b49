# When an administrator sets a policy, then people obey it and cannot change it.
. /project/Tests/machine/inside.sh

make_person nurse
start_services
policy=/etc/credential-vault/policy.json
install -d -m 755 "${policy%/*}"
set_policy() { echo "$1" >/run/policy && install -m 644 /run/policy "$policy"; }

set_policy '{"allowed-unlock-methods": ["password"]}'
at_the_desk nurse <<'DESK'
register
login
echo 284617 >~/pin && chmod 600 ~/pin
ends_with 85 'forbids this unlock method: pin' vault unlock add pin --new-pin-file ~/pin --password-file ~/password
ends_with 85 'forbids this unlock method: offline' vault unlock add offline --yes --password-file ~/password

# Each way to change or to hide the file is refused.
cd /etc/credential-vault
echo '{}' >~/policy.json
refused() { if "$@" 2>~/refused; then echo "not refused: $*" >&2; return 1; fi; grep -q -e denied -e permitted -e superuser ~/refused; }
refused cp ~/policy.json policy.json
refused mv -f ~/policy.json policy.json
refused rm -f policy.json
refused ln -s ~/policy.json policy.json.new
refused chmod 666 policy.json
refused chown nurse policy.json
refused mv /etc/credential-vault /etc/old
refused mount --bind ~/policy.json policy.json
for folder in HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS CREDENTIAL_VAULT_HOME; do
    mkdir -p ~/own/credential-vault
    cp ~/policy.json ~/own/credential-vault/
    [[ $folder == CREDENTIAL_VAULT_HOME ]] || cp -r ~/.local ~/own/
    { env "$folder=$HOME/own" vault doctor 2>/dev/null || true; } | grep '^ok   policy .*Unlock methods: password\.'
done
DESK

# A change also binds the open session of the agent.
set_policy '{"forbidden-unlock-methods": ["password"]}'
at_the_desk nurse <<'DESK'
is_locked
ends_with 85 'forbids this unlock method: password' vault login --password-file ~/password
DESK

# A policy that the person could change counts as none of the administrator's, so nothing opens.
set_policy '{}'
chown nurse "$policy"
at_the_desk nurse <<<"ends_with 78 'chown root $policy' vault token --password-file ~/password"
chown root "$policy"
at_the_desk nurse <<<login
