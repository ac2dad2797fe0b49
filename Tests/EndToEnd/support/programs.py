"""The programs under test, run as a script would run them."""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .waiting import TIMEOUT, wait_until

ROOT = Path(__file__).resolve().parents[3]
BINARIES = Path(os.environ.get("VAULT_BINARIES", ROOT / ".build" / "debug"))
VAULT = str(BINARIES / "vault")
VAULT_COMMAND = str(BINARIES / "vault-command")
VAULT_DEV = str(BINARIES / "vault-dev")
KEY_SERVICE = str(BINARIES / "vault-key-service")


# A test build derives keys from new secrets at a small cost. A test that looks at the cost leaves this out.
CHEAP = {"CREDENTIAL_VAULT_CHEAP_ARGON2": "1"}


# A person who waits for the browser sees a remark after some time. A slow machine must not show it in other tests.
PATIENT = {"CREDENTIAL_VAULT_REMINDER_SECONDS": "3600"}


def clean_environment(**more):
    """The environment of the tests, without variables that configure the programs. Times are in UTC."""
    prefixes = ("CREDENTIAL_VAULT_", "VAULT_", "XDG_", "CREDENTIALS_DIRECTORY", "NO_COLOR", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    usual = {"LC_ALL": "C.UTF-8", "TZ": "UTC", **CHEAP, **PATIENT}
    return kept | usual | {name: str(value) for name, value in more.items()}


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        # A command that opens a browser shows the address first.
        return json.loads(self.err[self.err.index("{\n"):])["error"]


class Program:
    """A program that runs in the background. It has its own session (so no terminal), and its output goes to files."""

    def __init__(self, command, folder, environment=None, stdin=subprocess.DEVNULL, **options):
        number = len(list(folder.glob("program-*.out")))
        self.out_path = folder / f"program-{number}.out"
        self.err_path = folder / f"program-{number}.err"
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=stdin, stdout=out, stderr=err, start_new_session=True,
                env=clean_environment() if environment is None else environment, **options)

    @property
    def pid(self):
        return self.process.pid

    @property
    def out(self):
        return self.out_path.read_text(errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    def wait_for(self, pattern, stream="out", timeout=TIMEOUT):
        """Waits until a stream matches the compiled `pattern`, and returns the match."""
        def look():
            match = pattern.search(getattr(self, stream))
            if not match and self.process.poll() is not None:
                match = pattern.search(getattr(self, stream))
                assert match, f"it ended with {self.process.returncode}: {self.out}{self.err}"
            return match
        return wait_until(look, f"{pattern.pattern!r} on std{stream} of {self.process.args}", timeout)

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=TIMEOUT):
        """Waits for the end."""
        status = self.process.wait(timeout)
        return Result(status, self.out, self.err)

    def kill(self):
        """Ends the program and every process that it started. A stopped process needs SIGKILL."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run(command, environment=None, password=None, timeout=180, **options):
    """Runs a program to its end, without a terminal. `password` is written to its standard input."""
    if password is not None:
        options["input"] = password.encode() if isinstance(password, str) else password
    else:
        options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, timeout=timeout, start_new_session=True,
        env=clean_environment() if environment is None else environment, **options)
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
