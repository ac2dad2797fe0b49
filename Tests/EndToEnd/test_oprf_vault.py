"""The command and the key service with protocol version 2, also after crashes."""

import signal

import pytest
from support.keys import check_only_the_used_keys_live, kill_at, used
from support.person import OTHER_PASSWORD, PASSWORD

PIN = "2846"


@pytest.fixture
def own(person, key_service):
    """Alice, with a key service of her own."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    return person


def test_each_way_in_says_its_protocol(own, key_service):
    ways = own.vault("unlock", "list", "--json").json
    assert [(way["kind"], way["key_service_protocol"]) for way in ways] == [("password", 2)]
    state = own.vault("status", "--json").json
    assert state["unlock_methods"] == ways and "guesses_elsewhere" not in state
    assert "password (protocol 2)" in own.vault("status").out
    assert key_service.live_keys() == used(own)


def test_two_slips_a_lost_confirm_and_a_restart(own, key_service):
    for left in (2, 1):
        assert own.vault("login", "--json", password="a slip").error["guesses_remaining"] == left
    died = own.vault("login", password=PASSWORD, env=kill_at("confirm-stored"))
    assert died.status == -signal.SIGKILL
    result = own.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    (key,) = key_service.keys().values()
    assert key["guessesRemaining"] == 3
    assert (own.own_guesses()["guesses"], own.own_guesses()["waiting"]) == ({}, []), "only the last confirm is kept"


@pytest.mark.parametrize("point", ["key-noted", "key-created", "key-confirmed", "keyslot-made", "keyslot-stored"])
def test_a_crash_while_a_pin_is_added_leaves_no_live_key(own, key_service, point):
    new = own.password_file(PIN, "new-pin")
    died = own.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD, env=kill_at(point))
    assert died.status == -signal.SIGKILL
    check_only_the_used_keys_live(own, key_service)


@pytest.mark.parametrize("point, works", [
    ("key-created", PASSWORD), ("key-confirmed", PASSWORD), ("password-key-created", PASSWORD),
    ("password-staged", PASSWORD), ("password-verified", PASSWORD), ("password-swapped", OTHER_PASSWORD),
    ("key-ended", OTHER_PASSWORD),
])
def test_a_crash_during_a_change_of_password_leaves_one_live_key(own, key_service, point, works):
    new = own.password_file(OTHER_PASSWORD, "new")
    died = own.vault("passwd", "--new-password-file", new, password=PASSWORD, env=kill_at(point))
    assert died.status == -signal.SIGKILL
    check_only_the_used_keys_live(own, key_service, works)
    assert len(used(own)) == 1


@pytest.mark.parametrize("point", ["guess-evaluated", "confirm-stored", "confirm-sent"])
def test_a_crash_during_a_login_locks_nobody_out(own, key_service, point):
    put = ("item", "set", "note", "--password-file", own.password_file())
    assert own.vault(*put, input=b"text", stdin=None).status == 0
    # The third open guess would lock the key, so only two logins may die before they know that they are right.
    for _ in range(2 if point == "guess-evaluated" else 5):
        # An item needs no token: kill -9 beside a renewal could lose the provider's answer.
        assert own.vault("item", "get", "note", password=PASSWORD, env=kill_at(point)).status == -signal.SIGKILL
    last = []
    if point == "guess-evaluated":
        # Two answers were lost. So the third guess is sent only on request.
        assert own.vault("login", password=PASSWORD).status == 75
        last = ["--last-guess"]
    result = own.vault("login", *last, password=PASSWORD)
    assert (result.status, result.err) == (0, "")


def test_a_deleted_account_has_no_live_key(own, key_service):
    assert own.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert len(key_service.live_keys()) == 2
    result = own.vault("delete", "--yes", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert key_service.live_keys() == set()
