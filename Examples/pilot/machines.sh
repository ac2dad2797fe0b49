# shellcheck shell=bash
# The machines of the pilot. Each one has a name, a user and a folder /srv/NAME of its own, and they share one network
# that leads nowhere. on MACHINE COMMAND shows a command and runs it there.

declare -A users=([ca]=60001 [db]=postgres [login]=60002 [keys1]=60003 [keys2]=60004 [desk1]=60005 [desk2]=60006)

# Gives this process, which may change everything now, its own processes, network and files. All of that is gone when
# it ends.
make_machines() {
    local name
    mount -t tmpfs -o mode=755 tmpfs /srv
    mkdir -p /srv/.etc/{changed,work}
    mount -t overlay -o lowerdir=/etc,upperdir=/srv/.etc/changed,workdir=/srv/.etc/work overlay /etc
    # The person's folder may be closed to the users of the machines.
    mkdir /srv/.programs
    mount --bind "$1" /srv/.programs
    ip link set lo up
    for name in 10 11 12 13; do ip address add "10.20.0.$name/32" dev lo; done
    cat >/etc/hosts <<'HOSTS'
127.0.0.1   localhost
10.20.0.10  db.example.com
10.20.0.11  keys.example.com keys1.example.com
10.20.0.12  keys.example.com keys2.example.com
10.20.0.13  login.example.com
HOSTS
    for name in "${!users[@]}"; do
        mkdir -p "/srv/$name/run"
        chmod -R 700 "/srv/$name"
        chown -R "${users[$name]}:${users[$name]}" "/srv/$name"
    done
}

# Shows a command, and runs it on a machine: on MACHINE COMMAND
on() {
    printf '%s$ %s\n' "$1" "$2"
    quietly_on "$1" "$2"
}

# Runs a command on a machine: quietly_on MACHINE COMMAND
quietly_on() {
    local user=${users[$1]}
    local clean=(
        env -i "HOME=/srv/$1" "XDG_RUNTIME_DIR=/srv/$1/run" "PGHOST=/srv/$1/run" LC_ALL=C.UTF-8
        "PATH=/srv/.programs:$postgresql:/usr/bin:/bin" VAULT_KEY_SERVICE_CONFIG=vault-key-service.json
    )
    # shellcheck disable=SC2016 # The inner shell knows these.
    unshare --uts bash -c 'hostname "$1" && cd "/srv/$1" && exec "${@:2}"' - "$1" \
        setpriv "--reuid=$user" "--regid=$user" --clear-groups "${clean[@]}" bash -euo pipefail -c "$2" </dev/null
}

# Copies files of one folder to the same folder of another machine: copy FROM FILE... TO
copy() {
    local from=$1 to=${*: -1} files=("${@:2:$#-2}") file folder
    folder=$(dirname "${files[0]}")/
    printf '%s$ scp %s %s:%s\n' "$from" "${files[*]}" "$to" "${folder#./}"
    for file in "${files[@]}"; do
        install -o "${users[$to]}" -g "${users[$to]}" -m 600 "/srv/$from/$file" "/srv/$to/$file"
    done
}

# Waits until a command succeeds: await WHAT COMMAND...
await() {
    local what=$1 deadline=$((SECONDS + 30))
    shift
    until "$@" 2>/dev/null; do
        ((SECONDS < deadline)) || { echo "Timeout after 30 seconds: $what." >&2; return 1; }
        sleep 0.1
    done
}
