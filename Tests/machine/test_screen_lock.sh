# When the screen is locked or the machine sleeps, then the sessions are locked.
. /project/Tests/machine/inside.sh

make_person nurse
echo 'nurse ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/nurse
echo "127.0.1.1 $(hostname)" >>/etc/hosts
start_services

# A container cannot sleep, so systemd writes into a file. Before that, logind says that the machine goes to sleep, and
# this program runs.
mount -o remount,rw /sys
mkdir /sys/power
echo mem >/sys/power/state
systemctl restart systemd-logind
install -d /usr/lib/systemd/system-sleep
cat >/usr/lib/systemd/system-sleep/ask <<'HOOK'
#!/bin/sh
echo "$1" >>/run/sleep
runuser -u nurse -- env XDG_RUNTIME_DIR="/run/user/$(id -u nurse)" HOME=/home/nurse /usr/local/bin/vault token \
    >/dev/null 2>&1 </dev/null
echo "$?" >>/run/sleep
HOOK
chmod 755 /usr/lib/systemd/system-sleep/ask

at_the_desk nurse <<'DESK'
register
login
vault agent status | grep -x 'The sessions also lock on: screen lock, sleep (logind).'
start=${EPOCHREALTIME/./}
loginctl lock-session "$XDG_SESSION_ID"
await 'the lock' is_locked
# In microseconds.
((${EPOCHREALTIME/./} - start < 1000000))
# The desktop does not report that the person unlocks the screen.
login
systemd-inhibit --list | grep -E 'vault.* sleep .* delay'
sudo systemctl suspend
awake() { grep -q post /run/sleep; }
await 'the end of the sleep' awake
is_locked
login
DESK
# The sessions were locked already when the machine was about to sleep.
diff /run/sleep - <<'SLEEP'
pre
78
post
78
SLEEP
