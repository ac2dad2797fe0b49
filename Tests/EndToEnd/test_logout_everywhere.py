"""`vault logout --everywhere`: what it ends, and what it does not end."""

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD, Person


@pytest.fixture
def other(tmp_path, services, children):
    """Another machine of alice, with a login of its own."""
    folder = tmp_path / "other-machine"
    folder.mkdir()
    return Person(folder, services.environment, children).registered()


def test_when_another_machine_has_a_login_then_the_log_out_names_what_goes_on(alice, other, services):
    assert alice.vault("login", password=PASSWORD).status == 0
    result = alice.vault("logout", "--everywhere", password=PASSWORD)
    assert result.status == 0, result
    assert result.out == (
        "Logged out alice. The identity provider revoked the refresh token of this machine. "
        "To register again: vault register\n")
    assert "a program that has the access token may use it until 20" in result.err
    assert 'other machines may still be logged in. To end their logins, use "vault devices" on a machine' in result.err
    assert f"the account pages of {services.issuer} (client " in result.err
    assert alice.vault("login", password=PASSWORD).status == 83
    assert other.vault("token", "--refresh", password=PASSWORD).status == 0


def test_when_the_account_has_no_key_service_then_the_log_out_does_not_name_the_devices(person):
    del person.settings["CREDENTIAL_VAULT_KEY_SERVICE"]
    person.registered("--no-key-service", "--password-only")
    result = person.vault("logout", "--everywhere", password=PASSWORD)
    assert result.status == 0 and "vault devices" not in result.err, result
    assert "To end their logins, use the account pages of " in result.err


@pytest.fixture
def without_token(anna):
    """Alice after a logout everywhere."""
    assert anna.vault("logout", "--everywhere", password=PASSWORD).status == 0
    return anna


def test_when_there_is_no_refresh_token_then_no_secret_is_asked_for(without_token):
    terminal = without_token.terminal("logout", "--everywhere")
    assert terminal.end() == 83, terminal.shown
    assert (
        "alice has no refresh token on this machine, so there is nothing to revoke. It is logged out here. "
        "To register again: vault register"
        in terminal.shown)
    assert "assword of alice" not in terminal.shown
    # A wrong password costs no guess.
    result = without_token.vault("logout", "--everywhere", password=OTHER_PASSWORD)
    assert result.status == 83, result
    result = without_token.vault("unlock", "add", "recovery", password=OTHER_PASSWORD)
    assert result.status == 77 and "2 guesses are left" in result.err, result


def test_when_there_is_no_refresh_token_then_forget_succeeds_without_a_secret(without_token):
    result = without_token.vault("logout", "--everywhere", "--forget")
    assert result.status == 0 and "so there is nothing to revoke." in result.out, result
    assert result.err == ""
    result = without_token.vault("logout", "--everywhere", "--forget", "--json")
    assert result.json["logged_out"] and result.json["revoked"] is False, result


def test_when_there_is_no_refresh_token_then_an_open_session_ends(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    anna.sql("DELETE FROM item WHERE name = 'vault/refresh-token'")
    assert anna.vault("logout", "--everywhere").status == 83
    assert agent_status(anna)["sessions"] == []


@pytest.mark.parametrize("command", ["logout", "lock"])
def test_when_there_is_no_refresh_token_then_the_next_command_is_no_login(without_token, services, command):
    result = without_token.vault(command)
    assert result.status == 0 and result.out.endswith(" To register again: vault register\n"), result
    assert "vault login" not in result.out
    del without_token.settings["CREDENTIAL_VAULT_KEY_SERVICE"]
    assert without_token.vault(command).out.endswith(
        f"To register again: vault register --issuer {services.issuer} --client-id vault-cli"
        f" --key-service {services.key_service}\n")
