# Functions for the tests, which run inside the machine.

# Waits until a command succeeds: await WHAT COMMAND...
await() {
    local what=$1 deadline=$((SECONDS + 20))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || { echo "waited 20 s in vain for: $what" >&2; return 1; }
        sleep 0.05
    done
}

# Makes a person with a password for the vault. Their browser signs in as alice.
make_person() {
    useradd --create-home "$1"
    (umask 077 && echo 'tangerine-42-umbrella' >"/home/$1/password" && chown "$1" "/home/$1/password")
    printf '#!/bin/sh\nvault-dev browse "$1" --user alice >/dev/null 2>&1 </dev/null &\n' >/usr/bin/xdg-open
    chmod 755 /usr/bin/xdg-open
}

# Starts the identity provider and the key service.
start_services() {
    vault-dev --data /root/services --env-file /root/services.env >/root/services.log 2>&1 &
    await 'vault-dev' test -s /root/services.env
    install -m 644 /root/services.env /etc/services.env
}

# Runs the commands of standard input as a person, in a session of their own: at_the_desk PERSON
at_the_desk() {
    # The session of a desktop, without a display manager's password.
    cat >/etc/pam.d/desk <<'PAM'
auth required pam_permit.so
account required pam_permit.so
session required pam_systemd.so class=user type=wayland
PAM
    { cat /project/Tests/machine/inside.sh; echo '. /etc/services.env'; cat; } >/run/desk.sh
    systemd-run --quiet --wait --pipe --collect --uid="$1" --property=PAMName=desk --setenv=DISPLAY=:77 \
        --setenv=PATH="$PATH" --setenv=LD_LIBRARY_PATH="$LD_LIBRARY_PATH" \
        /bin/bash -euo pipefail /run/desk.sh </dev/null
}

# At the desk: registers alice, with the person's password.
register() { vault register --alias alice --no-agent --password-file ~/password; }

# At the desk: whether the agent gives no token any more.
is_locked() { ! vault token >/dev/null 2>&1; }
