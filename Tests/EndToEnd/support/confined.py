"""The restrictions of a systemd unit, without systemd: an unprivileged user, a read-only disk, a bare /proc."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from .programs import KEY_SERVICE, Program, clean_environment, run

USER = 61234


class ConfinedService:
    """`vault-key-service` as the unit in `Packaging` runs it.

    The program sees the folders below at /mnt. It may write only the state folders. A credential is the master key.
    strace records its system calls if `traced` is true.
    """

    def __init__(self, folder, settings, state_folders, traced=False):
        self.folder, self.traced = folder, traced
        self.outside = folder / "mnt"
        for name in ("state", "bin", "credentials", "trace"):
            (self.outside / name).mkdir(parents=True)
        for name in state_folders:
            (self.outside / "state" / name).mkdir(mode=0o700)
        shutil.copy(KEY_SERVICE, self.outside / "bin/vault-key-service")
        (self.outside / "settings.json").write_text(settings.replace("/var/lib/", "/mnt/state/"))
        assert run([KEY_SERVICE, "make-master-key", self.outside / "credentials/master.key"]).status == 0
        self.is_root = os.geteuid() == 0
        if self.is_root:
            for path in [*self.outside.rglob("*")]:
                os.chown(path, USER, USER)
            for name in ("bin", "credentials", "settings.json"):
                os.chown(self.outside / name, 0, 0)

    def command(self, *arguments):
        """The command line of the program with its restrictions."""
        setup = f"""
            set -e
            mount -t tmpfs tmpfs /mnt && mkdir /mnt/state /mnt/trace
            mkdir /mnt/bin /mnt/credentials && touch /mnt/settings.json
            for name in state trace bin credentials settings.json; do
                mount --bind "{self.outside}/$name" "/mnt/$name"
            done
            for name in bin credentials settings.json; do mount -o remount,bind,ro "/mnt/$name"; done
            mount -o remount,ro /mnt
            mount -o remount,bind,ro /
            mount -t proc -o subset=pid,hidepid=invisible proc /proc
            exec "$@"
        """
        own_user = [] if self.is_root else ["--user", "--map-root-user"]
        drop = (
            ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", "--bounding-set=-all",
             "--inh-caps=-all"]
            if self.is_root else
            ["unshare", "--user", f"--map-user={USER}", f"--map-group={USER}", "setpriv", "--no-new-privs"])
        trace = ["strace", "-f", "-qq", "-o", "/mnt/trace/calls"] if self.traced else []
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", *own_user, "sh", "-c", setup, "sh", *drop,
                "env", "CREDENTIALS_DIRECTORY=/mnt/credentials", "VAULT_KEY_SERVICE_CONFIG=/mnt/settings.json", *trace,
                "/mnt/bin/vault-key-service", *arguments]

    def operate(self, *arguments):
        return run(self.command(*arguments))

    def serve(self, *arguments):
        program = Program(self.command("serve", *arguments), self.folder, clean_environment())
        url = program.wait_for(re.compile(r"^Listening on (http://\S+)$", re.M))[1]
        return program, url

    def stop(self, program):
        """Ends the server in an orderly way. strace would not pass the signal on, so it goes to the server itself."""
        left = [program.pid]
        while left:
            process = left.pop()
            if os.readlink(f"/proc/{process}/exe").endswith("/vault-key-service"):
                return os.kill(process, signal.SIGTERM)
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                left += [int(word) for word in children.read_text().split()]
        raise AssertionError("The server does not run.")

    def calls(self):
        """The recorded system calls, each as its name and its line. The first one is the start of the program."""
        text = (self.outside / "trace/calls").read_text()
        return [(match[1], match[0]) for match in re.finditer(r"^\d+ +(?:<\.\.\. )?(\w+)[( ].*$", text, re.M)][1:]


def allowed_calls(unit):
    """The system calls that a unit's SystemCallFilter= lines allow."""
    def members(group):
        lines = subprocess.run(
            ["systemd-analyze", "--no-pager", "syscall-filter", group], capture_output=True, text=True,
            check=True).stdout.splitlines()[1:]
        names = {line.strip() for line in lines} - {""}
        names = {name for name in names if not name.startswith("#")}
        groups = {name for name in names if name.startswith("@")}
        return (names - groups).union(*(members(name) for name in groups))

    allowed = set()
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        words = shlex.split(value.removeprefix("~"))
        named = set().union(*(members(word) if word.startswith("@") else {word} for word in words))
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed
