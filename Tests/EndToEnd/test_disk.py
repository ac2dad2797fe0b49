"""A disk that is full or read-only."""

import re
import signal
import sqlite3

import pytest
from support.disk import SmallDisk
from support.person import OTHER_PASSWORD, PASSWORD
from support.waiting import wait_until


@pytest.fixture
def disk(tmp_path, children):
    disk = SmallDisk(tmp_path / "disk")
    children.append(disk)
    return disk


@pytest.fixture
def alice(person, disk):
    person.disk = disk
    person.home = disk.folder / "home"
    return person.registered()


def contents(alice):
    """Reads the database in the disk's mount namespace."""
    return alice.disk.shell(f"sqlite3 -readonly '{alice.database}' .dump")


def fill(alice, disk):
    """Fills the disk, after SQLite's log has given back the room that the registration reserved for the next login."""
    alice.disk.shell(f"sqlite3 '{alice.database}' 'PRAGMA wal_checkpoint(TRUNCATE)'")
    disk.fill()


def test_a_full_disk(alice, disk):
    before = contents(alice)
    fill(alice, disk)
    for arguments in (["login"], ["token", "--refresh"]):
        result = alice.vault(*arguments, password=PASSWORD)
        assert (result.status, result.out) == (74, "")
        assert "disk is full" in result.err, result
    new = alice.password_file(OTHER_PASSWORD, "new")
    result = alice.vault("passwd", "--new-password-file", new, password=PASSWORD)
    assert result.status == 74 and "disk is full" in result.err, result
    assert alice.register(user="bob").status == 74
    disk.empty()
    assert contents(alice) == before
    # The command sent no request to the provider, so the stored token is still the newest one.
    assert alice.vault("login", password=PASSWORD).status == 0


def test_when_a_login_would_find_the_disk_full_then_doctor_says_so(alice, disk):
    fill(alice, disk)
    disk.shell(f"truncate -s -1M {disk.folder}/filler")
    for arguments in (["login"], ["token", "--refresh"]):
        assert alice.vault(*arguments, password=PASSWORD).status == 74
    result = alice.vault("doctor", "--json")
    (check,) = [check for check in result.json if check["name"] == "store"]
    assert (check["outcome"], "disk is full" in check["finding"]) == ("fail", True), check
    disk.empty()
    assert [c["outcome"] for c in alice.vault("doctor", "--json").json if c["name"] == "store"] == ["ok"]


def test_a_disk_that_fills_up_while_the_provider_answers(alice, disk, own_services, key_service):
    """The command reserves space for the new token before the provider rotates the old one."""
    assert alice.vault("delete", "--yes").status == 0
    alice.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    alice.registered()
    own_services.program.signal(signal.SIGSTOP)
    program = alice.start("login", "--password-file", alice.password_file())
    wait_until(lambda: alice.vault("status", "--json").json.get("refresh_interrupted_at"), "the refresh to begin")
    disk.fill()
    own_services.program.signal(signal.SIGCONT)
    result = program.wait()
    assert result.status == 0, result
    disk.empty()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_nobody_sends_a_spent_token_while_the_new_one_cannot_be_stored(person, own_services, key_service):
    """Between two tries to store the new token, another program finds the account locked."""
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    alice = person.registered()
    own_services.program.signal(signal.SIGSTOP)
    first = alice.start("login", "--password-file", alice.password_file())
    wait_until(lambda: alice.vault("status", "--json").json.get("refresh_interrupted_at"), "the refresh to begin")
    blocker = sqlite3.connect(alice.database, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    own_services.program.signal(signal.SIGCONT)
    second = alice.start("token", "--refresh", "--password-file", alice.password_file())
    # The first program waits 20 seconds for the store to become free.
    first.wait_for(re.compile("could not be stored.*trying again in 1 second", re.S), "err", timeout=90)
    blocker.execute("ROLLBACK")
    blocker.close()
    results = [first.wait(), second.wait()]
    assert [result.status for result in results] == [0, 0], results
    assert alice.vault("token", "--refresh", password=PASSWORD).status == 0


def test_a_read_only_disk(alice, disk):
    before = contents(alice)
    disk.read_only(True)
    for arguments in (["login"], ["token", "--refresh"]):
        result = alice.vault(*arguments, password=PASSWORD)
        assert result.status == 74 and "ead-only" in result.err, result
    result = alice.vault("delete", "--yes")
    assert result.status == 74 and "ead-only" in result.err, result
    assert [user["preferred_username"] for user in alice.vault("users", "--json").json] == ["alice"]
    result = alice.register(user="bob")
    assert result.status == 74 and "Open this address" not in result.err
    disk.read_only(False)
    assert contents(alice) == before
    assert alice.vault("login", password=PASSWORD).status == 0


def test_a_read_only_disk_without_a_store(person, disk):
    person.disk = disk
    person.home = disk.folder / "home"
    disk.read_only(True)
    result = person.vault("users")
    assert result.status == 74 and "ead-only" in result.err, result
