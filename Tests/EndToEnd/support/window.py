"""A pinentry that answers what a test says."""

import json
import sys
from pathlib import Path


class Window:
    """What the scripted pinentry of a person answers, and what it was told."""

    def __init__(self, person):
        self.folder = person.folder / "window"
        self.folder.mkdir()
        self.program = self.folder / "pinentry"
        script = Path(__file__).with_name("scripted_pinentry.py")
        self.program.write_text(f'#!/bin/sh\n"{sys.executable}" -I "{script}"\n')
        self.program.chmod(0o755)

    def answer(self, *answers):
        (self.folder / "script.json").write_text(json.dumps(answers))
        (self.folder / "log.json").unlink(missing_ok=True)

    @property
    def log(self):
        """What each run was told, by command. A command that came twice has its last argument."""
        path = self.folder / "log.json"
        return [dict(lines) for lines in json.loads(path.read_text())] if path.exists() else []
