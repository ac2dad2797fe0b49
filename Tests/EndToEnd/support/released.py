"""What the programs of a release stored, as Tests/Upgrades/make.sh made it, and the servers that it belongs to."""

import hashlib
import json
import re
import signal
import subprocess

from .person import Person
from .postgres import Cluster, programs
from .programs import KEY_SERVICE, ROOT, Program, run
from .services import DevelopmentServices

FOLDER = ROOT / "Tests" / "Upgrades"

# The accounts of a fixture belong to these addresses, in every release. No other test uses ports below 12000.
PROVIDER = "127.0.0.1:11811"
KEY_SERVICE_ADDRESS = "127.0.0.1:11812"
OTHER_KEY_SERVICE_ADDRESS = "127.0.0.1:11813"  # of vault-dev, without keys


def present_version():
    """The version of the release that this source makes."""
    source = (ROOT / "Sources" / "VaultBase" / "Release.swift").read_text()
    return re.search(r'static let version = "(\d+\.\d+\.\d+)"', source)[1]


def versions():
    """The releases with fixtures, oldest first."""
    found = [path.parent.name for path in FOLDER.glob("*/known.json")]
    return sorted(found, key=lambda version: [int(number) for number in version.split(".")])


def digest(text):
    """The SHA-256 of an item."""
    return hashlib.sha256(text.encode()).hexdigest()


class Services:
    """The servers that the accounts belong to, over the files in a folder."""

    def __init__(self, folder, children):
        self.folder = folder
        self.children = children
        self.provider = None
        self.program = None
        self.cluster = None

    def keep(self, child):
        self.children.append(child)
        return child

    def start_provider(self):
        """Starts `vault-dev`. Its own key service has no keys of the accounts."""
        self.provider = self.keep(DevelopmentServices(
            self.folder, "--listen", PROVIDER, "--key-service-listen", OTHER_KEY_SERVICE_ADDRESS))

    def files(self, store):
        """The folder of the key service with SQLite, or with PostgreSQL."""
        return self.folder / "shared" if store == "postgresql" else self.folder

    def place(self, store="sqlite"):
        """The options that name the database."""
        shared = ["--database-url", self.cluster.url] if store == "postgresql" else []
        return ["--data", self.files(store) / "keys", *shared]

    def options(self, store="sqlite"):
        """The options of commands that write the audit log."""
        return [*self.place(store), "--audit-log", self.files(store) / "audit" / "audit.log", "--instance", "fixture"]

    def start_key_service(self, store="sqlite"):
        if store == "postgresql":
            self.load_database()
        self.program = self.keep(Program(
            [KEY_SERVICE, "serve", *self.options(store), "--listen", KEY_SERVICE_ADDRESS], self.folder))
        self.program.wait_for(re.compile(r"^Listening on http://", re.M))

    def stop_key_service(self):
        self.program.signal(signal.SIGTERM)
        assert self.program.wait().status == 0, self.program.err

    def load_database(self):
        """Starts PostgreSQL, with the dump in it."""
        self.cluster = self.keep(Cluster())
        load(self.cluster.primary, self.folder / "shared" / "keys.sql")

    def operate(self, *arguments, store="sqlite"):
        return run([KEY_SERVICE, *arguments, *self.options(store)])

    def shown(self, *command, store="sqlite"):
        """The JSON of a command that only reads."""
        result = run([KEY_SERVICE, *command, "--json", *self.place(store)])
        assert result.status == 0, result
        return result.json

    def listed(self, store="sqlite"):
        """The keys by their ids, with their state and the guesses that are left."""
        keys = self.shown("keys", "list", store=store)
        return {key["id"]: [key["state"], key.get("guessesRemaining")] for key in keys}

    def identity(self, store="sqlite"):
        """The public key by which clients know the service."""
        return self.shown("identity", "show", store=store)["publicKey"]

    def verify_audit_log(self, *options, store="sqlite"):
        log = self.files(store) / "audit" / "audit.log"
        return run([KEY_SERVICE, "audit", "verify", "--audit-log", log, "--verification-key", self.folder / "audit.key",
                    *options])


class Released(Services):
    """The fixtures of a release, unpacked. `known` has their secrets, which are test values, and what they contain."""

    def __init__(self, version, folder, children):
        super().__init__(folder, children)
        self.version = version
        self.known = json.loads((FOLDER / version / "known.json").read_text())
        subprocess.run(
            ["tar", "-xpzf", FOLDER / version / "files.tar.gz", "--no-same-owner", "-C", folder], check=True)
        self.person = Person(folder, {}, children)

    @property
    def is_present(self):
        """Whether the source still makes this release."""
        return self.version == present_version()


def load(server, dump):
    """Loads a dump into the database of a server."""
    done = subprocess.run(
        [programs() / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", server.folder, "-U", "postgres", "-d", "vault",
         "-f", dump], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def dump(server, *options, database="vault"):
    """Returns the database as SQL. Newer minor versions of PostgreSQL add lines that older ones do not know, with a
    random word in them."""
    done = subprocess.run(
        [programs() / "pg_dump", "-h", server.folder, "-U", "postgres", *options, database], capture_output=True,
        text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return re.sub(r"^\\(un)?restrict .*\n", "", done.stdout, flags=re.M)
