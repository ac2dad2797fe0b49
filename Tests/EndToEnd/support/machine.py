"""A machine with a policy: an /etc of its own, which only the programs see that run on it."""

import json
import os
import shutil
from pathlib import Path

from .programs import run

POLICY = "/etc/credential-vault/policy.json"


class Machine:
    """Its /etc is a copy of the real one, put in its place in a mount namespace for each program. No variable of the
    environment could do it: a person could set that, too."""

    def __init__(self, folder):
        self.etc = folder / "etc"
        shutil.copytree("/etc", self.etc, symlinks=True, ignore=self._unreadable)
        self.policy_file = self.etc / "credential-vault" / "policy.json"
        self.policy_file.parent.mkdir(exist_ok=True)
        self.policy_file.parent.chmod(0o755)

    def set_policy(self, text=None, mode=0o644, **members):
        """`minimum_pin_length=6` and the like, or any text."""
        content = {name.replace("_", "-"): value for name, value in members.items()}
        self.policy_file.write_text(json.dumps(content) if text is None else text)
        self.policy_file.chmod(mode)

    def remove_policy(self):
        self.policy_file.unlink()

    def enter(self, *command):
        """The command line that runs a command on the machine."""
        # Without being root, the namespace needs a user namespace, too; in it the user's own files are root's.
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        script = 'mount --bind "$0" /etc && exec "$@"'
        return ["unshare", "--mount", *user, "sh", "-c", script, str(self.etc), *map(str, command)]

    @staticmethod
    def is_possible():
        """Whether such a namespace can be had here."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        return shutil.which("unshare") and run(["unshare", "--mount", *user, "mount", "--bind", "/etc", "/etc"]).status == 0

    @staticmethod
    def _unreadable(folder, names):
        return [name for name in names if not os.access(Path(folder, name), os.R_OK) and not Path(folder, name).is_symlink()]
