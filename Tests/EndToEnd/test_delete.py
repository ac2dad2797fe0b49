"""`vault delete`: nothing changes before the person agreed, and what stays valid is told."""

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import run
from test_helpers import git, has, user  # noqa: F401 (a fixture)

RECOVERY = "Password of alice, to end the key of the recovery code (empty: leave it): "
TOKENS = "SELECT count(*) FROM item WHERE name = 'vault/access-token'"


@pytest.mark.parametrize("key", ["c", "d"])
def test_when_delete_stops_at_the_password_then_the_session_stays_open(anna, key):
    assert anna.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 0
    token = anna.vault("token").out
    terminal = anna.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect(RECOVERY)
    terminal.press(key)
    assert terminal.end() == 82
    assert len(agent_status(anna)["sessions"]) == 1 and anna.sql(TOKENS) == [(1,)]
    assert anna.vault("token").out == token


def test_when_the_password_of_delete_is_wrong_then_the_session_stays_open(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    terminal = anna.terminal("delete", "--password-file", str(anna.password_file(OTHER_PASSWORD)))
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 77 and "The account was not deleted." in terminal.shown
    assert len(agent_status(anna)["sessions"]) == 1 and anna.sql(TOKENS) == [(1,)]


@pytest.mark.parametrize("option", [["--pin"], ["--recovery-code"], ["--password-file", "/nowhere"]], ids="".join)
def test_when_an_option_of_delete_cannot_work_then_the_account_stays(alice, option):
    before = alice.stored()
    terminal = alice.terminal("delete", *option)
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 78 and "The account was not deleted." in terminal.shown, terminal.shown
    assert "To delete it without a revocation, add --yes" in terminal.shown
    assert alice.stored() == before


def test_when_the_password_is_right_then_delete_closes_the_session(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    result = anna.vault("delete", "--yes", password=PASSWORD)
    assert (result.status, result.out, result.err) == (0, "Deleted alice.\n", ""), result
    assert agent_status(anna)["sessions"] == []


def test_when_a_session_is_open_then_delete_with_yes_revokes_the_token(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    result = anna.vault("delete", "--yes", "--json")
    assert (result.status, result.json, result.err) == (0, {"deleted": True, "revoked": True}, ""), result
    assert agent_status(anna)["sessions"] == [] and anna.vault("users", "--json").json == []


def test_when_a_session_is_open_then_delete_asks_for_no_secret(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    terminal = anna.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 0 and "Deleted alice." in terminal.shown
    assert "Password" not in terminal.shown and "not revoked" not in terminal.shown, terminal.shown
    assert agent_status(anna)["sessions"] == []


@pytest.mark.parametrize("typed", [PASSWORD, ""], ids=["password", "nothing"])
def test_when_only_a_secret_ends_a_key_then_delete_says_so(anna, typed):
    assert anna.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 0
    terminal = anna.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect(RECOVERY)
    terminal.type(typed)
    assert terminal.end() == 0 and "Deleted alice." in terminal.shown
    # The session revokes the token in any case.
    assert "not revoked" not in terminal.shown
    assert ("The key of the recovery code was not ended" in terminal.shown) == (typed == ""), terminal.shown


@pytest.mark.parametrize("answer, status", [("n", 82), ("y", 0)])
def test_when_the_provider_is_down_then_delete_says_so_before_it_asks(person, own_services, key_service, answer, status):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    own_services.kill()
    terminal = person.terminal("delete")
    terminal.expect(f"If you delete alice now, its login stays valid at {own_services.issuer} (client ")
    terminal.expect("To revoke it, answer no, and try again when the identity provider answers.")
    terminal.expect("[y/N] ")
    terminal.type(answer)
    assert terminal.end() == status, terminal.shown
    # Nobody types a secret for a revocation that cannot work.
    assert "Password" not in terminal.shown
    assert ("the refresh token was not revoked at the identity provider: " in terminal.shown) == (answer == "y")
    assert len(person.vault("users", "--json").json) == (answer == "n")


def test_when_the_setting_names_the_account_then_delete_removes_it(alice):
    alice.registered("--alias", "bob", user="bob")
    assert alice.vault("config", "set", "user", "alice").status == 0
    result = alice.vault("delete", "--yes", "--user", "bob")
    assert result.status == 0 and "setting user" not in result.err, result
    result = alice.vault("delete", "--yes")
    assert result.status == 0 and "Removed the setting user, because it named alice.\n" in result.err, result
    assert alice.vault("config", "get", "user").status == 78
    alice.registered(user="bob")
    assert alice.vault("status").status == 0


def test_when_the_provider_is_down_then_delete_with_an_open_session_says_so(person, own_services, runtime):
    person.settings = own_services.environment | {"XDG_RUNTIME_DIR": str(runtime)}
    person.registered("--no-agent")
    try:
        assert person.vault("login", password=PASSWORD).status == 0
        # The key service of vault-dev stops, too.
        own_services.kill()
        result = person.vault("delete", "--yes")
        assert (result.status, result.out) == (0, "Deleted alice.\n"), result
        assert "the refresh token was not revoked at the identity provider: " in result.err
        assert "no password was given" not in result.err
        assert agent_status(person)["sessions"] == []
    finally:
        person.vault("agent", "stop", "--force")


def test_when_the_token_is_not_revoked_then_delete_says_what_stays_valid(alice, services):
    assert alice.vault("login", "--no-agent", password=PASSWORD).status == 0
    for _ in range(3):
        assert alice.vault("login", "--no-agent", password=OTHER_PASSWORD).status == 77
    result = alice.vault("delete", "--yes", password=PASSWORD)
    assert result.status == 0 and result.out == "Deleted alice.\n", result
    assert "not revoked at the identity provider: The key is locked after too many wrong passwords.\n" in result.err
    assert f"use the account pages of {services.issuer} (client " in result.err
    assert "a program that has the access token may use it until 20" in result.err
    # The account is gone, so these commands cannot help.
    assert "vault unlock reset" not in result.err and "vault register" not in result.err


def test_when_git_asks_for_the_account_then_delete_names_the_command(user):  # noqa: F811
    if not has("git"):
        return
    for host in ("git.example.com", "http://127.0.0.1:8080"):
        assert user.vault("helper", "install", "git", "--host", host, "--user", "alice").status == 0
    other = "!vault helper git --host other.example.com --user bob"
    assert git(user, "config", "--global", "credential.https://other.example.com.helper", other).status == 0
    result = user.vault("delete", "--yes")
    assert result.status == 0, result
    for host in ("git.example.com", "http://127.0.0.1:8080"):
        assert f"To stop that: vault helper uninstall git --host {host}\n" in result.err, result
        assert user.vault("helper", "uninstall", "git", "--host", host).status == 0
    assert "other.example.com" not in result.err
    assert "127.0.0.1:8080" not in git(user, "config", "--global", "--list").out


def test_when_git_asks_for_another_account_then_delete_says_nothing(user):  # noqa: F811
    if not has("git"):
        return
    user.registered("--alias", "bob", user="bob")
    assert user.vault("helper", "install", "git", "--host", "git.example.com", "--user", "bob").status == 0
    result = user.vault("delete", "--yes", "--user", "alice", "--json")
    assert result.status == 0 and "git_hosts" not in result.json, result
    result = user.vault("delete", "--yes", "--user", "bob", "--json")
    assert result.json["git_hosts"] == ["git.example.com"], result


def test_when_a_namesake_is_deleted_then_git_gets_no_foreign_token(user, own_services):  # noqa: F811
    if not has("git"):
        return
    issuer = user.settings["CREDENTIAL_VAULT_ISSUER"]
    assert user.vault("helper", "install", "git", "--host", "git.example.com", "--user", "alice").status == 0
    user.settings |= own_services.environment
    user.registered()
    assert len(user.vault("users", "--json").json) == 2
    result = user.vault("delete", "--yes", "--user", "alice", "--issuer", issuer)
    assert result.status == 0, result
    assert "To stop that: vault helper uninstall git --host git.example.com\n" in result.err, result
    command = git(user, "config", "--get-urlmatch", "credential.helper", "https://git.example.com/x").out
    words = ["sh", "-c", f"{command.strip().removeprefix('!')} --password-file {user.password_file()} get"]
    result = run(words, user.environment(), b"protocol=https\nhost=git.example.com\n\n")
    assert (result.status, result.out) == (66, "quit=1\n"), result
    assert f'There is no account "alice" of {issuer}' in result.err, result
