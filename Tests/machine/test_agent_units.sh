# When a person lets systemd start the agent, then each login finds it again.
. /project/Tests/machine/inside.sh

make_person nurse
start_services
at_the_desk nurse <<'DESK'
register
vault agent install | tail -1
systemctl --user daemon-reload
systemctl --user enable --now credential-vault-agent.socket
property() { systemctl --user show -P "$1" credential-vault-agent.service; }
[[ $(property ActiveState) == inactive ]]

# The first login starts the agent.
login
[[ $(property ActiveState) == active ]]
process=$(property MainPID)
vault agent status --json | grep -E "\"process\" : $process\b"

# Its limits are those of the unit, and new units do not end it.
[[ $(property LimitCORE) == 0 && $(property MemorySwapMax) == 0 && $(property NoNewPrivileges) == yes ]]
systemctl --user daemon-reload
vault token >/dev/null
[[ $(property MainPID) == "$process" ]]

# An agent that crashes leaves no memory behind: 2 is "killed", and 3 would be "dumped".
kill -ABRT "$process"
ended() { [[ $(property MainPID) == 0 ]]; }
await 'the end of the agent' ended
[[ $(property ExecMainCode) == 2 ]]
is_locked

# systemd starts it again.
systemctl --user reset-failed
login
[[ $(property MainPID) != "$process" ]]
loginctl lock-session "$XDG_SESSION_ID"
await 'the lock' is_locked

vault agent uninstall
systemctl --user daemon-reload
systemctl --user stop credential-vault-agent.socket credential-vault-agent.service
[[ $(property LoadState) == not-found && -z $(find ~/.config/systemd/user ! -type d) ]]
DESK
