"""What a newer version stored. The programs say so, and change no byte of it."""

import signal
import sqlite3
import subprocess
import sys

import pytest
from support.agent import socket_of
from support.person import PASSWORD
from support.postgres import Cluster
from support.programs import KEY_SERVICE, run
from support.recorded_agent import Listener, ask, version
from support.released import dump
from support.shared_service import Instance
from test_backup import backup, other, restore  # noqa: F401 (fixtures)
from test_key_service import create, operate

STRONG = "cv1." + "A" * 43
# Not closed, as by a program that was killed: SQLite's log then holds the change.
WRITE_AND_DIE = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute(sys.argv[2])
database.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""
FUTURE_STEP = "INSERT INTO grdb_migrations VALUES ('999 of the future')"


def write_and_die(path, statement):
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(path), statement], stdin=subprocess.DEVNULL)
    assert path.with_name(path.name + "-wal").stat().st_size > 0


def files(*folders):
    """All files by their paths. SQLite's shared-memory files are left out, because they never hold stored data."""
    return {path: path.read_bytes() for folder in folders for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith("-shm")}


def unchanged(before, *folders):
    after = files(*folders)
    return {path: after.get(path) for path in before} == before


def test_the_store_of_a_newer_version_stays_as_it_is(anna):
    write_and_die(anna.database, FUTURE_STEP)
    before = files(anna.home)
    for command in (("users",), ("status",), ("item", "list"), ("unlock", "list"),
                    ("delete", "--user", "alice", "--yes")):
        result = anna.vault(*command)
        assert result.status == 74 and "newer version" in result.err, (command, result)
    agent = anna.vault("agent", "start")
    assert agent.status == 78 and "newer version" in agent.err, agent
    for command in (("login",), ("token",), ("item", "get", "note"), ("logout", "--everywhere")):
        result = anna.vault(*command, password=PASSWORD)
        assert result.status == 74 and "newer version" in result.err, (command, result)
    assert anna.register(user="bob").status == 74
    assert unchanged(before, anna.home)


def test_the_database_of_a_newer_key_service_stays_as_it_is(key_service, tmp_path):
    key = create(key_service, STRONG)["keyid"]
    key_service.kill()
    write_and_die(key_service.data / "keys.sqlite", FUTURE_STEP)
    before = files(key_service.data, key_service.secrets)
    for command in (("serve", "--listen", "127.0.0.1:0"), ("keys", "list"), ("keys", "unlock", key),
                    ("keys", "delete", key), ("identity", "show"), ("identity", "rotate"), ("rotate-master-key",),
                    ("accept-rollback",), ("backup", "--to", tmp_path / "copy")):
        result = operate(key_service, *command)
        assert result.status == 78 and "newer version" in result.err, (command, result)
        assert unchanged(before, key_service.data, key_service.secrets), command
    assert not (tmp_path / "copy").exists()


def test_a_backup_of_a_newer_key_service_is_not_restored(key_service, tmp_path):
    create(key_service, STRONG)
    copy = tmp_path / "copy"
    assert operate(key_service, "backup", "--to", copy).status == 0
    database = sqlite3.connect(copy)
    with database:
        database.execute(FUTURE_STEP)
    database.close()
    key_service.program.signal(signal.SIGTERM)
    assert key_service.program.wait().status == 0
    # The last program that closes the database moves the log into it, which may be the server or this one.
    assert operate(key_service, "keys", "list").status == 0
    before = files(key_service.data, key_service.secrets)
    content = copy.read_bytes()
    result = operate(key_service, "restore", "--from", copy)
    assert result.status == 78 and "newer version" in result.err, result
    assert files(key_service.data, key_service.secrets) == before and copy.read_bytes() == content
    key_service.start()


def test_a_postgresql_database_of_a_newer_key_service_stays_as_it_is(tmp_path, children):
    cluster = Cluster()
    children.append(cluster)
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    key = create(first, STRONG)["keyid"]
    first.kill()
    cluster.primary.sql("UPDATE key_service.schema_version SET version = version + 1")
    before, mine = dump(cluster.primary), files(first.folder)
    for command in (("serve", "--listen", "127.0.0.1:0"), ("keys", "list"), ("keys", "unlock", key),
                    ("keys", "delete", key), ("identity", "show"), ("identity", "rotate"), ("rotate-master-key",),
                    ("accept-rollback",)):
        result = first.operate(*command)
        assert result.status == 78 and "newer version" in result.err, (command, result)
        assert dump(cluster.primary) == before, command
    joining = run([KEY_SERVICE, "init", "--data", tmp_path / "second" / "keys", "--database-url", cluster.url])
    assert joining.status == 78 and "newer version" in joining.err, joining
    assert dump(cluster.primary) == before and unchanged(mine, first.folder)


def test_a_backup_of_a_newer_version_is_not_imported(alice, other, backup):  # noqa: F811
    content = bytearray(backup.read_bytes())
    assert content[:5] == b"CVBK\x01"
    content[4] += 1
    backup.write_bytes(content)
    assert other.vault("users").status == 0
    before = files(other.home)
    result = restore(other, backup, "--json")
    assert (result.status, result.error["code"]) == (65, "backupInvalid"), result
    assert "newer version" in result.error["message"] and "Update this program" in result.error["message"]
    terminal = other.terminal("import", backup)
    terminal.expect("newer version")
    assert terminal.end() == 65 and "Passphrase" not in terminal.shown
    assert unchanged(before, other.home) and backup.read_bytes() == content


@pytest.mark.parametrize("is_refused", [True, False])
def test_an_agent_of_a_newer_version_is_named(anna, runtime, is_refused):
    """A newer agent refuses the command, or answers in its own form."""
    assert anna.vault("agent", "start").status == 0
    path = socket_of(runtime)
    refusal = ask(path, b"\0\0\0\2\x63\x03")
    status = bytes([0, 0, 0, 2, version(refusal), 3])
    answer = bytearray(refusal if is_refused else ask(path, status))
    answer[4] += 1
    assert anna.vault("agent", "stop").status == 0
    path.unlink(missing_ok=True)
    agent = Listener(path, lambda request: bytes(answer))
    try:
        for command in (("agent", "status"), ("token",)):
            result = anna.vault(*command)
            assert result.status == 78 and "version" in result.err and "End the agent" in result.err, result
            assert "Type: vault agent stop || " in result.err
    finally:
        agent.kill()
