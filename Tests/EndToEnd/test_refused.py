"""An account whose token the provider refused for good, until it is registered again."""

import re
import shutil
from contextlib import contextmanager

import pytest
from support.person import PASSWORD, Person

ASK_AGAIN = "If the server refused by mistake, ask it once more: vault token --refresh --user alice"
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


@contextmanager
def without_tokens(services):
    """For a while, the provider knows none of its tokens."""
    tokens, elsewhere = services.data / "identity-provider.json", services.folder / "elsewhere"
    services.kill()
    tokens.rename(elsewhere)
    services.start()
    yield
    services.kill()
    elsewhere.rename(tokens)
    services.start()


def test_when_the_server_refused_by_mistake_then_a_refresh_asks_it_once_more(tmp_path, own_services, children):
    anna = Person(tmp_path, own_services.environment, children).registered()
    with without_tokens(own_services):
        result = anna.vault("token", "--refresh", password=PASSWORD)
        assert result.status == 81 and "by mistake" not in result.err, result
    result = anna.vault("login", password=PASSWORD)
    assert result.status == 81 and ASK_AGAIN in result.err, result
    assert anna.vault("token", "--refresh", password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 0


def test_when_the_agents_session_was_refused_then_a_refresh_asks_once_more(tmp_path, own_services, children, runtime):
    anna = Person(tmp_path, {**own_services.environment, "XDG_RUNTIME_DIR": str(runtime)}, children).registered()
    assert anna.vault("login", password=PASSWORD).status == 0
    try:
        with without_tokens(own_services):
            assert anna.vault("token", "--refresh").status == 81
        result = anna.vault("token")
        assert result.status == 81 and ASK_AGAIN in result.err, result
        for command in (["token", "--refresh"], ["token"]):
            terminal = anna.terminal(*command)
            terminal.expect("Password of alice: ")
            terminal.type(PASSWORD)
            assert terminal.end() == 0, terminal.shown
        assert "refused_at" not in anna.vault("status", "--json").json
        assert anna.vault("login", password=PASSWORD).status == 0
        assert anna.vault("token").status == 0
    finally:
        anna.vault("agent", "stop", "--force")


def test_when_only_the_agent_was_refused_then_a_script_learns_of_it(tmp_path, own_services, children, runtime):
    anna = Person(tmp_path, {**own_services.environment, "XDG_RUNTIME_DIR": str(runtime)}, children).registered()
    assert anna.vault("login", password=PASSWORD).status == 0
    try:
        with without_tokens(own_services):
            assert anna.vault("token", "--refresh").status == 81
        # As after a refusal that a proxy may have sent.
        anna.sql("UPDATE account SET refused_at = NULL")
        for command in (["token"], ["token", "--refresh"], ["exec", "--", "true"]):
            result = anna.vault(*command)
            assert result.status == 81 and "Register again." in result.err, result
        # A person can log in.
        assert anna.vault("login", password=PASSWORD).status == 0
        assert anna.vault("token").status == 0
    finally:
        anna.vault("agent", "stop", "--force")


def test_when_the_account_is_registered_again_then_the_refusal_is_gone(refused):
    refused.registered()
    assert "refused_at" not in refused.vault("status", "--json").json
    assert "REFUSED" not in refused.vault("users").out
    assert refused.vault("login", password=PASSWORD).status == 0
