"""A shell at a terminal, and a person who reads its output and answers its questions."""

import re
import subprocess

import pexpect

from .programs import VAULT_DEV
from .waiting import TIMEOUT


def _redirect_of(address):
    # A booted machine has no package for the pages.
    from .pages import redirect_of
    return redirect_of(address)


PROMPT = "<ready for the next command>"
# The answers of a person who chooses ordinary secrets. A later question for the same secret gets the same answer.
ANSWERS = [
    (r"New password[^\n]* \(at least \d+ characters\): ?$", "tea at half past four"),
    (r"Password of [^\n]* at http[^\n]*: ?$", "alice-password"),
    (r"([Pp]assword of|Password \()[^\n]*: ?$", "tea at half past four"),
    (r"New PIN[^\n]*: ?$", "739146"),
    (r"PIN (of|\()[^\n]*: ?$", "739146"),
    (r"PIN for [^\n]*: ?$", "739146"),
    (r"Please (?:re)?enter (?:SO|user) PIN: ?$", "739146"),
    (r"assphrase[^\n]*: ?$", "seven otters juggle at noon"),
    (r"The same again: ?$", None),
    (r"Password \(empty[^\n]*: ?$", "tea at half past four"),
    (r"Value of [^\n]*: ?$", "k-3141592"),
    (r"User name[^\n]*: ?$|E-mail[^\n]*: ?$", "alice@example.com"),
    (r"Recovery code (of|\()[^\n]*: ?$", lambda seen: CODE.findall(seen)[-1]),
    (r"^Address: ?$", lambda seen: _redirect_of(ADDRESS.findall(seen)[-1])),
    (r"\[[yY]/[nN]\]:? ?$|\(yes/no\)[^\n]*$", "yes"),
]
CODE = re.compile(r"\b(?:[0-9A-Z]{4}-){7}[0-9A-Z]{4}\b")
ADDRESS = re.compile(r"^(http://\S+/authorize\S+)", re.M)
# The output that tells a person to sign in as alice, in a browser or with a code on another device.
VISITS = [
    r"in a browser on this machine:\s+(http\S+)\s()",
    r"open this address on (?:this machine|any device):\s+(http\S+)\s+and enter this code:\s+(\S+)\s",
]


class Shell:
    def __init__(self, environment, folder):
        self.seen = ""  # all output so far
        self.visits = []
        self.child = pexpect.spawn(
            "bash", ["--norc", "--noprofile"], env=environment | {"PS1": "", "TERM": "dumb"}, cwd=str(folder),
            timeout=TIMEOUT * 4, encoding="utf-8", dimensions=(60, 200), echo=False)
        self.child.delaybeforesend = None
        # What the key Enter sends. A program that spoils the mode of the terminal does not see the end of the line then.
        self.child.linesep = "\r"
        self.child.sendline(f"PS1='{PROMPT[:4]}''{PROMPT[4:]}'; PS2=; bind 'set enable-bracketed-paste off' 2>/dev/null")
        self.child.expect_exact(PROMPT)

    def run(self, command, typed=()):
        """Types a command, answers its questions, and returns the output until the shell's next prompt."""
        typed, last, shown, answers = list(typed), "", "", 0
        self.child.sendline(command)
        patterns = [re.escape(PROMPT), *(f"(?m){pattern}" for pattern, _ in ANSWERS), *VISITS, pexpect.TIMEOUT]
        while True:
            found = self.child.expect(patterns)
            if found == len(patterns) - 1:
                raise AssertionError(f"{command}: still running. It showed:\n{shown}{self.child.before}")
            shown += self.child.before + (self.child.after if found else "")
            self.seen += self.child.before + (self.child.after if found else "")
            if found == 0:
                assert not typed, f"{command}: nobody asked for {typed}. It showed:\n{shown}"
                return shown
            if found > len(ANSWERS):
                self.visit(*self.child.match.groups())
                continue
            answer = typed.pop(0) if typed else ANSWERS[found - 1][1] or last
            answer = answer(self.seen) if callable(answer) else answer
            # A command that asks again and again would never end.
            assert (answers := answers + 1) <= 50, f"{command}: it asks without end. It showed:\n{shown}"
            last = answer
            shown += "\n"
            self.child.sendline(answer)

    def visit(self, url, code):
        """Signs in as alice, as a person would in a browser."""
        options = ["--user-code", code] if code else []
        self.visits.append(subprocess.Popen(
            [VAULT_DEV, "browse", url, "--user", "alice", *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def start(self, command, last):
        """Types a command that keeps running, and waits until it has shown a line."""
        self.child.sendline(command)
        self.child.expect(last)

    def stop(self):
        """Presses Ctrl-C, and waits until the command has ended."""
        self.child.sendintr()
        self.child.expect_exact(PROMPT)

    def kill(self):
        self.child.close(force=True)
        for visit in self.visits:
            visit.kill()
            visit.wait()
