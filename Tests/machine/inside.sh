# Functions for the tests, which run inside the machine.
set -E
trap 'echo "Failed: $BASH_COMMAND" >&2' ERR

# Waits until a command succeeds: await WHAT COMMAND...
await() {
    local what=$1 deadline=$((SECONDS + 60))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || { echo "waited 60 s in vain for: $what" >&2; return 1; }
        sleep 0.05
    done
}

# Makes a person with a password for the vault. Their browser signs in as alice. These user ids are usually free outside
# the machine. Linux treats equal ids as the same user, in the machine and outside.
make_person() {
    useradd -K UID_MIN=59990 -K UID_MAX=59999 --create-home "$1"
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

# Installs the unit of the key service, and makes its keys. An argument is more settings: install_key_service [JSON]
install_key_service() {
    local packaging=/project/Sources/Packaging folder=/etc/vault-key-service
    install -m 644 "$packaging/vault-key-service.service" /etc/systemd/system/
    install -m 755 "$packaging/vault-key-service-operate" /usr/local/bin/
    install -m 755 -d "$folder"
    sed "s|^}|${1:+, $1}}|" "$packaging/vault-key-service.json" >"$folder/vault-key-service.json"
    chmod 644 "$folder/vault-key-service.json"
    vault-key-service make-master-key "$folder/master.key"
    vault-key-service-operate init
    vault-key-service-operate audit init --verification-key - >/root/audit.key
    systemctl daemon-reload
}

# Whether the key service answers that it is ready.
answers() { curl -sS --max-time 20 http://127.0.0.1:8787/readyz | grep '"ready"' >/dev/null; }

# Whether a command ends with an exit status, and says a text: ends_with STATUS TEXT COMMAND...
ends_with() {
    local status=0 output
    output=$("${@:3}" 2>&1 </dev/null) || status=$?
    [[ $status == "$1" && $output == *"$2"* ]] || { echo "status $status, not $1: $output" >&2; return 1; }
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
        --setenv=PATH="$PATH" /bin/bash -euo pipefail /run/desk.sh </dev/null
}

# At the desk: registers alice, with the person's password.
register() { vault register --alias alice --no-agent --password-file ~/password; }

# At the desk: whether the agent gives no token any more.
is_locked() { ! vault token >/dev/null 2>&1; }

# At the desk: logs in, with the person's password.
login() { vault login --password-file ~/password && vault token >/dev/null; }
