"""The development identity provider and the key service, each as a separate process."""

import json
import os
import random
import re
import shlex
import shutil
import socket
import sqlite3

from .faults import FaultProxy
from .prepared import Prepared
from .programs import KEY_SERVICE, VAULT_DEV, Program, clean_environment, run


def age_guesses(folder, seconds=120):
    """Makes all open guesses in the key service's database below a folder older."""
    (path,) = folder.rglob("keys.sqlite")
    database = sqlite3.connect(path, timeout=30)
    with database:
        database.create_function("aged", 1, lambda guesses: aged(guesses, seconds), deterministic=True)
        database.execute("UPDATE key_record SET guesses = aged(guesses) WHERE guesses IS NOT NULL")
    database.close()


def aged(guesses, by):
    """The stored guesses of a key: for each a kind, a ticket of 16 bytes, a time of 8, and more by the kind."""
    result, rest = b"", guesses
    while rest:
        seconds = int.from_bytes(rest[17:25]) - by
        end = 25 + (0, 4, 32)[rest[0]]
        result += rest[:17] + seconds.to_bytes(8) + rest[25:end]
        rest = rest[end:]
    return result


def own_ports():
    """The low ports of this process of pytest, each once: a server that is down keeps its port."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    ports = list(range(12_000 + worker * 2000, 14_000 + worker * 2000))
    random.SystemRandom().shuffle(ports)
    yield from ports


PORTS = own_ports()


def lasting_address():
    """An address for a server that ends and comes back. The kernel gives nobody such a low port meanwhile."""
    for port in PORTS:
        address = ("127.0.0.1", port)
        with socket.socket() as listener:
            try:
                listener.bind(address)
            except OSError:
                continue
            return "{}:{}".format(*address)
    raise RuntimeError("there is no free port")


class DevelopmentServices:
    """`vault-dev`: an identity provider with the users alice and bob, and a key service."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.data = folder / "vault-dev"
        # Services that ran before keep their addresses.
        is_new = not (self.data / "addresses.json").exists()
        addresses = ("--listen", lasting_address(), "--key-service-listen", lasting_address()) if is_new else ()
        self.options = (*addresses, *options)
        self.environment = {}
        self.prepared = {}
        self.start()

    def start(self):
        self.program = Program([VAULT_DEV, "--data", self.data, *self.options], self.folder)
        try:
            self.program.wait_for(re.compile("Ctrl-C stops"), "err")
        except BaseException:
            self.program.kill()  # it would keep its addresses from the next test
            raise
        for line in self.program.out.splitlines():
            name, value = shlex.split(line)[1].split("=", 1)
            self.environment[name] = value

    def prepare(self, name, person, make):
        """Gives the person what `make()` makes. It is made once for each name, and then copied, because making it takes
        much longer."""
        prepared = self.prepared.get(name)
        if prepared and prepared.is_fresh:
            prepared.give(person, self)
            return
        if prepared:
            prepared.remove()
        make()
        self.prepared[name] = Prepared(person, self, self.folder / f"prepared-{name}")

    def save(self, folder):
        """Copies the data of the services."""
        self.kill()
        shutil.copytree(self.data, folder)
        self.start()

    def set_back(self, folder):
        """Sets the services back to the copy of their data."""
        self.kill()
        shutil.rmtree(self.data)
        shutil.copytree(folder, self.data)
        self.start()

    def age_guesses(self):
        """Makes all open guesses two minutes older. A client says nothing about guesses of the last minute."""
        age_guesses(self.data)

    @property
    def issuer(self):
        return self.environment["CREDENTIAL_VAULT_ISSUER"]

    @property
    def key_service(self):
        return self.environment["CREDENTIAL_VAULT_KEY_SERVICE"]

    def kill(self):
        self.program.kill()


class KeyService:
    """`vault-key-service serve` with a new data folder."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.data = folder / "keys"
        self.secrets = folder / "keys-secrets"
        self.options = options
        self.listen = "127.0.0.1:0"
        made = run([KEY_SERVICE, "init", "--data", self.data])
        assert made.status == 0, made
        self.start()

    def start(self, fault=None):
        """Starts the service. A restart uses the same address. With a fault, it kills itself at this point."""
        environment = clean_environment(VAULT_KEY_SERVICE_FAULT=fault) if fault else None
        self.program = Program(
            [KEY_SERVICE, "serve", "--data", self.data, "--listen", self.listen, *self.options], self.folder,
            environment)
        self.url = self.program.wait_for(re.compile(r"^Listening on (https?://\S+)$", re.M))[1]
        self.listen = re.match(r"https?://([^/]+)", self.url)[1]

    def keys(self):
        """The keys by their ids, as the operator sees them."""
        listed = run([KEY_SERVICE, "keys", "list", "--json", "--data", self.data])
        return {key["id"]: key for key in listed.json}

    def live_keys(self):
        return {id for id, key in self.keys().items() if key["state"] in ("live", "unfinished")}

    def age_guesses(self):
        age_guesses(self.folder)

    def has_connection(self):
        """Whether a client is connected, even if the stopped service has not yet accepted the connection."""
        port = int(self.listen.rsplit(":", 1)[1])
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table][1:]
        return any(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)

    def kill(self):
        self.program.kill()


def services_behind_a_proxy(folder, children):
    """Starts a proxy that can harm messages, and `vault-dev` behind it. The issuer is the proxy's address, so all
    requests to the provider pass through it. Appends both to `children`."""
    proxy = FaultProxy()
    children.append(proxy)
    services = DevelopmentServices(folder, "--proxy", proxy.address)
    children.append(services)
    proxy.target = json.loads((services.data / "addresses.json").read_text())["provider"]["port"]
    return proxy, services
