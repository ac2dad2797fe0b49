"""A pinentry whose answers a test sets."""

import json
import sys
from pathlib import Path


class Window:
    """The answers of a person's scripted pinentry, and the commands that it received."""

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
        """Returns each run's commands with their arguments. A repeated command keeps the last argument."""
        path = self.folder / "log.json"
        return [dict(lines) for lines in json.loads(path.read_text())] if path.exists() else []
