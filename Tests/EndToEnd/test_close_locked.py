"""Closing the last open session of an account whose unlock methods are all locked."""

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD

WARNING = "vault: The password of alice is locked. alice is still open. After this, vault login does not open it."
CLOSING = {"lock": "Lock alice all the same? [y/N] ", "logout": "Log out of alice all the same? [y/N] "}


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


@pytest.mark.parametrize("words", [["lock"], ["logout"], ["logout", "--everywhere"]], ids=" ".join)
def test_when_everything_is_locked_then_closing_asks_first(locked, words):
    terminal = locked.terminal(*words)
    terminal.expect(WARNING)
    terminal.expect(CLOSING[words[0]])
    terminal.type("")
    assert terminal.end() == 82 and "Nothing was closed." in terminal.shown
    assert len(agent_status(locked)["sessions"]) == 1
    assert locked.vault("token").status == 0


@pytest.mark.parametrize("word", CLOSING)
def test_when_the_person_agrees_then_the_way_back_works(locked, word):
    terminal = locked.terminal(word)
    terminal.expect(CLOSING[word])
    terminal.type("y")
    assert terminal.end() == 0
    assert works(terminal.shown.split(CLOSING[word])[1]), terminal.shown
    assert agent_status(locked)["sessions"] == []


@pytest.mark.parametrize("word", CLOSING)
def test_without_a_terminal_closing_goes_on_and_says_so(locked, word):
    result = locked.vault(word)
    assert result.status == 0 and result.err == f"{WARNING}\n" and works(result.out), result
    assert agent_status(locked)["sessions"] == []


# A hook of a desktop often has the terminal that started the desktop, where nobody looks.
UNWATCHED = {"in the background": '"$VAULT" {} & wait "$!"', "without input": '"$VAULT" {} </dev/null'}


@pytest.mark.parametrize("word", CLOSING)
@pytest.mark.parametrize("shell", UNWATCHED)
def test_where_nobody_can_answer_closing_goes_on(locked, word, shell):
    terminal = locked.terminal(shell=("set -m; " if "&" in UNWATCHED[shell] else "") + UNWATCHED[shell].format(word))
    terminal.expect(WARNING)
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown, terminal.shown
    assert agent_status(locked)["sessions"] == []


def test_with_yes_nothing_is_asked(locked):
    terminal = locked.terminal("lock", "--yes")
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
