"""One person's desktop: a home folder, xdg-utils, and the applications that a test adds."""

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from .programs import run


class Desktop:
    def __init__(self, person):
        self.person = person
        self.home = person.folder / "desk"
        self.cache = Path(tempfile.mkdtemp(prefix="cache-"))  # a socket's path must be short
        self.config = self.home / ".config"
        self.home.mkdir()
        # xdg-utils only check whether there is a display, and the name of the desktop.
        self.variables = {
            "HOME": self.home, "XDG_CONFIG_HOME": self.config, "XDG_CACHE_HOME": self.cache, "DISPLAY": ":77",
            "WAYLAND_DISPLAY": "", "BROWSER": "", "XDG_CURRENT_DESKTOP": "",
        }
        person.settings |= self.variables
        person.keep(self)

    def kill(self):
        shutil.rmtree(self.cache)

    def list(self, name="mimeapps.list"):
        return self.config / name

    def write_list(self, content, name="mimeapps.list"):
        self.config.mkdir(parents=True, exist_ok=True)
        self.list(name).write_bytes(content)

    def install(self, name, script):
        """Adds an application that the desktop can open addresses with."""
        program = self.person.folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        applications = self.home / ".local/share/applications"
        applications.mkdir(parents=True, exist_ok=True)
        (applications / f"{name}.desktop").write_text(
            f"[Desktop Entry]\nType=Application\nName={name}\nExec={program} %u\n")

    def open(self, url):
        return run(["xdg-open", url], self.person.environment())

    def handler(self, scheme):
        """Returns the application that opens the scheme now."""
        query = ["xdg-mime", "query", "default", f"x-scheme-handler/{scheme}"]
        return run(query, self.person.environment()).out.strip()

    def private_folder(self):
        """Returns the folder with the program and the socket for the current sign-in's application."""
        (entry,) = (self.home / ".local/share/applications").glob("credential-vault-redirect-*.desktop")
        return Path(re.search(r"^Exec=(\S+)/vault ", entry.read_text(), re.M)[1])

    def everything(self):
        """Returns all files in the home and the cache, to prove that they did not change."""
        found = {}
        for root in (self.home, self.cache):
            for path in sorted(root.rglob("*")):
                status = path.lstat()
                content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                name = f"{root.name.split('-')[0]}/{path.relative_to(root)}"
                found[name] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content)
        return found


def desktop(folder, script):
    """A desktop whose browser is a script: `xdg-open` on the PATH is `script`. The rest of the PATH stays the same."""
    folder.mkdir()
    program = folder / "xdg-open"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
