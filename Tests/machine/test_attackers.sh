# When a program attacks a person's agent, then it gets nothing that its user has no right to.
. /project/Tests/machine/inside.sh

make_person nurse
make_person mallory
# Outside the machine, the first persons have 1000 and 1001. They could act as these two.
(($(id -u nurse) >= 59990 && $(id -u mallory) >= 59990))
start_services
at_the_desk nurse <<'DESK'
register
login
vault agent status --json | sed -n 's/.*"process" : \([0-9]*\).*/\1/p' >/tmp/agent
# An ordinary process of hers, which shows that the attacks work.
setsid sleep infinity </dev/null >/dev/null 2>&1 &
echo $! >/tmp/ordinary
DESK
agent=$(cat /tmp/agent)
store=/home/nurse/.local/share/credential-vault
runtime=/run/user/$(id -u nurse)
socket=$(echo "$runtime"/credential-vault/*.sock)
attack_as() { runuser -u "$1" -- /usr/bin/python3 -B /project/Tests/machine/attacker.py "${@:2}"; }
is() { diff <(echo "$1") <(echo "$2"); }

# Her own programs can read an ordinary process, but not the agent.
is 'memory open-memory environ auxv maps descriptors root attach copy-memory signal' \
    "$(attack_as nurse "$(cat /tmp/ordinary)")"
is "signal $store $store/vault.sqlite $socket" "$(attack_as nurse "$agent" "$store" "$store/vault.sqlite" "$socket")"

# Another user gets nothing, even if she shows her home to others.
chmod 755 /home/nurse
chmod -R go+rX /home/nurse/.local
chmod 700 "$store"
is '' "$(attack_as mallory "$agent" "$store" "$store/vault.sqlite" "$socket")"
at_the_desk mallory <<DESK
if XDG_RUNTIME_DIR=$runtime vault token; then exit 1; fi
if CREDENTIAL_VAULT_HOME=$store vault token; then exit 1; fi
DESK

# Even with the modes of the socket and its folders gone, the agent answers no other user.
chmod 755 "$runtime" "$runtime/credential-vault"
chmod 666 "$socket"
is "$socket" "$(attack_as nurse "$agent" "$socket" | sed 's/^signal //')"
is '' "$(attack_as mallory "$agent" "$socket")"
chmod 600 "$socket"
chmod 700 "$runtime" "$runtime/credential-vault"

# A crash leaves no core file.
grep -qE '^Max core file size +0 ' "/proc/$agent/limits"

# The attacks changed nothing for the person.
at_the_desk nurse <<<'vault token >/dev/null'
