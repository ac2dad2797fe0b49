"""Instances of `vault-key-service` that share a PostgreSQL database."""

import re
import shutil

from .programs import KEY_SERVICE, Program, run


class Instance:
    """One instance, with its own folder. The first one makes the database, the others join."""

    def __init__(self, folder, url, *options, first=None):
        self.folder = folder
        self.data = folder / "keys"
        self.url_of_database = url
        self.options = options
        self.listen = "127.0.0.1:0"
        self.program = None
        folder.mkdir(exist_ok=True)
        arguments = ["init", "--data", self.data, "--database-url", url]
        if first is not None:
            secrets = folder / "keys-secrets"
            secrets.mkdir(mode=0o700)
            shutil.copy(first.master_key, secrets / "master.key")
            arguments += ["--master-key-file", secrets / "master.key"]
        made = run([KEY_SERVICE, *arguments])
        assert made.status == 0, made
        self.start()

    @property
    def master_key(self):
        return self.folder / "keys-secrets" / "master.key"

    def start(self):
        """Starts the instance. A restart uses the same address."""
        self.program = Program(
            [KEY_SERVICE, "serve", "--data", self.data, "--database-url", self.url_of_database, "--listen", self.listen,
             "--refusals-per-minute", "0", *self.options], self.folder)
        self.url = self.program.wait_for(re.compile(r"^Listening on (http://\S+)$", re.M))[1]
        self.listen = re.match(r"http://([^/]+)", self.url)[1]

    def operate(self, *arguments):
        return run([KEY_SERVICE, *arguments, "--data", self.data, "--database-url", self.url_of_database])

    def kill(self):
        if self.program is not None:
            self.program.kill()
