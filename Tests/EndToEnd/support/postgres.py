"""Private PostgreSQL servers: sockets in folders of their own, no TCP port. The same servers serve the Swift tests'
purposes in Tests/KeyServiceStoreTests/PrivateServer.swift."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from .waiting import wait_until

# Settings for speed, as the tests end servers but never the machine.
SETTINGS = """
listen_addresses = ''
fsync = off
shared_buffers = 16MB
max_connections = 60
wal_level = replica
max_wal_senders = 4
wal_keep_size = 64MB
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
"""


def programs():
    """The folder with the newest PostgreSQL server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    assert found, "Install PostgreSQL: apt-get install postgresql"
    return found[-1].parent


def as_owner(*command):
    """The command for the user of the servers. PostgreSQL refuses to run as root."""
    words = [str(word) for word in command]
    if os.geteuid() != 0:
        return words
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]


class Server:
    """A PostgreSQL server with the database `vault` and the role `vault` that owns it."""

    def __init__(self, folder, primary=None):
        self.folder = folder
        self.data = folder / "data"
        self.process = None
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        if primary is None:
            self._run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-instructions")
            with open(self.data / "postgresql.conf", "a") as settings:
                settings.write(f"{SETTINGS}unix_socket_directories = '{folder}'\n")
            self.start()
            self.sql("CREATE ROLE vault LOGIN; GRANT pg_read_all_stats TO vault", database="postgres")
            self.sql("CREATE DATABASE vault OWNER vault", database="postgres")
        else:
            self._run(
                "pg_basebackup", "-c", "fast", "--no-sync", "-D", self.data, "-R", "-X", "stream",
                "-d", f"host={primary.folder} user=postgres application_name={folder.name}")
            with open(self.data / "postgresql.conf", "a") as settings:
                settings.write(f"unix_socket_directories = '{folder}'\n")
            self.start()

    def _run(self, name, *arguments):
        done = subprocess.run(
            as_owner(programs() / name, *arguments), capture_output=True, text=True, cwd="/", timeout=60)
        assert done.returncode == 0, done.stderr

    @property
    def url(self):
        return f"postgresql://vault@/vault?host={self.folder}"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                as_owner(programs() / "postgres", "-D", self.data), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd="/", start_new_session=True)
        wait_until(self.is_ready, f"PostgreSQL in {self.folder}")

    def is_ready(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        done = subprocess.run([programs() / "pg_isready", "-q", "-h", self.folder], timeout=30)
        return done.returncode == 0

    def sql(self, text, database="vault", user="postgres"):
        """Runs SQL and returns the rows, one a line, with | between the columns."""
        done = subprocess.run(
            [programs() / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", user, "-d", database,
             "-c", text], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def set(self, name, value):
        """Changes a setting of the running server."""
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")
        wait_until(lambda: self.sql(f"SHOW {name}") == value, f"{name} = {value}")

    def stream_to(self, name, *options):
        """Starts a program that copies the server's write-ahead log into a folder, as backups do. Returns when the log
        comes."""
        folder = self.folder / name
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        copying = Copying(
            as_owner(programs() / name, "-h", self.folder, "-U", "postgres", "-D", folder, *options),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", start_new_session=True)
        streams = f"SELECT count(*) FROM pg_stat_replication WHERE application_name = '{name}' AND state = 'streaming'"
        wait_until(lambda: self.sql(streams) == "1", name)
        return copying

    def cut_connections(self):
        """Ends all connections of the service."""
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'vault'")

    def pause(self):
        """Stops all processes of the server, as if its network were gone."""
        self._signal_all(signal.SIGSTOP)

    def go_on(self):
        self._signal_all(signal.SIGCONT)

    def promote(self):
        """Makes a standby the primary."""
        self.sql("SELECT pg_promote(true, 30)")

    def kill(self):
        """Ends the server as a failure of its machine would."""
        if self.process is not None and self.process.poll() is None:
            self._signal_all(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def _signal_all(self, number):
        # The children have sessions of their own.
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        for pid in (self.process.pid, *map(int, children)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


class Copying(subprocess.Popen):
    """A program that copies from a server."""

    def kill(self):
        """Ends the program with its children."""
        if self.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()


class Cluster:
    """A primary, and on request a standby."""

    def __init__(self):
        # A path short enough for a socket, in a folder that the user postgres may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="vault-pg-"))
        self.folder.chmod(0o755)
        self.servers = []
        self.primary = self._add("primary")
        self.standby = None

    def _add(self, name, primary=None):
        server = Server(self.folder / name, primary)
        self.servers.append(server)
        return server

    def add_standby(self, synchronous=True):
        self.standby = self._add("standby", self.primary)
        streams = "SELECT count(replay_lsn) FROM pg_stat_replication WHERE state = 'streaming'"
        wait_until(lambda: self.primary.sql(streams) == "1", "the standby")
        if synchronous:
            self.primary.set("synchronous_standby_names", "standby")
            kinds = "SELECT sync_state FROM pg_stat_replication"
            wait_until(lambda: self.primary.sql(kinds) == "sync", "the synchronous standby")

    @property
    def url(self):
        """The address of the database, with all servers."""
        return "postgresql://vault@/vault?host=" + ",".join(str(server.folder) for server in self.servers)

    def fail_over(self):
        """Ends the primary, and makes the standby the primary."""
        self.primary.kill()
        self.standby.promote()

    def kill(self):
        for server in self.servers:
            server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
