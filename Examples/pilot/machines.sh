# shellcheck shell=bash
# The machines of the pilot. Each one is a booted Debian in a container of systemd-nspawn. alice has an account on each
# machine, and may use sudo. Their network connects only these machines, and their changes stay in memory.
# on MACHINE COMMAND shows a command, and runs it on a machine, in a login session of alice.

machines=(ca db login keys1 keys2 desk1 desk2)

# Makes and boots the machines: make_machines DISK PACKAGES GROUP
# The script runs with processes, mounts and a network of its own. All of these end with it. GROUP is the cgroup of the
# machines.
make_machines() {
    local disk=$1 packages=$2 number=10 machine
    group=/sys/fs/cgroup$3
    mount -t tmpfs -o mode=755 tmpfs /run
    mount -t tmpfs -o mode=755 tmpfs /srv
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    ip link add machines type bridge
    ip link set machines up
    add_layer all "$disk"
    fill_all
    umount /srv/all
    for machine in "${machines[@]}"; do
        add_layer "$machine" "/srv/.all/changes:$disk"
        echo "$machine" >"/srv/$machine/etc/hostname"
        printf '[Match]\nName=host0\n[Network]\nAddress=10.20.0.%s/24\n' "$((number++))" \
            >"/srv/$machine/etc/systemd/network/10-host0.network"
        boot "$machine"
    done
    for machine in "${machines[@]}"; do is_up "$machine"; done
}

# Makes the folder /srv/NAME with the files of other folders. Its changes go into a folder of their own:
# add_layer NAME FOLDERS
add_layer() {
    mkdir -p "/srv/.$1"/{changes,work} "/srv/$1"
    mount -t overlay -o "lowerdir=$2,upperdir=/srv/.$1/changes,workdir=/srv/.$1/work" overlay "/srv/$1"
}

# Makes the files that all machines have.
fill_all() {
    local machine names number=10 home=/srv/all/home/alice
    # Linux takes a person of this machine with the same number for her, and would let that person read her files.
    chroot /srv/all useradd --uid 59999 --create-home --shell /bin/bash alice
    echo 'alice ALL=(ALL) NOPASSWD: ALL' >/srv/all/etc/sudoers.d/alice
    # A login at a desktop, without a password.
    cat >/srv/all/etc/pam.d/desk <<'PAM'
auth required pam_permit.so
account required pam_permit.so
session required pam_systemd.so class=user type=wayland
PAM
    echo '127.0.0.1 localhost' >/srv/all/etc/hosts
    for machine in "${machines[@]}"; do
        names="$machine.example.com $machine"
        if [[ $machine == keys* ]]; then names+=' keys.example.com'; fi
        echo "10.20.0.$((number++)) $names" >>/srv/all/etc/hosts
    done
    cp "$packages"/credential-vault{,-key-service}_*.deb "$home/"
    chmod 644 "$home"/*.deb
    if [[ -n $libraries ]]; then
        echo "$libraries" >/srv/all/etc/ld.so.conf.d/pilot.conf
        mkdir -p "/srv/all$libraries"
        mount --bind "$libraries" "/srv/all$libraries"
        chroot /srv/all ldconfig
        umount "/srv/all$libraries"
    fi
}

# Switches a machine on. systemd needs the system call bpf there for IPAddressDeny: boot MACHINE
boot() {
    mkdir -p "$group/$1"
    (
        echo "$BASHPID" >"$group/$1/cgroup.procs"
        exec systemd-nspawn --quiet --boot --directory="/srv/$1" --machine="$1" --register=no --keep-unit \
            --network-bridge=machines --system-call-filter=bpf --console=pipe \
            --resolv-conf=off --timezone=off --link-journal=no \
            ${libraries:+"--bind-ro=$libraries"} -- systemd.wants=systemd-networkd.service \
            </dev/null >"/srv/.$1/console" 2>&1
    ) &
}

# Waits until a machine has started: is_up MACHINE
is_up() { await "the start of $1" inside "$1" systemctl is-active --quiet multi-user.target; }

# Prints the process ID of a machine's systemd: systemd_of MACHINE
systemd_of() { head -n 1 "$group/$1/payload/init.scope/cgroup.procs"; }

# Takes the power from a machine: kill_machine MACHINE
kill_machine() {
    local process
    process=$(systemd_of "$1")
    kill -KILL "$process"
    await "the end of $1" eval "! kill -0 $process"
}

# Runs a command as root on a machine: inside MACHINE COMMAND...
inside() { nsenter --all --target "$(systemd_of "$1")" "${@:2}"; }

# Shows a command, and runs it on a machine: on MACHINE COMMAND
on() {
    printf '%s$ %s\n' "$1" "$2"
    quietly_on "$1" "$2"
}

# Shows a command that has to fail with a status: refused STATUS MACHINE COMMAND
refused() {
    local status=0
    on "$2" "$3" || status=$?
    echo "status $status"
    [[ $status == "$1" ]]
}

# Runs a command on a machine, in a session of alice: quietly_on MACHINE COMMAND
quietly_on() {
    # systemd-run puts values in place of $NAME, and $ in place of $$. So each $ is written as $$.
    inside "$1" systemd-run --quiet --wait --pipe --collect --uid=alice --property=PAMName=desk \
        --working-directory=/home/alice /bin/bash -euo pipefail -c "${2//\$/\$\$}" </dev/null
}

# Copies files of alice to another machine: copy FROM FILE... TO
copy() {
    local from=$1 to=${*: -1} files=("${@:2:$#-2}")
    printf '%s$ scp %s %s:\n' "$from" "${files[*]}" "$to"
    cp --preserve "${files[@]/#//srv/$from/home/alice/}" "/srv/$to/home/alice/"
}

# Waits until a command succeeds: await WHAT COMMAND...
await() {
    local what=$1 deadline=$((SECONDS + 180))
    shift
    until "$@" 2>/dev/null; do
        ((SECONDS < deadline)) || { echo "Timeout after 180 seconds: $what." >&2; return 1; }
        sleep 0.1
    done
}

# Waits until the key service of a machine is ready: is_ready MACHINE
is_ready() { await "the key service on $1" quietly_on "$1" "curl -sSf https://$1.example.com:8787/readyz > ready"; }

# Shows the ends of the machines' logs.
show_logs() {
    local machine
    for machine in "${machines[@]}"; do
        echo "-- $machine"
        inside "$machine" journalctl --quiet --no-pager --lines=12 --priority=warning || tail "/srv/.$machine/console"
    done
}
