"""A message bus with a Secret Service on it, in the folder given as the argument.

Each line of standard input is a command (a method of Stage and its arguments). The answer is one line, after the
command is done. All processes end with the input.

With the second argument "serve", it is the Secret Service itself, as the bus starts it.
"""

import json
import os
import subprocess
import sys
import time

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
COLLECTION = ROOT + "/collection/login"
SECRET = "org.freedesktop.Secret."
CONTROL = "test.Control"

BUS_CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={folder}/bus</listen>
  <servicedir>{folder}/services</servicedir>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"""


def error(name):
    return dbus.exceptions.DBusException("no", name=SECRET + "Error." + name)


class Keyring:
    """The collection's content. It survives the service."""

    def __init__(self, folder):
        self.path = f"{folder}/keyring.json"
        self.items, self.locked, self.alias = [], False, True
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.__dict__ |= json.load(file)

    def store(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"items": self.items, "locked": self.locked, "alias": self.alias}, file)


class Service(dbus.service.Object):
    """The service, and what a test changes about it."""

    def __init__(self, bus, folder):
        super().__init__(bus, ROOT)
        self.bus, self.keyring = bus, Keyring(folder)
        # What the person does in the window; whether the service ends in the next search, or never answers one.
        self.answer, self.ends, self.hangs = "unlock", False, False
        self.sessions, self.prompts, self.dismissed, self.objects = 0, 0, 0, {}
        self.collection = Collection(bus, self)
        self.show_items()

    def show_items(self):
        for number in range(len(self.keyring.items)):
            if number not in self.objects:
                self.objects[number] = Item(self.bus, self, number)

    @dbus.service.method(SECRET + "Service", in_signature="sv", out_signature="vo")
    def OpenSession(self, algorithm, _):
        if algorithm != "plain":
            raise dbus.exceptions.DBusException("no", name="org.freedesktop.DBus.Error.NotSupported")
        self.sessions += 1
        return "", dbus.ObjectPath(f"{ROOT}/session/s{self.sessions}")

    @dbus.service.method(
        SECRET + "Service", in_signature="a{ss}", out_signature="aoao", async_callbacks=("reply", "_fail"))
    def SearchItems(self, attributes, reply, _fail):
        if self.ends:
            os._exit(1)
        if self.hangs:
            return
        found = [
            dbus.ObjectPath(f"{COLLECTION}/{number}") for number, item in enumerate(self.keyring.items)
            if item and all(item["attributes"].get(name) == value for name, value in attributes.items())]
        paths = (dbus.Array(found, "o"), dbus.Array([], "o"))
        reply(*(paths[::-1] if self.keyring.locked else paths))

    @dbus.service.method(SECRET + "Service", in_signature="ao", out_signature="aoo")
    def Unlock(self, paths):
        if not self.keyring.locked:
            return paths, dbus.ObjectPath("/")
        self.prompts += 1
        return dbus.Array([], "o"), Prompt(self.bus, self, self.prompts).path

    @dbus.service.method(SECRET + "Service", in_signature="s", out_signature="o")
    def ReadAlias(self, name):
        return dbus.ObjectPath(COLLECTION if name == "default" and self.keyring.alias else "/")

    @dbus.service.method(CONTROL, in_signature="ss", out_signature="s")
    def Change(self, name, value):
        """Sets or calls something of this object or of the keyring."""
        if name in ("locked", "alias"):
            setattr(self.keyring, name, value == "true")
        elif name in ("ends", "hangs"):
            setattr(self, name, value == "true")
        elif name == "answer":
            self.answer = value
        elif name != "nothing":
            getattr(self, name)(value)
        self.keyring.store()
        return f"{self.prompts} {self.dismissed} {sum(map(bool, self.keyring.items))}"

    def delete_items(self, _):
        self.keyring.items = [None for _ in self.keyring.items]

    def copy_items(self, text):
        """Puts a copy of each item, with another text, before the items. An empty text keeps the item's own."""
        copies = [item | {"text": text or item["text"]} for item in self.keyring.items if item]
        self.keyring.items = copies + self.keyring.items
        self.show_items()

    def change_schema(self, schema):
        for item in filter(None, self.keyring.items):
            item["attributes"]["xdg:schema"] = schema


class Collection(dbus.service.Object):
    def __init__(self, bus, service):
        super().__init__(bus, COLLECTION)
        self.service = service

    @dbus.service.method(SECRET + "Collection", in_signature="a{sv}(oayays)b", out_signature="oo")
    def CreateItem(self, properties, secret, _replaces):
        keyring = self.service.keyring
        if keyring.locked:
            raise error("IsLocked")
        attributes = {str(name): str(value) for name, value in properties[SECRET + "Item.Attributes"].items()}
        keyring.items.append({"attributes": attributes, "text": bytes(secret[2]).decode()})
        keyring.store()
        self.service.show_items()
        return dbus.ObjectPath(f"{COLLECTION}/{len(keyring.items) - 1}"), dbus.ObjectPath("/")

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, _interface, name):
        return {"Locked": dbus.Boolean(self.service.keyring.locked)}[name]


