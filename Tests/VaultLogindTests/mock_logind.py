"""A message bus with python-dbusmock's logind on it, in the folder given as the argument.

Each line of standard input is a command (a method of Stage and its arguments). The answer is one line, after the
command is done. All processes end with the input.
"""

import os
import subprocess
import sys
import time

import dbus
import dbusmock

LOGIND = "org.freedesktop.login1"
MANAGER = "/org/freedesktop/login1"

BUS_CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={path}</listen>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"""


class Stage:
    def __init__(self, folder):
        self.folder = folder
        self.address = f"unix:path={folder}/bus"
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = self.address
        self.bus = None
        self.logind = None

    def start_bus(self):
        configuration = f"{self.folder}/bus.conf"
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(BUS_CONFIGURATION.format(path=f"{self.folder}/bus"))
        command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--print-address"]
        self.bus = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()
        return self.address

    def stop_bus(self):
        """Stops logind, too, because no program could reach it without the bus."""
        self.stop_logind()
        if self.bus:
            self.bus.kill()
            self.bus.communicate()
        self.bus = None

    def start_logind(self):
        self.logind, _ = dbusmock.DBusTestCase.spawn_server_template("logind", {}, subprocess.DEVNULL)

    def stop_logind(self):
        if self.logind:
            self.logind.kill()
            self.logind.wait()
        self.logind = None

    def add_session(self, name):
        """Adds a session of another user, so that only its name finds it."""
        self._add_session(name, os.getuid() + 1)

    def add_own_session(self, name):
        """Begins a session of the tests' own user, and tells all programs."""
        self._add_session(name, os.getuid())
        path = dbus.ObjectPath(f"{MANAGER}/session/{name}")
        self._mock(MANAGER).EmitSignal(f"{LOGIND}.Manager", "SessionNew", "so", [name, path])

    def _add_session(self, name, user):
        self._mock(MANAGER).AddSession(name, "seat0", dbus.UInt32(user), "alice", True)

    def lock(self, name):
        self._session(name).Lock()

    def unlock(self, name):
        self._session(name).Unlock()

    def hint_locked(self, name, value):
        self._session(name).SetLockedHint(value == "true")

    def hint_idle(self, name):
        """Changes an unrelated property of the session."""
        self._mock(f"{MANAGER}/session/{name}").UpdateProperties(f"{LOGIND}.Session", {"IdleHint": True})

    def sleep(self, value):
        asleep = value == "true"
        self._mock(MANAGER).UpdateProperties(f"{LOGIND}.Manager", {"PreparingForSleep": asleep})
        self._mock(MANAGER).EmitSignal(f"{LOGIND}.Manager", "PrepareForSleep", "b", [asleep])

    def await_delays(self, count):
        """Waits until `count` programs hold back the machine's sleep. Returns their kinds and modes."""
        manager = dbus.Interface(self._object(MANAGER), f"{LOGIND}.Manager")
        timeout = time.monotonic() + 30
        while len(inhibitors := manager.ListInhibitors()) != int(count):
            if time.monotonic() > timeout:
                raise TimeoutError(f"there are {len(inhibitors)}")
        return " ".join(f"{what}:{mode}" for what, _, _, mode, _, _ in inhibitors)

    def forbid_delays(self):
        self._mock(MANAGER).AddMethod(f"{LOGIND}.Manager", "Inhibit", "ssss", "h", _refusal("AccessDenied"))

    def know_no_auto(self):
        """Imitates systemd before version 243, where a process finds its own session by process id."""
        path = f"ret = '{MANAGER}/session/' + args[0]"
        self._mock(MANAGER).AddMethod(
            f"{LOGIND}.Manager", "GetSession", "s", "o", f"if args[0] == 'auto': {_refusal('NoSuchSession')}\n{path}")
        self._mock(MANAGER).AddMethod(
            f"{LOGIND}.Manager", "GetSessionByPID", "u", "o", f"ret = '{MANAGER}/session/c' + str(7 + args[0])")

    def know_no_session(self):
        for method, signature in (("GetSession", "s"), ("GetSessionByPID", "u")):
            self._mock(MANAGER).AddMethod(f"{LOGIND}.Manager", method, signature, "o", _refusal("NoSuchSession"))

    def impersonate(self, name, member):
        """Sends a session's signal directly to all programs, as any user of the machine could."""
        bus = self._connection()
        for receiver in bus.list_names():
            message = dbus.lowlevel.SignalMessage(f"{MANAGER}/session/{name}", f"{LOGIND}.Session", member)
            message.set_destination(receiver)
            bus.send_message(message)
        bus.flush()
        # The bus answers in order, so it has now delivered all messages before this call.
        bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus").GetId()

    def _connection(self):
        return dbus.bus.BusConnection(self.address)

    def _object(self, path):
        return self._connection().get_object(LOGIND, path)

    def _mock(self, path):
        return dbus.Interface(self._object(path), dbusmock.MOCK_IFACE)

    def _session(self, name):
        return dbus.Interface(self._object(f"{MANAGER}/session/{name}"), f"{LOGIND}.Session")


def _refusal(name):
    return f"raise dbus.exceptions.DBusException('no', name='{LOGIND}.{name}')"


def main():
    stage = Stage(sys.argv[1])
    try:
        for line in sys.stdin:
            command, *arguments = line.split()
            try:
                print("done", getattr(stage, command)(*arguments) or "", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                print("failed", repr(error).replace("\n", " "), flush=True)
    finally:
        stage.stop_bus()


main()
