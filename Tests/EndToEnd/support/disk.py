"""A small disk that a test can fill or make read-only: a tmpfs in a separate mount namespace."""

import os
import re

from .programs import Program, run


class SmallDisk:
    """A disk mounted on `folder`. Only the processes that it runs see it."""

    def __init__(self, folder, size="16m"):
        self.folder = folder
        folder.mkdir()
        # A user that is not root also needs a user namespace. In it, root owns the user's files.
        self.is_root = os.geteuid() == 0
        unshare = ["unshare", "--mount", *([] if self.is_root else ["--user", "--map-root-user"])]
        script = f'mount -t tmpfs -o size={size},mode=700 disk "{folder}" && echo mounted && exec sleep infinity'
        self.holder = Program([*unshare, "sh", "-c", script], folder.parent)
        self.holder.wait_for(re.compile("mounted"))

    def enter(self, *command):
        """Returns the command line that runs a command in the disk's namespace."""
        user = [] if self.is_root else ["--user", "--preserve-credentials"]
        return ["nsenter", f"--target={self.holder.pid}", "--mount", *user, *map(str, command)]

    def shell(self, script):
        result = run(self.enter("sh", "-c", script))
        assert result.status == 0, result
        return result.out

    def fill(self):
        """Fills the disk completely."""
        run(self.enter("dd", "if=/dev/zero", f"of={self.folder}/filler", "bs=4096"))
        assert self.shell(f"stat -f -c %a {self.folder}") == "0\n"

    def empty(self):
        self.shell(f"rm {self.folder}/filler")

    def read_only(self, is_read_only):
        self.shell(f"mount -o remount,bind,{'ro' if is_read_only else 'rw'} {self.folder}")

    def kill(self):
        self.holder.kill()


class MirroredFolder:
    """A folder behind FUSE, which only its own processes see. bindfs shows `mirrored` at `folder`."""

    enter = SmallDisk.enter

    def __init__(self, folder, mirrored):
        self.folder, self.mirrored = folder, mirrored
        folder.mkdir()
        mirrored.mkdir(mode=0o700)
        self.is_root = os.geteuid() == 0
        unshare = ["unshare", "--mount", *([] if self.is_root else ["--user", "--map-root-user"])]
        # In the foreground, because a daemon would outlive the test.
        script = (f'bindfs -f "{mirrored}" "{folder}" & '
                  f'until mountpoint -q "{folder}"; do kill -0 $! || exit; sleep 0.02; done; echo mounted; wait')
        self.holder = Program([*unshare, "sh", "-c", script], folder.parent)
        self.holder.wait_for(re.compile("mounted"))

    def kill(self):
        self.holder.kill()
