"""Closing the last open session of an account whose unlock methods are all locked."""

import fcntl
import os
import subprocess
import time

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT

WARNING = (
    "vault: The password of alice is locked. alice is still open."
    " After this command, vault login does not open alice.")
CLOSING = {
    "lock": "Lock alice anyway? [y/N] ", "logout": "Log out of alice anyway? [y/N] ",
    "agent lock": "Lock all sessions anyway? [y/N] ", "agent stop": "Lock all sessions anyway? [y/N] "}
FORGET = ("logout", "--everywhere", "--forget")
DELETE = "Delete alice ("
DELETING = (
    "vault: The password of alice is locked. This deletes the tokens of alice."
    " After this command, vault login does not open alice.")


def lock_password(person):
    for _ in range(3):
        assert person.vault("login", "--no-agent", password=OTHER_PASSWORD).status == 77
    return person


@pytest.fixture
def locked(anna):
    """Alice with an open session, and with a locked password."""
    assert anna.vault("login", password=PASSWORD).status == 0
    return lock_password(anna)


def works(advice):
    """Whether the advice after a lock names what can work, and no plain login."""
    unlocking = "vault unlock reset" in advice or "vault-key-service keys unlock " in advice
    return "The password of alice is locked. " in advice and unlocking and "vault login" not in advice


@pytest.mark.parametrize("words", [*CLOSING, "logout --everywhere"])
def test_when_everything_is_locked_then_closing_asks_first(locked, words):
    terminal = locked.terminal(*words.split())
    terminal.expect(WARNING)
    terminal.expect(CLOSING[words.removesuffix(" --everywhere")])
    terminal.type("")
    assert terminal.end() == 82 and "Nothing was closed." in terminal.shown
    assert len(agent_status(locked)["sessions"]) == 1
    assert locked.vault("token").status == 0


@pytest.mark.parametrize("words", CLOSING)
def test_when_the_person_agrees_then_the_way_back_works(locked, words):
    terminal = locked.terminal(*words.split())
    terminal.expect(CLOSING[words])
    terminal.type("y")
    assert terminal.end() == 0
    assert works(terminal.shown.split(CLOSING[words])[1]), terminal.shown
    assert agent_status(locked)["sessions"] == []


@pytest.mark.parametrize("words", CLOSING)
def test_without_a_terminal_closing_goes_on_and_says_so(locked, words):
    result = locked.vault(*words.split())
    assert result.status == 0 and result.err == f"{WARNING}\n" and works(result.out), result
    assert agent_status(locked)["sessions"] == []


# A hook of a desktop often has the terminal that started the desktop, where nobody looks.
UNWATCHED = {"in the background": '"$VAULT" {} & wait "$!"', "without input": '"$VAULT" {} </dev/null'}


@pytest.mark.parametrize("words", CLOSING)
@pytest.mark.parametrize("shell", UNWATCHED)
def test_where_nobody_can_answer_closing_goes_on(locked, words, shell):
    terminal = locked.terminal(shell=("set -m; " if "&" in UNWATCHED[shell] else "") + UNWATCHED[shell].format(words))
    terminal.expect(WARNING)
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown, terminal.shown
    assert agent_status(locked)["sessions"] == []


@pytest.mark.parametrize("words", ["lock", "agent lock", "agent stop"])
def test_when_nobody_reads_the_warning_then_closing_goes_on(locked, words):
    reader, writer = os.pipe()
    os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)))
    done = subprocess.run(
        [VAULT, *words.split()], env=locked.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=writer, start_new_session=True, timeout=60)
    os.close(reader)
    os.close(writer)
    assert done.returncode == 0 and agent_status(locked)["sessions"] == []


