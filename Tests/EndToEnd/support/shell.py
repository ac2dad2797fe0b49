"""A shell at a terminal, and a person who reads what it shows and types what is asked for."""

import re

import pexpect

from .waiting import PATIENCE

PROMPT = "<ready for the next command>"
# What a person answers who chooses ordinary secrets. A later question for the same secret gets the same answer.
ANSWERS = [
    (r"New password[^\n]*\(at least \d+ characters\): ?$", "tea at half past four"),
    (r"Password of [^\n]*: ?$", "tea at half past four"),
    (r"New PIN[^\n]*: ?$", "739146"),
    (r"PIN of [^\n]*: ?$", "739146"),
    (r"PIN for [^\n]*: ?$", "739146"),
    (r"assphrase[^\n]*: ?$", "seven otters juggle at noon"),
    (r"The same again: ?$", None),
    (r"Password \(empty[^\n]*: ?$", "tea at half past four"),
    (r"Value of [^\n]*: ?$", "k-3141592"),
    (r"User name[^\n]*: ?$|E-mail[^\n]*: ?$", "alice@example.com"),
    (r"\[[yY]/[nN]\]:? ?$|\(yes/no\)[^\n]*$", "yes"),
]


class Shell:
    def __init__(self, environment, folder):
        self.child = pexpect.spawn(
            "bash", ["--norc", "--noprofile"], env=environment | {"PS1": "", "TERM": "dumb"}, cwd=str(folder),
            timeout=PATIENCE * 4, encoding="utf-8", dimensions=(60, 200), echo=False)
        self.child.delaybeforesend = None
        self.child.sendline(f"PS1='{PROMPT[:4]}''{PROMPT[4:]}'; PS2=; bind 'set enable-bracketed-paste off' 2>/dev/null")
        self.child.expect_exact(PROMPT)

    def run(self, command, typed=()):
        """Types a command, answers what it asks, and returns what was shown until the next prompt of the shell."""
        typed, last, shown = list(typed), "", ""
        self.child.sendline(command)
        patterns = [re.escape(PROMPT), *(f"(?m){pattern}" for pattern, _ in ANSWERS), pexpect.TIMEOUT]
        while True:
            found = self.child.expect(patterns)
            if found == len(patterns) - 1:
                raise AssertionError(f"{command}: still running. It showed:\n{shown}{self.child.before}")
            shown += self.child.before + (self.child.after if found else "")
            if found == 0:
                assert not typed, f"{command}: nobody asked for {typed}. It showed:\n{shown}"
                return shown
            answer = typed.pop(0) if typed else ANSWERS[found - 1][1] or last
            last = answer
            shown += "\n"
            self.child.sendline(answer)

    def start(self, command, last):
        """Types a command that goes on running, and waits until it has shown a line."""
        self.child.sendline(command)
        self.child.expect(last)

    def kill(self):
        self.child.close(force=True)
