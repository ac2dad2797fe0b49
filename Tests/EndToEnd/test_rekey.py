"""A new vault key: whoever opened a copy of the store once reads nothing that is written later."""

import hashlib
import signal
import sqlite3
import subprocess

import pytest
from support.agent import agent_status
from support.keys import check_only_the_used_keys_live, kill_at
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT
from support.thief import thief_of

PIN = "2846"
LARGE = hashlib.shake_128(b"item").digest(5_000_000)


def put(person, name, content, *options, password=PASSWORD):
    command = ("item", "set", name, "--password-file", person.password_file(password, "put"), *options)
    result = person.vault(*command, input=content, stdin=None)
    assert result.status == 0, result


def run_bytes(person, *arguments):
    """Runs `vault` without a terminal, for output that is not text."""
    return subprocess.run(
        person.command(VAULT, *arguments), capture_output=True, stdin=subprocess.DEVNULL, start_new_session=True,
        env=person.environment(), timeout=90)


def get(person, name, password=PASSWORD):
    done = run_bytes(person, "item", "get", name, "--password-file", person.password_file(password, "get"))
    assert done.returncode == 0, done
    return done.stdout


def add_pin(person):
    new = person.password_file(PIN, "new-pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD).status == 0


def rekey(person, *options, **more):
    return person.vault("rekey", "--yes", *options, password=PASSWORD, **more)


def drop_other_methods(person, *options, **more):
    new = person.password_file(OTHER_PASSWORD, "new")
    return person.vault(
        "passwd", "--drop-other-methods", "--new-password-file", new, *options, password=PASSWORD, **more)


REPLACEMENTS = {"rekey": (rekey, PASSWORD), "passwd": (drop_other_methods, OTHER_PASSWORD)}


@pytest.fixture
def own(person, key_service):
    """Alice with a PIN, a small and a large item, and a key service of her own."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered("--no-agent")
    add_pin(person)
    put(person, "small", b"a note")
    put(person, "large", LARGE)
    return person


def copy_into(thief, person):
    """Puts the person's present store behind the thief's open session."""
    with sqlite3.connect(person.database) as source, sqlite3.connect(thief.database) as target:
        source.backup(target)
    source.close()
    target.close()


# Row: the vault key; the disk after `vault rekey`
@pytest.mark.parametrize("replace, password", REPLACEMENTS.values(), ids=REPLACEMENTS)
@pytest.mark.parametrize("hides", [False, True], ids=["plain", "without the id of the key"])
def test_a_thief_who_opened_a_copy_once_reads_nothing_later(alice, runtime, replace, password, hides):
    put(alice, "before", LARGE)
    thief = thief_of(alice)
    thief.settings["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        assert thief.vault("login", password=PASSWORD).status == 0
        assert run_bytes(thief, "item", "get", "before").stdout == LARGE
        # The thief's refresh ended the owner's login at the provider, so she registers again and keeps everything.
        assert alice.registered()
        put(alice, "before", b"new " + LARGE)
        assert replace(alice).status == 0
        put(alice, "later", b"written later", password=password)
        copy_into(thief, alice)
        if hides:
            thief.sql("DELETE FROM record WHERE name LIKE '%/vault-key'")
        assert len(agent_status(thief)["sessions"]) == 1
        for command in (["item", "get", "later"], ["item", "get", "before"], ["token", "--refresh"]):
            done = run_bytes(thief, *command)
            assert done.returncode != 0 and done.stdout == b"", done
        assert get(alice, "later", password) == b"written later"
        assert alice.vault("login", password=password).status == 0
    finally:
        thief.vault("agent", "stop", "--force")


# Row: the PIN
# Row: the password
@pytest.mark.parametrize("replace, password", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_after_a_replacement_all_is_there_under_one_way(own, key_service, replace, password):
    result = replace(own)
    assert result.status == 0 and result.err == "", result
    assert "These no longer open the account: PIN. To add them again:\n  vault unlock add pin\n" in result.out
    assert get(own, "small", password) == b"a note" and get(own, "large", password) == LARGE
    assert own.sql("SELECT kind FROM keyslot") == [("password",)]
    check_only_the_used_keys_live(own, key_service, password)


@pytest.mark.parametrize("replace, password", REPLACEMENTS.values(), ids=REPLACEMENTS)
@pytest.mark.parametrize("point, is_new", [
    ("vault-key-staged", False), ("vault-key-verified", False), ("vault-key-half-replaced", False),
    ("vault-key-replaced", True), ("key-ended", True), ("refresh-committed", True),
])
def test_a_crash_leaves_the_old_or_the_new_vault_key(own, key_service, replace, password, point, is_new):
    died = replace(own, env=kill_at(point))
    assert (died.status, died.out) == (-signal.SIGKILL, "")
    if not is_new:
        password = PASSWORD
        assert own.vault("login", "--pin", password=PIN).status == 0
    kinds = sorted(kind for (kind,) in own.sql("SELECT kind FROM keyslot WHERE staged = 0"))
    assert kinds == (["password"] if is_new else ["password", "pin"])
    assert get(own, "small", password) == b"a note" and get(own, "large", password) == LARGE
    check_only_the_used_keys_live(own, key_service, password)


def test_the_agent_locks_and_says_why(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    put(anna, "note", b"one")
    # A replacement that another program makes, without telling the agent.
    runtime = anna.settings.pop("XDG_RUNTIME_DIR")
    assert rekey(anna).status == 0
    anna.settings["XDG_RUNTIME_DIR"] = runtime
    result = anna.vault("item", "get", "note")
    assert result.status == 83 and "vault key" in result.err, result
    assert agent_status(anna)["sessions"] == []
    assert anna.vault("token", "--refresh").status == 78
    # With the agent in reach, its session is locked at once.
    assert anna.vault("login", password=PASSWORD).status == 0
    assert "The agent locked its session." in rekey(anna).out
    assert agent_status(anna)["sessions"] == []
    assert get(anna, "note") == b"one"


def test_without_a_terminal_other_ways_end_only_with_yes(own):
    refused = own.vault("rekey", password=PASSWORD)
    assert refused.status == 78 and "PIN" in refused.err and "--yes" in refused.err
    assert own.vault("login", "--pin", password=PIN).status == 0


@pytest.mark.parametrize("answer, kinds", [("n", ["password", "pin"]), ("y", ["password"])])
def test_at_a_terminal_it_asks_and_names_what_ends(own, answer, kinds):
    terminal = own.terminal("rekey")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("These unlock methods end: PIN. You can add them again afterwards.")
    terminal.expect("Replace the vault key? [y/N] ")
    terminal.type(answer)
    assert terminal.end() == (0 if answer == "y" else 82)
    assert sorted(kind for (kind,) in own.sql("SELECT kind FROM keyslot")) == kinds


def test_the_question_tells_the_two_passwords_apart(own):
    assert own.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    terminal = own.terminal("rekey")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("These unlock methods end: ")
    terminal.expect("password without the network")
    terminal.expect("Replace the vault key? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82


def test_json_tells_the_result(own):
    assert rekey(own, "--json").json == {
        "replaced": True, "kept": "password", "ended": ["pin"],
        "key": {"old_token_replaced": True, "agent_locked": False}}


def test_a_full_key_service_outage_changes_nothing(own, key_service):
    before = own.stored()
    key_service.kill()
    assert rekey(own).status == 69
    assert own.stored() == before
