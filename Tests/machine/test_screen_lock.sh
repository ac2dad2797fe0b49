# When the screen is locked, then the sessions are locked.
. /project/Tests/machine/inside.sh

make_person nurse
start_services
at_the_desk nurse <<'DESK'
register
vault login --password-file ~/password
vault token >/dev/null
vault agent status | grep -x 'The sessions also lock on: screen lock, sleep (logind).'
loginctl lock-session "$XDG_SESSION_ID"
await 'the lock' is_locked
vault agent unlock --password-file ~/password
vault token >/dev/null
DESK
