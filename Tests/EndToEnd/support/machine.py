"""A machine with a policy or settings: only the programs that run on it see its /etc."""

import json
import os
import shutil
from pathlib import Path

from .programs import run

POLICY = "/etc/credential-vault/policy.json"
SETTINGS = "/etc/credential-vault/config.json"


class Machine:
    """A machine whose /etc is a copy of the real one. Each program gets it in a mount namespace. An environment
    variable could not replace it, because a person could set that variable, too."""

    def __init__(self, folder):
        self.etc = folder / "etc"
        shutil.copytree("/etc", self.etc, symlinks=True, ignore=self._unreadable)
        self.policy_file = self.etc / "credential-vault" / "policy.json"
        self.settings_file = self.etc / "credential-vault" / "config.json"
        self.policy_file.parent.mkdir(exist_ok=True)
        self.policy_file.parent.chmod(0o755)

    def set_policy(self, text=None, mode=0o644, **members):
        """Sets rules such as `minimum_pin_length=6`, or any text as the policy."""
        content = {name.replace("_", "-"): value for name, value in members.items()}
        self.policy_file.write_text(json.dumps(content) if text is None else text)
        self.policy_file.chmod(mode)

    def remove_policy(self):
        self.policy_file.unlink()

    def set_settings(self, settings, mode=0o644):
        """Writes the settings of all users: a dictionary, or any text."""
        self.settings_file.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        self.settings_file.chmod(mode)

    def enter(self, *command):
        """Returns the command line that runs a command on the machine."""
        # A user that is not root also needs a user namespace. In it, root owns the user's files.
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        script = 'mount --bind "$0" /etc && exec "$@"'
        return ["unshare", "--mount", *user, "sh", "-c", script, str(self.etc), *map(str, command)]

    @staticmethod
    def is_possible():
        """Whether this machine allows such a namespace."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        return shutil.which("unshare") and run(["unshare", "--mount", *user, "mount", "--bind", "/etc", "/etc"]).status == 0

    @staticmethod
    def _unreadable(folder, names):
        return [name for name in names if not os.access(Path(folder, name), os.R_OK) and not Path(folder, name).is_symlink()]
