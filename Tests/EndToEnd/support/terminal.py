"""A program at its own terminal: a pseudo terminal that is also the program's /dev/tty."""

import fcntl
import os
import re
import signal
import struct
import termios

import pexpect

from .programs import VAULT_DEV, run
from .waiting import TIMEOUT, wait_until

TIOCGPTN = 0x80045430
ADDRESS = re.compile(r"^(http://\S+)\r\n", re.M)  # alone on its line, so that a person can copy it


class Terminal:
    def __init__(self, command, environment, columns=200):
        # The shell waits until the test has recorded the terminal's mode.
        self.child = pexpect.spawn(
            "/bin/sh", ["-c", 'read -r _; exec "$@"', "sh", *map(str, command)], env=environment, timeout=TIMEOUT,
            encoding="utf-8", dimensions=(50, columns))
        self.child.delaybeforesend = None
        self.child.linesep = "\r"  # what the key Enter sends
        self.shown = ""
        # Kept open, as a shell would do. The terminal outlives the program, so a test can check its mode afterwards.
        number = struct.unpack("I", fcntl.ioctl(self.child.child_fd, TIOCGPTN, bytes(4)))[0]
        self.device = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
        self.original_mode = self.mode
        self.child.sendline()

    @property
    def mode(self):
        return termios.tcgetattr(self.device)

    @property
    def echoes(self):
        return bool(self.mode[3] & termios.ECHO)

    def expect(self, text):
        """Waits until the text is shown."""
        self.child.expect_exact(text)
        self.shown += self.child.before + self.child.after

    def address(self):
        """Waits for the address that `vault register --no-browser` shows, and returns it."""
        self.child.expect(ADDRESS)
        self.shown += self.child.before + self.child.after
        return self.child.match[1]

    def browse(self, user="alice"):
        """Follows that address."""
        assert run([VAULT_DEV, "browse", self.address(), "--user", user]).status == 0

    def type(self, line):
        self.child.sendline(line)

    def press(self, key):
        """Presses Ctrl and a key."""
        self.child.sendcontrol(key)

    def end(self):
        """Waits for the end and returns the exit status, negative for a signal."""
        # What came after the text that was expected last is read already.
        self.shown, self.child.buffer = self.shown + self.child.buffer, ""

        # The open device never reports an end of file, so this waits for the program's end instead.
        def look():
            alive = self.child.isalive()
            try:
                while True:
                    self.shown += self.child.read_nonblocking(4096, timeout=0)
            except (pexpect.TIMEOUT, pexpect.EOF):
                pass
            return not alive
        wait_until(look, "the end of the program")
        return self.child.exitstatus if self.child.signalstatus is None else -self.child.signalstatus

    def kill(self):
        if self.child.isalive():
            self.child.kill(signal.SIGKILL)
            self.child.wait()
        self.child.close()
        if self.device is not None:
            os.close(self.device)
            self.device = None
