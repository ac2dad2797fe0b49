"""Every exit status that the command promises."""

import fcntl
import re
import shutil
import signal
import socket
import sqlite3

import pytest
from support.person import PASSWORD
from support.programs import KEY_SERVICE, run
from support.waiting import wait_until


@pytest.fixture
def apart(person, own_services, key_service):
    """Alice, with an identity provider and a key service that a test can stop separately."""
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    return person.registered()


def test_0_and_77_and_80_three_wrong_passwords_lock_the_key(alice):
    for left in ("2 guesses are left", "1 guess is left", "locked now"):
        result = alice.vault("login", password="not the password")
        assert result.status == 77 and left in result.err
    for password in ("not the password", PASSWORD):
        result = alice.vault("login", password=password)
        assert (result.status, result.out) == (80, "")
        assert "If you register again, the stored items are lost. For the operator: " in result.err
        ways = r"are lost\. For the operator: vault-key-service keys unlock \S+ .*\. To register again: vault register\n"
        assert re.search(ways, result.err), result
    # Registering again works, with the same password or another.
    alice.registered()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_a_right_password_gives_the_guesses_back(alice):
    for _ in range(2):
        for _ in range(2):
            assert alice.vault("token", password="not the password").status == 77
        assert alice.vault("token", password=PASSWORD).status == 0


def test_80_the_key_was_deleted_at_the_key_service(apart, key_service):
    listed = run([KEY_SERVICE, "keys", "list", "--json", "--data", key_service.data]).json
    assert [key["guessesRemaining"] for key in listed] == [3]
    assert run([KEY_SERVICE, "keys", "delete", listed[0]["id"], "--data", key_service.data]).status == 0
    result = apart.vault("login", password=PASSWORD)
    assert result.status == 80 and "register again" in result.err
    apart.registered()
    assert apart.vault("login", password=PASSWORD).status == 0


def test_1_anything_else(person):
    assert person.vault("doctor", "--key-service", "http://127.0.0.1:1").status == 1


@pytest.mark.parametrize("arguments", [
    ["frobnicate"], ["login", "--frobnicate"], ["login", "alice"], ["token", "--min-valid", "soon"],
    ["completion", "csh"], ["config", "set", "issuer"], ["register", "--alias", ""],
])
def test_64_usage(person, arguments):
    result = person.vault(*arguments)
    assert (result.status, result.out) == (64, "")
    assert result.err.startswith("vault: ") and ("Usage:" in result.err or "See: vault --help" in result.err)


def test_65_the_stored_data_is_damaged(alice):
    alice.database.write_bytes(b"not a database, but long enough to look at " * 100)
    assert alice.vault("users").status == 65


def test_66_no_such_user(alice):
    result = alice.vault("login", "--user", "nobody", password=PASSWORD)
    assert result.status == 66 and '"nobody"' in result.err


@pytest.mark.parametrize("name", ["alice", "alice@example.com", "work", None])
def test_a_user_is_found_by_every_name(person, name):
    person.registered("--alias", "work").registered(user="bob")
    name = name or next(u["subject"] for u in person.vault("users", "--json").json if u["alias"] == "work")
    assert person.vault("status", "--user", name, "--json").json["account"]["email"] == "alice@example.com"


def test_69_the_identity_provider_is_down(apart, own_services):
    own_services.kill()
    result = apart.vault("login", password=PASSWORD)
    assert result.status == 69 and "identity provider" in result.err
    # The stored token stays valid.
    assert apart.vault("token", password=PASSWORD).status == 0
    assert apart.vault("token", "--refresh", password=PASSWORD).status == 69
    assert "refused_at" not in apart.vault("users", "--json").json[0]
    own_services.start()
    assert apart.vault("login", password=PASSWORD).status == 0


def test_69_the_key_service_is_down(apart, key_service):
    key_service.kill()
    result = apart.vault("login", password=PASSWORD)
    assert result.status == 69 and "key service" in result.err
    key_service.start()
    assert apart.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("what", ["issuer", "key-service"])
def test_69_before_the_browser_opens(person, what):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # the port is taken, but nobody listens
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        result = person.vault("register", "--no-browser", f"--{what}", url, password=PASSWORD)
    assert result.status == 69
    assert "Open this address" not in result.err


