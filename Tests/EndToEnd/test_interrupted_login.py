"""Logins that are stopped while the key service evaluates a guess. The password is right each time."""

import json
import re
import signal
import sqlite3

import pytest
from support.keys import kill_at
from support.person import PASSWORD
from support.waiting import wait_until

FINISHING = re.compile("so that this login costs no guess")


@pytest.fixture
def apart(person, own_services, key_service):
    """Alice, with a key service that a test can stop separately."""
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    return person.registered()


def open_guesses(person):
    with sqlite3.connect(f"file:{person.database}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT CAST(value AS TEXT) FROM record WHERE name LIKE '%own-guesses'").fetchall()
    return sum(len(guesses) for (value,) in rows for guesses in json.loads(value)["guesses"].values())


def start_login(person, key_service):
    """Starts a login whose try the key service has, but does not answer yet."""
    key_service.program.signal(signal.SIGSTOP)
    before = open_guesses(person)
    program = person.start("login", "--no-agent", "--password-file", person.password_file())
    wait_until(lambda: open_guesses(person) > before, "the note of the guess")
    return program


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 82), (signal.SIGTERM, -signal.SIGTERM)])
def test_four_stopped_logins_cost_no_guess(apart, key_service, number, status):
    for _ in range(4):
        program = start_login(apart, key_service)
        program.signal(number)
        program.wait_for(FINISHING, "err")
        key_service.program.signal(signal.SIGCONT)
        assert program.wait().status == status
        assert open_guesses(apart) == 0, "its confirmation is stored"
    assert apart.vault("login", password=PASSWORD).status == 0
    assert "2 guesses are left" in apart.vault("login", password="not the password").err


def test_the_second_ctrl_c_ends_at_once_and_names_the_guess(apart, key_service):
    program = start_login(apart, key_service)
    program.signal(signal.SIGINT)
    program.wait_for(FINISHING, "err")
    program.signal(signal.SIGINT)
    result = program.wait()
    assert result.status == 82 and "may count as wrong" in result.err
    key_service.program.signal(signal.SIGCONT)
    assert apart.vault("login", password=PASSWORD).status == 0
    result = apart.vault("login", password="not the password")
    assert "2 guesses are left" in result.err, "the stopped try is taken back"


def test_when_no_answer_was_lost_then_a_script_spends_the_last_guess_as_help_says(apart):
    for says in ("2 guesses are left.", "1 guess is left.", "The key is locked now."):
        result = apart.vault("login", password="not the password")
        assert result.status == 77 and says in result.err, result
    text = " ".join(apart.vault("login", "--help").out.split())
    assert "If no answer was lost, the last guess needs no option." in text
    assert "one guess left after lost answers" in " ".join(apart.vault("--help").out.split())


def test_after_a_typo_and_a_killed_login_the_last_guess_is_kept(apart):
    assert apart.vault("login", password="not the password").status == 77
    died = apart.vault("login", password=PASSWORD, env=kill_at("guess-evaluated"))
    assert died.status == -signal.SIGKILL
    result = apart.vault("login", password=PASSWORD)
    assert result.status == 75
    assert "One more lost answer locks the password, so no new guess was sent." in result.err
    assert "vault login --last-guess" in result.err
    assert apart.vault("login", "--json", password=PASSWORD).error["code"] == "lastGuess"
    assert apart.vault("login", "--last-guess", password=PASSWORD).status == 0
    result = apart.vault("login", password="not the password")
    assert "2 guesses are left" in result.err
