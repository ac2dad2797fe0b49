"""A person who uses the command `vault`, with a home folder and the settings of the services."""

import json
import os
import re
import sqlite3
from pathlib import Path

from .programs import VAULT, VAULT_DEV, Program, clean_environment, run
from .terminal import Terminal
from .waiting import wait_until

PASSWORD = "tangerine-42-umbrella"
OTHER_PASSWORD = "walrus/violin/77"
URL = re.compile(r"^(http://\S+)$", re.M)


class Person:
    def __init__(self, folder, settings, children):
        self.folder = folder
        self.home = folder / "home"
        self.config_home = folder / "config"
        self.settings = dict(settings)
        self.children = children
        self.disk = None  # a SmallDisk that the home is on, or a Machine with a policy

    @property
    def database(self):
        return self.home / "vault.sqlite"

    def environment(self, **more):
        folders = {"CREDENTIAL_VAULT_HOME": self.home, "XDG_CONFIG_HOME": self.config_home}
        return clean_environment(**{**folders, **self.settings, **more})

    def password_file(self, password=PASSWORD, name="password"):
        path = self.folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(password + "\n")
        return path

    def vault(self, *arguments, password=None, env=None, **options):
        """Runs `vault` to its end; a password goes through standard input."""
        if password is not None:
            arguments = (*arguments, "--password-file", "-")
        return run(self.command(VAULT, *arguments), self.environment(**(env or {})), password, **options)

    def command(self, *words):
        return self.disk.enter(*words) if self.disk else list(words)

    def start(self, *arguments, env=None, **options):
        """Runs `vault` in the background."""
        return self.keep(Program(self.command(VAULT, *arguments), self.folder, self.environment(**(env or {})), **options))

    def terminal(self, *arguments, env=None, shell=None, columns=200):
        """Runs `vault` at a terminal; `shell` is a command line with redirections instead of `arguments`."""
        command = [VAULT, *arguments] if shell is None else ["/bin/sh", "-c", shell]
        environment = self.environment(**{"TERM": "xterm", "VAULT": VAULT, **(env or {})})
        return self.keep(Terminal(command, environment, columns))

    def keep(self, child):
        self.children.append(child)
        return child

    def register(self, *arguments, user="alice", password=PASSWORD, deny=False, env=None, visit=None):
        """Registers an account. The browser is `vault-dev browse`, or the function `visit`, which receives the
        address."""
        file = self.password_file(password, f"password-of-{user}")
        program = self.start("register", "--no-browser", "--password-file", file, *arguments, env=env)
        wait_until(lambda: URL.search(program.err) or program.process.poll() is not None, "the address to open")
        match = URL.search(program.err)
        if not match:
            return program.wait()  # it ended with an error before it showed the address
        if visit:
            visit(match[1])
            return program.wait()
        browsed = run([VAULT_DEV, "browse", match[1], "--user", user, *(["--deny"] if deny else [])])
        result = program.wait()
        if not deny and result.status == 0:
            assert browsed.out == "Signed in\n", browsed
        return result

    def registered(self, *arguments, **options):
        """Registers an account, and checks that this succeeded."""
        result = self.register(*arguments, **options)
        assert result.status == 0, result
        return self

    def stored(self, for_good=False):
        """Everything in the database except the times of last use, the last guesses and the highest time seen, to prove
        that nothing was lost or changed."""
        database, copy = sqlite3.connect(self.database), sqlite3.connect(":memory:")
        try:
            database.backup(copy)
            if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'keyslot'").fetchone():
                copy.execute("UPDATE keyslot SET last_used_at = NULL")
            if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'record'").fetchone():
                copy.execute("DELETE FROM record WHERE name LIKE '%/own-guesses'")
            if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'item'").fetchone():
                copy.execute("DELETE FROM item WHERE name = 'vault/seen-clock'")
            if for_good:
                copy.execute("DELETE FROM item WHERE name = 'vault/access-token'")
                copy.execute("UPDATE account SET access_token_expires_at = NULL, refused_at = NULL")
            return list(copy.iterdump())
        finally:
            copy.close()
            database.close()

    def stored_for_good(self):
        """The same as `stored`, but without the access token, which is deleted when the provider refuses the
        account, and without the time of that refusal."""
        return self.stored(for_good=True)

    def files(self):
        """All files of the store by name, for an unreadable database. SQLite's shared-memory file is left out, because
        it never holds stored data."""
        return {path.name: path.read_bytes() for path in sorted(self.home.iterdir()) if not path.name.endswith("-shm")}

    def own_guesses(self):
        """The record of the guesses of protocol version 2."""
        ((record,),) = self.sql("SELECT value FROM record WHERE name LIKE '%/own-guesses'")
        return json.loads(record)

    def sql(self, statement, *parameters):
        """Changes or reads the database without the program."""
        database = sqlite3.connect(self.database, isolation_level=None)
        try:
            rows = database.execute(statement, parameters).fetchall()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return rows
        finally:
            database.close()
