"""A message bus with a logind for one test: the mock of the Swift tests."""

import subprocess

from .programs import ROOT


class MockLogind:
    """A mock logind. Its commands are the methods of `Stage` in mock_logind.py."""

    def __init__(self, folder):
        self.address = f"unix:path={folder}/bus"
        script = ROOT / "Tests" / "VaultLogindTests" / "mock_logind.py"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        # The session "auto" is the caller's session.
        for command in ("start_bus", "start_logind", "add_session auto"):
            self.run(command)

    def run(self, command):
        """Sends a command, and returns when it is done."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("done"), f"{command}: {answer}"

    def kill(self):
        """Closes the mock's input, which ends the mock and everything that it started."""
        self.process.stdin.close()
        self.process.wait()
