# When a person logs in to the machine a second time, then that screen locks the agent of the first time, too.
. /project/Tests/machine/inside.sh

make_person nurse
start_services
at_the_desk nurse <<'DESK'
register
vault login --password-file ~/password
vault agent status --json | grep '"process"' >~/agent
DESK
at_the_desk nurse <<'DESK'
vault agent status --json | grep '"process"' | cmp - ~/agent
vault login --password-file ~/password
vault token >/dev/null
loginctl lock-session "$XDG_SESSION_ID"
await 'the lock' is_locked
DESK