@pytest.mark.parametrize("words", ["agent lock", "agent stop"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_when_another_program_holds_the_store_then_all_sessions_are_locked_soon(anna, words, options):
    assert anna.vault("login", password=PASSWORD).status == 0
    with open(anna.database, "r+b") as file:
        # The byte of SQLite that each reader needs for a moment. SQLite waits 20 seconds for it.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0x4000_0000)
        start = time.monotonic()
        result = anna.vault(*words.split(), *options)
        waited = time.monotonic() - start
    assert result.status == 0 and waited < 15, (result, waited)
    assert agent_status(anna).get("sessions", []) == []


def test_when_the_store_does_not_open_then_lock_names_the_command_that_needs_no_store(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    anna.home.chmod(0o755)
    result = anna.vault("lock")
    assert result.status == 78 and result.err.endswith(" To lock all accounts, without the store: vault agent lock\n")
    assert anna.vault("agent", "lock").status == 0
    anna.home.chmod(0o700)
    assert agent_status(anna)["sessions"] == []


@pytest.mark.parametrize("words", CLOSING)
def test_with_yes_nothing_is_asked(locked, words):
    terminal = locked.terminal(*words.split(), "--yes")
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown and works(terminal.shown), terminal.shown


def test_when_no_session_is_open_then_nothing_is_asked(anna):
    terminal = lock_password(anna).terminal("lock")
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown and works(terminal.shown), terminal.shown


def test_when_a_recovery_code_works_then_the_way_back_names_it(anna):
    assert anna.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    result = lock_password(anna).vault("lock")
    assert "With the recovery code: vault login --recovery-code" in result.out, result


def test_when_everything_is_locked_then_a_refused_registration_names_the_account_pages(alice, services):
    note = ("item", "set", "note", "--password-file", alice.password_file())
    assert alice.vault(*note, input=b"Room 4", stdin=None).status == 0
    result = lock_password(alice).register(password=OTHER_PASSWORD)
    assert result.status == 80 and "A new password deletes: note." in result.err, result
    assert f"To end both, use the account pages of {services.issuer}" in result.err
    assert "vault logout --everywhere" not in result.err


@pytest.fixture
def two(locked):
    """Alice as in locked, and bob, whose password works."""
    return locked.registered("--no-agent", "--alias", "bob", user="bob")


def open_names(person):
    return [session["name"] for session in agent_status(person)["sessions"]]


@pytest.mark.parametrize("answer, opened", [("", "alice"), ("y", "bob")], ids=["no", "yes"])
def test_when_an_exclusive_login_locks_a_locked_account_then_it_asks(two, answer, opened):
    terminal = two.terminal("login", "--user", "bob", "--exclusive")
    terminal.expect("Password of bob: ")
    terminal.type(PASSWORD)
    terminal.expect(WARNING)
    terminal.expect(CLOSING["lock"])
    terminal.type(answer)
    assert terminal.end() == 0 and "Signed in as bob." in terminal.shown
    refusal = "does not stay open. You did not agree, so no other session was locked."
    assert (refusal in terminal.shown) == (opened == "alice"), terminal.shown
    assert open_names(two) == [opened]


def test_when_there_is_no_terminal_then_an_exclusive_login_warns(two):
    result = two.vault("login", "--user", "bob", "--exclusive", password=PASSWORD)
    assert result.status == 0 and f"{WARNING}\n" in result.err, result
    assert open_names(two) == ["bob"]


def test_when_yes_is_given_then_an_exclusive_login_asks_nothing(two):
    terminal = two.terminal("login", "--user", "bob", "--exclusive", "--yes")
    terminal.expect("Password of bob: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown, terminal.shown
    assert open_names(two) == ["bob"]


def test_when_one_of_two_accounts_is_locked_then_agent_lock_names_what_opens_each(two):
    assert two.vault("login", "--user", "bob", password=PASSWORD).status == 0
    result = two.vault("agent", "lock")
    assert result.status == 0 and result.err == f"{WARNING}\n", result
    assert "\nTo open bob again: vault agent unlock --user bob\n" in result.out and works(result.out), result
    assert two.vault("agent", "unlock", "--user", "bob", password=PASSWORD).out == "Opened bob.\n"


@pytest.mark.parametrize("words", ["lock", "agent lock"])
def test_when_nothing_opens_the_locked_session_then_no_unlock_is_proposed(locked, words):
    assert "vault agent unlock" not in locked.vault(*words.split()).out
    status = locked.vault("agent", "status").out
    assert "vault agent unlock" not in status and "To see them: vault unlock list\n" in status, status


def test_when_everything_is_locked_then_forgetting_asks_first(anna):
    terminal = lock_password(anna).terminal(*FORGET)
    terminal.expect(DELETING)
    terminal.expect(CLOSING["logout"])
    terminal.type("")
    assert terminal.end() == 82 and "Nothing was closed or deleted." in terminal.shown, terminal.shown
    assert anna.vault("status", "--json").json["has_refresh_token"]


def test_when_the_person_agrees_then_the_tokens_are_deleted(anna):
    terminal = lock_password(anna).terminal(*FORGET)
    terminal.expect(CLOSING["logout"])
    terminal.type("y")
    assert terminal.end() == 0 and "deleted its tokens here" in terminal.shown, terminal.shown
    assert not anna.vault("status", "--json").json["has_refresh_token"]


@pytest.mark.parametrize("options", [[], ["--yes"]], ids=["without a terminal", "with yes"])
def test_when_nobody_is_asked_then_forgetting_goes_on(anna, options):
    result = lock_password(anna).vault(*FORGET, *options, password=PASSWORD)
    assert result.status == 0 and (DELETING in result.err) == (not options), result
    assert not anna.vault("status", "--json").json["has_refresh_token"]


@pytest.mark.parametrize("answer, status", [("n", 82), ("y", 0)])
def test_when_everything_is_locked_then_delete_says_so_before_it_asks(anna, answer, status):
    terminal = lock_password(anna).terminal("delete")
    terminal.expect("vault: If you delete alice now, its login stays valid at http://")
    terminal.expect("To revoke it, first answer no. The password of alice is locked. ")
    terminal.expect(DELETE)
    assert works(terminal.shown.split(DELETE)[0]), terminal.shown
    terminal.type(answer)
    assert terminal.end() == status, terminal.shown
    assert len(anna.vault("users", "--json").json) == (answer == "n")


def test_when_a_recovery_code_works_then_delete_names_it(anna):
    assert anna.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    terminal = lock_password(anna).terminal("delete")
    terminal.expect("The password of alice is locked. With the recovery code: vault delete --recovery-code")
    terminal.expect(DELETE)
    terminal.type("n")
    assert terminal.end() == 82


def test_when_a_session_is_open_then_delete_does_not_warn_of_locks(locked):
    terminal = locked.terminal("delete")
    terminal.expect(DELETE)
    terminal.type("y")
    assert terminal.end() == 0 and "login stays valid" not in terminal.shown, terminal.shown