def test_75_another_program_holds_the_store(alice):
    other = sqlite3.connect(alice.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    # Each look at the store waits 20 seconds, so a login that looks again and again would not end in this time.
    result = alice.vault("login", password=PASSWORD, timeout=90)
    assert result.status == 75 and "Try again" in result.err
    assert alice.vault("users").status == 0
    other.execute("ROLLBACK")
    other.close()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_the_lock_of_an_account_is_waited_for(alice):
    (path,) = alice.home.glob(".*.lock")
    with open(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        terminal = alice.terminal("login")
        terminal.expect("Password of alice: ")
        terminal.type(PASSWORD)
        terminal.expect("Signing in")  # shown after half a second
        assert terminal.child.isalive()
        assert not alice.vault("status", "--json").json.get("refresh_interrupted_at")
    assert terminal.end() == 0


def test_78_configuration(alice):
    alice.home.chmod(0o755)
    result = alice.vault("users")
    assert result.status == 78 and "chmod 700" in result.err
    alice.home.chmod(0o700)
    assert alice.vault("users").status == 0
    result = alice.vault("register", "--issuer", "http://login.example.com", password=PASSWORD)
    assert result.status == 78 and "https" in result.err
    result = alice.vault("register", "--key-service", "http://keys.example.com", password=PASSWORD)
    assert result.status == 78 and "https" in result.err


def test_78_an_alias_that_is_taken(alice):
    alice.registered("--alias", "work")
    subject = alice.vault("users", "--json").json[0]["subject"]
    for alias in ("work", subject, "alice", "alice@example.com"):
        result = alice.register("--alias", alias, user="bob")
        assert result.status == 78 and f"alias {alias} is a name of" in result.err
        # Nobody signs in for nothing.
        assert "To register that account again, leave out --alias." in result.err and "authorize?" not in result.err
        result = alice.register("--alias", alias, "--issuer", "https://login.invalid", "--json")
        assert result.status == 78 and result.error["code"] == "aliasTaken"
    assert len(alice.vault("users", "--json").json) == 1


def test_78_the_port_of_the_redirect_uri_is_taken(person):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = person.vault("register", "--no-browser", "--redirect-uri", f"http://127.0.0.1:{port}/callback",
                              password=PASSWORD)
    assert result.status == 78 and str(port) in result.err


def test_81_the_refresh_token_was_revoked(alice):
    thief = alice.folder / "copy"
    shutil.copytree(alice.home, thief)
    assert alice.vault("login", password=PASSWORD).status == 0
    # The copy's token was already rotated. Its use reveals the theft, and the provider revokes both.
    stolen = alice.vault("login", password=PASSWORD, env={"CREDENTIAL_VAULT_HOME": thief})
    assert stolen.status == 81
    before = alice.stored_for_good()
    result = alice.vault("login", password=PASSWORD)
    assert result.status == 81 and "Register again" in result.err
    assert alice.stored_for_good() == before  # the first refusal deletes only the dead access token
    for arguments in (["token"], ["token", "--min-valid", "0"], ["userinfo"]):
        result = alice.vault(*arguments, password=PASSWORD)
        assert (result.status, result.out) == (81, ""), result
    alice.registered()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_82_denied_at_the_provider(person):
    result = person.register(deny=True)
    assert result.status == 82 and "denied" in result.err
    assert person.vault("users", "--json").json == []


def test_82_interrupted(apart, key_service):
    key_service.program.signal(signal.SIGSTOP)
    program = apart.start("login", "--password-file", apart.password_file())
    wait_until(key_service.has_connection, "the call to the key service")
    program.signal(signal.SIGINT)
    # If the guess was sent, the first Ctrl-C waits for its answer.
    wait_until(lambda: "so that this login costs no guess" in program.err or program.process.poll() is not None, "an answer to Ctrl-C")
    program.signal(signal.SIGINT)
    assert program.wait().status == 82


def test_83_after_logout_everywhere(alice):
    assert alice.vault("logout", "--everywhere", password=PASSWORD).status == 0
    result = alice.vault("login", password=PASSWORD)
    assert result.status == 83 and "Register again" in result.err
    assert "none: logged out, and the token deleted. Next: vault register" in alice.vault("status").out
    alice.registered()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_logout_keeps_what_the_password_opens(alice):
    assert alice.vault("token", password=PASSWORD).status == 0
    assert alice.vault("logout").status == 0
    status = alice.vault("status", "--json").json
    assert status["has_refresh_token"] and not status["has_access_token"]
    assert alice.vault("login", password=PASSWORD).status == 0


def test_logout_everywhere_while_the_provider_is_down_is_reported(apart, own_services):
    own_services.kill()
    result = apart.vault("logout", "--everywhere", password=PASSWORD)
    assert result.status == 69 and "did not revoke" in result.err
    assert "Try again: vault logout --everywhere --user " in result.err
    result = apart.vault("logout", "--everywhere", "--json", password=PASSWORD)
    assert result.status == 69 and result.json["revoked"] is False
    assert result.error["code"] == "identityProviderUnavailable"
    own_services.start()
    assert apart.vault("login", password=PASSWORD).status == 0


def test_the_next_command_of_a_logout_names_nobody_else(apart, own_services):
    """An alias wins over a subject. The command with alice's subject would log out bob."""
    apart.registered(user="bob")
    apart.sql("UPDATE account SET alias = (SELECT subject FROM account WHERE preferred_username = 'alice') "
              "WHERE preferred_username = 'bob'")
    own_services.kill()
    result = apart.vault("logout", "--everywhere", "--user", "alice", password=PASSWORD)
    assert result.status == 69 and "vault logout --everywhere --user alice" in result.err, result
