"""A message bus of a test's own with a logind on it: the one of the Swift tests."""

import subprocess

from .programs import ROOT


class MockLogind:
    """What it can do are the methods of `Stage` in mock_logind.py."""

    def __init__(self, folder):
        self.address = f"unix:path={folder}/bus"
        script = ROOT / "Tests" / "VaultLogindTests" / "mock_logind.py"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # The session "auto" is the one of whoever asks.
        for command in ("start_bus", "start_logind", "add_session auto"):
            self.run(command)

    def run(self, command):
        """Has a command done, and returns when it is done."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("done"), f"{command}: {answer}"

    def kill(self):
        """It ends with its input, and takes along everything that it started."""
        self.process.stdin.close()
        self.process.wait()
