"""The restrictions of a systemd unit, without systemd."""

import os
import re
import shutil
import signal
from pathlib import Path

from . import seccomp
from .programs import KEY_SERVICE, Program, clean_environment, run

USER = 61234


class ConfinedService:
    """`vault-key-service` as a unit runs it: an unprivileged user, a read-only disk, a bare /proc, few system calls.

    The program sees its files at /mnt, and may write only the folders in /mnt/state. A credential is the master key.
    """

    def __init__(self, folder, unit, settings, state_folders):
        self.folder = folder
        self.outside = folder / "mnt"
        for name in ("state", "bin", "credentials"):
            (self.outside / name).mkdir(parents=True)
        for name in state_folders:
            (self.outside / "state" / name).mkdir(mode=0o700)
        (self.outside / "bin/vault-key-service").touch()
        shutil.copy(seccomp.__file__, self.outside / "bin/seccomp.py")
        (self.outside / "bin/filter").write_bytes(seccomp.filter_program(unit))
        (self.outside / "bin/settings.json").write_text(settings.replace("/var/lib/", "/mnt/state/"))
        assert run([KEY_SERVICE, "make-master-key", self.outside / "credentials/master.key"]).status == 0
        self.is_root = os.geteuid() == 0
        if self.is_root:
            for path in [*(self.outside / "state").iterdir(), self.outside / "credentials/master.key"]:
                os.chown(path, USER, USER)

    def command(self, *command):
        """The command line that runs a command with the restrictions."""
        setup = f"""
            set -e
            mount -t tmpfs tmpfs /mnt
            for name in state bin credentials; do
                mkdir "/mnt/$name"
                mount --bind "{self.outside}/$name" "/mnt/$name"
            done
            mount --bind "{KEY_SERVICE}" /mnt/bin/vault-key-service
            for name in bin credentials; do mount -o remount,bind,ro "/mnt/$name"; done
            mount -o remount,ro /mnt
            mount -o remount,bind,ro /
            mount -t proc -o subset=pid,hidepid=invisible proc /proc
            exec "$@"
        """
        own_namespace = [] if self.is_root else ["--user", "--map-root-user"]
        other_user = (["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if self.is_root
                      else ["unshare", "--user", f"--map-user={USER}", f"--map-group={USER}", "setpriv"])
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", *own_namespace, "sh", "-c", setup, "sh",
                *other_user, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all",
                "env", "CREDENTIALS_DIRECTORY=/mnt/credentials", "VAULT_KEY_SERVICE_CONFIG=/mnt/bin/settings.json",
                "/usr/bin/python3", "/mnt/bin/seccomp.py", "/mnt/bin/filter", *command]

    def run(self, *command):
        return run(self.command(*command))

    def operate(self, *arguments):
        return self.run("/mnt/bin/vault-key-service", *arguments)

    def serve(self, *arguments):
        program = Program(
            self.command("/mnt/bin/vault-key-service", "serve", *arguments), self.folder, clean_environment())
        url = program.wait_for(re.compile(r"^Listening on (http://\S+)$", re.M))[1]
        return program, url

    def stop(self, program):
        """Ends the server in an orderly way. unshare would not pass the signal on, so it goes to the server itself."""
        left = [program.pid]
        while left:
            process = left.pop()
            if os.readlink(f"/proc/{process}/exe").endswith("/vault-key-service"):
                return os.kill(process, signal.SIGTERM)
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                left += [int(word) for word in children.read_text().split()]
        raise AssertionError("The server does not run.")
