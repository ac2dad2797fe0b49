"""Makes the fixtures of a release. Called by make.sh.

The people of the fixture are alice (version 2 of the key service's protocol, with a PIN and a recovery code) and bob
(version 1, also without the network). Their keys are in SQLite, and moved to PostgreSQL.
"""

import hashlib
import json
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from support.agent import socket_of
from support.person import PASSWORD, Person
from support.postgres import Cluster
from support.programs import KEY_SERVICE, run
from support.recorded_agent import ask, recording
from support.released import FOLDER, KEY_SERVICE_ADDRESS, Services, digest, dump, present_version

PIN = "2846"
PASSPHRASE = "seven owls on a wire at dusk"
# One item in one piece, and one in chunks.
ITEMS = {"alice": {"note": "Room 4: bandage\n", "large": hashlib.shake_128(b"item").hexdigest(35_000)},
         "bob": {"plan": "Ask for the key of room 5.\n"}}
REQUEST_OF_ANOTHER_VERSION = b"\0\0\0\2\x63\x03"
NOTE = "Everything in this fixture is a test value: passwords, keys, tokens, also the master key and the signing keys."


def done(result):
    assert result.status == 0, result
    return result


class Fixture:
    def __init__(self, folder):
        self.folder = folder
        self.children = []
        self.services = Services(folder, self.children)
        # The cost of a real keyslot, not that of the tests.
        self.person = Person(folder, {"CREDENTIAL_VAULT_CHEAP_ARGON2": "0"}, self.children)
        self.known = {"note": NOTE, "password": PASSWORD, "pin": PIN, "passphrase": PASSPHRASE, "items": {
            user: {name: digest(text) for name, text in items.items()} for user, items in ITEMS.items()}}

    def make(self):
        try:
            self.start()
            self.register()
            self.record_agent()
            self.back_up()
            self.stop()
            self.move_to_postgresql()
        finally:
            for child in reversed(self.children):
                child.kill()

    def start(self):
        """Starts the servers, with an audit log."""
        (self.folder / "audit").mkdir(mode=0o700)
        log = self.folder / "audit" / "audit.log"
        done(run([KEY_SERVICE, "audit", "init", "--audit-log", log, "--verification-key", self.folder / "audit.key",
                  "--instance", "fixture"]))
        done(run([KEY_SERVICE, "init", "--data", self.folder / "keys"]))
        self.services.start_provider()
        self.services.start_key_service()
        self.person.settings |= self.services.provider.environment
        self.person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = f"http://{KEY_SERVICE_ADDRESS}"

    def register(self):
        alice = self.person.registered()
        pin = alice.password_file(PIN, "pin")
        done(alice.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD))
        added = done(alice.vault("unlock", "add", "recovery", "--json", password=PASSWORD))
        self.known["recovery_code"] = added.json["recovery_code"]
        alice.registered("--allow-offline", user="bob", env={"CREDENTIAL_VAULT_KEY_SERVICE_PROTOCOL": "1"})
        for user, items in ITEMS.items():
            for name, text in items.items():
                file = alice.password_file()
                done(alice.vault("item", "set", name, "--user", user, "--password-file", file, input=text.encode(),
                                 stdin=None))

    def record_agent(self):
        """Records what commands ask the agent, and its refusal of another version."""
        with tempfile.TemporaryDirectory(prefix="r") as runtime:
            person = self.person
            person.settings["XDG_RUNTIME_DIR"] = runtime
            try:
                done(person.vault("login", "--user", "alice", password=PASSWORD))
                path = socket_of(Path(runtime))
                exchanges = [recording(path, lambda words=words: person.vault(*words)) for words in (
                    ("agent", "status"), ("users",), ("token", "--user", "alice"))]
                exchanges.append((REQUEST_OF_ANOTHER_VERSION, ask(path, REQUEST_OF_ANOTHER_VERSION)))
            finally:
                person.vault("agent", "stop", "--force")
                del person.settings["XDG_RUNTIME_DIR"]
        self.known["agent"] = [[request.hex(), answer.hex()] for request, answer in exchanges]

    def back_up(self):
        """Makes the backups."""
        passphrase = self.person.password_file(PASSPHRASE, "passphrase")
        done(self.person.vault(
            "export", "--to", self.folder / "vault-backup", "--passphrase-file", passphrase, "--password-file",
            self.person.password_file()))
        # Each version of the protocol has a wrong guess.
        assert self.person.vault("login", "--user", "alice", "--pin", password="9317").status == 77
        assert self.person.vault("login", "--user", "bob", password="not the password").status == 77
        done(self.services.operate("backup", "--to", self.folder / "keys-backup.sqlite"))
        self.known["keys"] = self.services.listed()

    def stop(self):
        """Stops the servers, so that their databases are complete."""
        self.services.stop_key_service()
        self.services.provider.program.signal(signal.SIGTERM)
        self.services.provider.program.wait()
        shutil.rmtree(self.folder / "vault-dev" / "key-service")
        shutil.rmtree(self.folder / "vault-dev" / "key-service-secrets")
        verified = done(self.services.verify_audit_log())
        self.known["anchor"] = verified.out.split("Anchor of the last line: ")[1].strip()
        self.known["identity"] = self.services.identity()

    def move_to_postgresql(self):
        """Moves a copy of the keys into PostgreSQL."""
        shared = self.folder / "shared"
        shared.mkdir(mode=0o700)
        for name in ("keys", "keys-secrets", "audit"):
            shutil.copytree(self.folder / name, shared / name)
        cluster = Cluster()
        self.children.append(cluster)
        done(run([KEY_SERVICE, "migrate-store", "--from", f"sqlite:{shared / 'keys'}", "--to", cluster.url,
                  "--audit-log", shared / "audit" / "audit.log", "--instance", "fixture"]))
        (shared / "keys.sql").write_text(dump(cluster.primary))
        for file in (shared / "keys").glob("keys.sqlite*"):
            file.unlink()

    def save(self, target):
        target.mkdir(parents=True, exist_ok=True)
        (target / "known.json").write_text(json.dumps(self.known, indent=2) + "\n")
        names = ("home", "config", "vault-backup", "vault-dev", "keys", "keys-secrets", "keys-backup.sqlite", "audit",
                 "audit.key", "shared")
        subprocess.run(
            ["tar", "-czf", target / "files.tar.gz", "--exclude=*-shm", "--sort=name", "--owner=0", "--group=0",
             "--numeric-owner", "-C", self.folder,
             *(name for name in names if (self.folder / name).exists())], check=True)


def main():
    with tempfile.TemporaryDirectory(prefix="vault-fixture-") as name:
        fixture = Fixture(Path(name))
        fixture.make()
        fixture.save(FOLDER / present_version())
    print(f"Made Tests/Upgrades/{present_version()}.")


if __name__ == "__main__":
    main()
