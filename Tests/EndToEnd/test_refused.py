"""An account whose token the provider refused for good, until it is registered again."""

import re
import shutil

import pytest
from support.person import PASSWORD, Person

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture
def refused(alice):
    """Alice, whose provider has refused her refresh token."""
    copy = alice.folder / "copy"
    shutil.copytree(alice.home, copy)
    assert alice.vault("login", password=PASSWORD).status == 0
    # The copy's token was already rotated. Its use reveals the theft, and the provider revokes both.
    assert alice.vault("login", password=PASSWORD, env={"CREDENTIAL_VAULT_HOME": copy}).status == 81
    assert "refused_at" not in alice.vault("users", "--json").json[0]
    assert alice.vault("login", password=PASSWORD).status == 81
    return alice


def test_when_the_token_is_refused_then_status_and_users_show_it(refused):
    status = refused.vault("status", "--json").json
    time = status["refused_at"]
    assert re.fullmatch(TIME, time) and status["account"]["refused_at"] == time
    assert status["has_refresh_token"] and not status["has_access_token"]
    assert refused.vault("users", "--json").json[0]["refused_at"] == time
    local = time.replace("T", " ").replace("Z", " UTC")
    assert re.search(f"^Refresh token: +stored, sealed; refused at {local}: register again$", refused.vault("status").out, re.M)
    titles, row = refused.vault("users").out.splitlines()
    assert "  REFUSED AT  " in titles and f"  {local}  " in row


def test_when_nothing_was_refused_then_users_has_no_column_for_it(alice):
    assert "REFUSED" not in alice.vault("users").out and "refused" not in alice.vault("status").out


@pytest.mark.parametrize("command", [["login"], ["token"], ["userinfo"], ["exec", "--", "true"]], ids=lambda words: words[0])
def test_when_the_token_is_refused_then_no_secret_is_asked(refused, command):
    terminal = refused.terminal(*command)
    assert terminal.end() == 81
    assert "Register again." in terminal.shown and "Password of" not in terminal.shown
    result = refused.vault(command[0], "--json", *command[1:])
    assert (result.status, result.out, result.error["code"]) == (81, "", "refreshTokenExpired")


def test_when_the_token_is_refused_then_a_password_costs_no_guess(refused):
    for _ in range(4):
        assert refused.vault("login", password="not the password").status == 81
    # An item needs no token.
    secret = ("--password-file", refused.password_file())
    assert refused.vault("item", "set", "note", *secret, input=b"Room 4", stdin=None).status == 0


def test_when_the_server_refused_by_mistake_then_a_refresh_asks_it_once_more(tmp_path, own_services, children):
    anna = Person(tmp_path, own_services.environment, children).registered()
    tokens, elsewhere = own_services.data / "identity-provider.json", tmp_path / "elsewhere"
    # For a while, the provider knows none of its tokens.
    own_services.kill()
    tokens.rename(elsewhere)
    own_services.start()
    assert anna.vault("token", "--refresh", password=PASSWORD).status == 81
    own_services.kill()
    elsewhere.rename(tokens)
    own_services.start()
    assert anna.vault("login", password=PASSWORD).status == 81
    assert anna.vault("token", "--refresh", password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 0


def test_when_the_account_is_registered_again_then_the_refusal_is_gone(refused):
    refused.registered()
    assert "refused_at" not in refused.vault("status", "--json").json
    assert "REFUSED" not in refused.vault("users").out
    assert refused.vault("login", password=PASSWORD).status == 0
