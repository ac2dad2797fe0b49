"""A person's login to a desktop for one test: a session bus, and GNOME Keyring on it."""

import os
import subprocess

from .programs import ROOT, run
from .waiting import wait_until

NAME = "org.freedesktop.secrets"
SERVICE = "/org/freedesktop/secrets"
LOGIN = f"{SERVICE}/collection/login"
BUS_CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={folder}/bus</listen>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"""


class DesktopLogin:
    """A session bus that starts no services, and a GNOME Keyring whose login keyring is unlocked. Nobody answers a
    question of the keyring, because there is no display."""

    PASSWORD = "the password of the desktop"

    def __init__(self, folder):
        self.folder = folder  # a socket's path must be short
        configuration = folder / "bus.conf"
        configuration.write_text(BUS_CONFIGURATION.format(folder=folder))
        self.bus = subprocess.Popen(
            ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()
        self.settings = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus"}
        self.keyring = None
        self.log_in()

    def log_in(self):
        """Starts the keyring and unlocks it, as the login to a desktop does."""
        names = ("DISPLAY", "WAYLAND_DISPLAY")
        env = {name: value for name, value in os.environ.items() if name not in names} | self.settings | {
            "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data"), "XDG_RUNTIME_DIR": str(self.folder)}
        self.keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        self.keyring.stdin.write(self.PASSWORD.encode())
        self.keyring.stdin.close()
        wait_until(lambda: self.is_locked() is False, "the login keyring")

    def log_out(self):
        self.keyring.kill()
        self.keyring.wait()

    def kill(self):
        self.log_out()
        self.bus.kill()
        self.bus.communicate()

    def _busctl(self, *arguments):
        return run(["busctl", f"--address={self.settings['DBUS_SESSION_BUS_ADDRESS']}", *arguments])

    def _property(self, name):
        return self._busctl("get-property", NAME, LOGIN, "org.freedesktop.Secret.Collection", name)

    def is_locked(self):
        """None if there is no keyring."""
        return {"b true\n": True, "b false\n": False}.get(self._property("Locked").out)

    def lock(self):
        locked = self._busctl("call", NAME, SERVICE, "org.freedesktop.Secret.Service", "Lock", "ao", "1", LOGIN)
        assert locked.status == 0, locked

    def items(self):
        """The paths of the secrets in the login keyring."""
        return [word.strip('"') for word in self._property("Items").out.split()[2:]]

    def delete_items(self):
        for path in self.items():
            assert self._busctl("call", NAME, path, "org.freedesktop.Secret.Item", "Delete").status == 0

    def shown(self, path):
        """An item's label and attributes, as a program for passwords shows them."""
        words = [
            self._busctl("get-property", NAME, path, "org.freedesktop.Secret.Item", name).out
            for name in ("Label", "Attributes")]
        return " ".join(words)


class MockSecrets:
    """The Secret Service of the Swift tests, whose window waits. Its commands are the methods of `Stage` in
    mock_secrets.py."""

    def __init__(self, folder):
        self.settings = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/bus"}
        script = ROOT / "Tests" / "VaultSecretServiceTests" / "mock_secrets.py"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-B", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in ("start_bus", "install_service"):
            self.run(command)

    def run(self, command):
        """Sends a command, and returns its answer when it is done."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.startswith("done"), f"{command}: {answer}"
        return answer[len("done"):].strip()

    def kill(self):
        """Closes the mock's input, which ends the mock and everything that it started."""
        self.process.stdin.close()
        self.process.wait()
