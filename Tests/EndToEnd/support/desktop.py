"""A desktop of one person: a home folder, xdg-utils with it, and whatever applications are put there."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from .programs import run


class Desktop:
    def __init__(self, person):
        self.person = person
        self.home = person.folder / "desk"
        self.runtime = Path(tempfile.mkdtemp(prefix="run-"))  # a socket's path must be short
        self.config = self.home / ".config"
        self.home.mkdir()
        # xdg-utils only look whether there is a display, and how the desktop is called.
        self.variables = {
            "HOME": self.home, "XDG_CONFIG_HOME": self.config, "XDG_RUNTIME_DIR": self.runtime, "DISPLAY": ":77",
            "WAYLAND_DISPLAY": "", "BROWSER": "", "XDG_CURRENT_DESKTOP": "",
        }
        person.settings |= self.variables
        person.keep(self)

    def kill(self):
        shutil.rmtree(self.runtime)

    def list(self, name="mimeapps.list"):
        return self.config / name

    def write_list(self, content, name="mimeapps.list"):
        self.config.mkdir(parents=True, exist_ok=True)
        self.list(name).write_bytes(content)

    def install(self, name, script):
        """An application, which the desktop gives an address."""
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
        """What opens a scheme now."""
        query = ["xdg-mime", "query", "default", f"x-scheme-handler/{scheme}"]
        return run(query, self.person.environment()).out.strip()

    def everything(self):
        """All that is in the home and the runtime folder: to prove that it is as it was."""
        found = {}
        for root in (self.home, self.runtime):
            for path in sorted(root.rglob("*")):
                status = path.lstat()
                content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                name = f"{root.name.split('-')[0]}/{path.relative_to(root)}"
                found[name] = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), content)
        return found