class Item(dbus.service.Object):
    def __init__(self, bus, service, number):
        super().__init__(bus, f"{COLLECTION}/{number}")
        self.service, self.number = service, number

    @dbus.service.method(SECRET + "Item", in_signature="o", out_signature="(oayays)")
    def GetSecret(self, session):
        if int(session.rpartition("s")[2]) > self.service.sessions:
            raise error("NoSession")
        if self.service.keyring.locked:
            raise error("IsLocked")
        item = self.service.keyring.items[self.number]
        return session, dbus.ByteArray(b""), dbus.ByteArray(item["text"].encode()), "text/plain"

    @dbus.service.method(SECRET + "Item", in_signature="", out_signature="o")
    def Delete(self):
        self.service.keyring.items[self.number] = None
        self.service.keyring.store()
        return dbus.ObjectPath("/")


class Prompt(dbus.service.Object):
    def __init__(self, bus, service, number):
        self.path = dbus.ObjectPath(f"{ROOT}/prompt/p{number}")
        super().__init__(bus, self.path)
        self.service = service

    @dbus.service.method(SECRET + "Prompt", in_signature="s", out_signature="")
    def Prompt(self, _window):
        if self.service.answer == "end":
            GLib.idle_add(os._exit, 1)
        elif self.service.answer != "wait":
            GLib.idle_add(self.finish, self.service.answer == "unlock")

    @dbus.service.method(SECRET + "Prompt", in_signature="", out_signature="")
    def Dismiss(self):
        self.service.dismissed += 1
        GLib.idle_add(self.finish, False)

    def finish(self, unlocks):
        if unlocks:
            self.service.keyring.locked = False
            self.service.keyring.store()
        self.Completed(not unlocks, dbus.Array([], "o"))

    @dbus.service.signal(SECRET + "Prompt", signature="bv")
    def Completed(self, dismissed, result):
        pass


class Stage:
    def __init__(self, folder):
        self.folder, self.bus = folder, None
        self.address = f"unix:path={folder}/bus"
        os.mkdir(f"{folder}/services")

    def start_bus(self):
        with open(f"{self.folder}/bus.conf", "w", encoding="utf-8") as file:
            file.write(BUS_CONFIGURATION.format(folder=self.folder))
        command = ["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--print-address"]
        self.bus = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()

    def stop_bus(self):
        """The service ends, too, because its connection ends."""
        if self.bus:
            self.bus.kill()
            # Not until the end of its output: the service has that, too.
            self.bus.wait()
        self.bus = None

    def install_service(self):
        """Lets the bus start the service when it is called."""
        command = f"{sys.executable} -B {os.path.abspath(__file__)} {self.folder} serve"
        with open(f"{self.folder}/services/{NAME}.service", "w", encoding="utf-8") as file:
            file.write(f"[D-BUS Service]\nName={NAME}\nExec={command}\n")
        driver = dbus.Interface(
            self._connection().get_object("org.freedesktop.DBus", "/org/freedesktop/DBus"), "org.freedesktop.DBus")
        driver.ReloadConfig()

    def change(self, name="nothing", value=""):
        """Changes the service. Returns the numbers of questions, of windows that were closed, and of items."""
        return dbus.Interface(self._connection().get_object(NAME, ROOT), CONTROL).Change(name, value)

    def imitate(self, number):
        """Sends the end of a prompt directly to all programs, as any program on the bus could."""
        bus = self._connection()
        for receiver in bus.list_names():
            message = dbus.lowlevel.SignalMessage(f"{ROOT}/prompt/p{number}", SECRET + "Prompt", "Completed")
            message.append(False, "", signature="bv")
            message.set_destination(receiver)
            bus.send_message(message)
        bus.flush()
        bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus").GetId()

    def await_question(self):
        """Waits until the service has asked the person."""
        timeout = time.monotonic() + 30
        while self.change().startswith("0 "):
            if time.monotonic() > timeout:
                raise TimeoutError("there was no question")

    def await_dismissal(self):
        """Waits until a window was closed by the program that asked."""
        timeout = time.monotonic() + 30
        while self.change().split()[1] == "0":
            if time.monotonic() > timeout:
                raise TimeoutError("no window was closed")

    def _connection(self):
        return dbus.bus.BusConnection(self.address)


def serve(folder):
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    loop = GLib.MainLoop()
    bus = dbus.bus.BusConnection(f"unix:path={folder}/bus")
    bus.call_on_disconnection(lambda _: os._exit(0))
    Service(bus, folder)
    bus.request_name(NAME)
    loop.run()


def main():
    stage = Stage(sys.argv[1])
    try:
        for line in sys.stdin:
            command, *arguments = line.split()
            try:
                print("done", getattr(stage, command)(*arguments) or "", flush=True)
            except Exception as failure:  # pylint: disable=broad-except
                print("failed", repr(failure).replace("\n", " "), flush=True)
    finally:
        stage.stop_bus()


if len(sys.argv) > 2:
    serve(sys.argv[1])
else:
    main()
