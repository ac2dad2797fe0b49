"""A guess with a copy of the store makes the copy useless, and the person gets a warning."""

import json
import re

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.thief import guess, thief_of

SAID = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
TOLD = re.compile(
    rf"^vault: 2 guesses with the password, perhaps right ones, were made( since {SAID})?, the last one at {SAID}, and not"
    r" with this store\. Somebody may have a copy of the store\. The password has a new key\. An old copy no longer opens"
    r" with it\. If you did not do this, somebody may have opened the account and have its vault key\.\n"
    r"vault: to change the password and replace the vault key: vault passwd --drop-other-methods$", re.M)


@pytest.fixture
def thief(alice, services):
    """A thief who copied alice's store and made two guesses."""
    thief = thief_of(alice)
    assert [guess(thief), guess(thief)] == ["wrongSecret", "wrongSecret"]
    services.age_guesses()
    return thief


# Row: the disk
def test_a_thief_with_one_copy_gets_three_guesses(alice, services):
    thief, evaluated = thief_of(alice), 0
    for _ in range(10):
        evaluated += [guess(thief), guess(thief)].count("wrongSecret")
        services.age_guesses()
        assert alice.vault("login", password=PASSWORD).status == 0
    assert evaluated <= 3
    assert guess(thief, secret=PASSWORD) == "keyMissing"


@pytest.mark.parametrize("command", [
    ["login"], ["token"], ["userinfo"], ["logout", "--everywhere"], ["delete", "--yes"],
    ["unlock", "add", "pin", "--new-pin-file"], ["passwd", "--new-password-file"],
], ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize("as_json", [False, True])
def test_each_command_that_opens_the_account_tells(alice, thief, command, as_json):
    if command[-1].startswith("--new"):
        secret = "2846" if "pin" in command[-1] else OTHER_PASSWORD
        command = [*command, alice.password_file(secret, "new")]
    result = alice.vault(*command, *(["--json"] if as_json else []), password=PASSWORD)
    assert result.status == 0, result
    if not as_json:
        assert TOLD.search(result.err), result.err
    else:
        # userinfo prints the provider's JSON, so the report is on standard error.
        told = json.loads(result.err if command[0] == "userinfo" else result.out)["wrong_guesses"]
        assert [(guesses["unlock_method"], guesses["count"], guesses["renewed"]) for guesses in told] == [("password", 2, True)]
        assert re.fullmatch(TIME, told[0]["last"])
    assert guess(thief, secret=PASSWORD) == "keyMissing"


def test_registering_again_tells(alice, thief):
    result = alice.register()
    assert result.status == 0 and TOLD.search(result.err), result
    assert guess(thief, secret=PASSWORD) == "keyMissing"


def test_it_is_told_once(alice, thief):
    assert TOLD.search(alice.vault("login", password=PASSWORD).err)
    assert alice.vault("login", password=PASSWORD).err == ""


def test_it_is_told_beside_an_error(alice, thief):
    new = alice.password_file("short", "new")
    result = alice.vault("passwd", "--json", "--new-password-file", new, password=PASSWORD)
    answer = json.loads(result.err)
    assert (result.status, answer["error"]["code"]) == (77, "passwordUnusable")
    assert [(guesses["unlock_method"], guesses["count"]) for guesses in answer["wrong_guesses"]] == [("password", 2)]


def test_slips_of_ones_own_alarm_nobody(alice):
    for _ in range(2):
        assert alice.vault("login", password="a slip").status == 77
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")


def test_a_damaged_note_keeps_nobody_out(alice, services):
    assert alice.vault("login", password="a slip").status == 77
    assert len(alice.sql("SELECT 1 FROM record WHERE name LIKE '%own-guesses'")) == 1
    alice.sql("UPDATE record SET value = x'FF00' WHERE name LIKE '%own-guesses'")
    services.age_guesses()
    result = alice.vault("login", password=PASSWORD)
    assert result.status == 0 and "1 guess with the password, perhaps a right one, was made" in result.err
