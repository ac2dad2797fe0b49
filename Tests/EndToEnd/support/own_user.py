"""A user id of a person's own, so that their programs do not run as root. Tests that are not run as root keep their user."""

import os

USER = 12345


class OwnUser:
    """Stands in for a machine: the person's programs run under the user id."""

    def __init__(self):
        self.is_root = os.geteuid() == 0

    def enter(self, *command):
        """The command line that runs a command as the user."""
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if self.is_root else []
        return [*user, *map(str, command)]

    def own(self, folder):
        """Gives a folder and everything in it to the user."""
        if self.is_root:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, USER, USER, follow_symlinks=False)
