"""A machine that lacks a shared library."""

import os
import re

from .programs import run


class WithoutLibrary:
    """A mount namespace with an empty file in the library's place. Only the processes that it runs see it."""

    def __init__(self, folder, name):
        self.empty = folder / "empty"
        self.empty.touch()
        cache = run(["/sbin/ldconfig", "-p"]).out
        self.library = os.path.realpath(re.search(rf"{re.escape(name)} .*=> (\S+)", cache)[1])

    def enter(self, *command):
        """Returns the command line that runs a command on this machine."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        script = 'mount --bind "$0" "$1" && shift && exec "$@"'
        return ["unshare", "--mount", *user, "sh", "-c", script, str(self.empty), self.library, *map(str, command)]
