"""A separate user id for a person, so that their programs do not run as root. Tests that do not run as root keep their
user."""

import os

USER = 12345


class OwnUser:
    """A replacement for a machine: the person's programs run under the user id."""

    def __init__(self):
        self.is_root = os.geteuid() == 0

    def enter(self, *command):
        """Returns the command line that runs a command as the user."""
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if self.is_root else []
        return [*user, *map(str, command)]

    def own(self, folder):
        """Gives a folder and everything in it to the user."""
        if self.is_root:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, USER, USER, follow_symlinks=False)
