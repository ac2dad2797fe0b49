"""A registration that is cancelled after the login. Nobody can use its tokens, so they must not stay valid."""

import json
import signal

import pytest
from support.person import PASSWORD
from support.services import services_behind_a_proxy
from support.waiting import wait_until


@pytest.fixture
def proxied(tmp_path, children, person, key_service):
    """The provider behind a proxy that can hold back answers, and a key service that a test can stop."""
    proxy, services = services_behind_a_proxy(tmp_path, children)
    person.settings = services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    return person, services, proxy


def logins(services):
    """Counts the valid logins in the provider's records."""
    families = json.loads((services.folder / "vault-dev" / "identity-provider.json").read_text())["families"]
    return len(families.values() if isinstance(families, dict) else families[1::2])


def at_new_password(person):
    terminal = person.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("New password")
    return terminal


def test_ctrl_c_at_the_new_password(proxied):
    person, services, _ = proxied
    terminal = at_new_password(person)
    assert logins(services) == 1
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode and "Cancelled." in terminal.shown
    assert logins(services) == 0
    assert person.vault("users", "--json").json == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_new_password(proxied, number):
    person, services, _ = proxied
    terminal = at_new_password(person)
    terminal.child.kill(number)
    assert terminal.end() == -number
    assert logins(services) == 0 and terminal.mode == terminal.original_mode


def test_a_provider_that_does_not_answer_is_not_waited_for_long(proxied):
    person, services, _ = proxied
    terminal = at_new_password(person)
    services.program.signal(signal.SIGSTOP)
    try:
        terminal.press("c")
        assert terminal.end() == 82
    finally:
        services.program.signal(signal.SIGCONT)
    assert "is still valid at the identity provider" in terminal.shown


def test_a_second_ctrl_c_ends_it_at_once(proxied):
    person, services, proxy = proxied
    terminal = at_new_password(person)
    services.program.signal(signal.SIGSTOP)
    try:
        sent = sum(len(sent) for sent in proxy.sent)
        terminal.press("c")
        wait_until(lambda: sum(len(sent) for sent in proxy.sent) > sent, "the revocation to be sent")
        terminal.press("c")
        assert terminal.end() == 82
    finally:
        services.program.signal(signal.SIGCONT)
    assert "is still valid at the identity provider" not in terminal.shown


def test_no_password_was_chosen(proxied):
    person, services, _ = proxied
    terminal = at_new_password(person)
    for _ in range(6):
        terminal.type("12345678")
        terminal.expect("Choose another one.")
        terminal.expect("New password")
    terminal.press("c")
    assert terminal.end() == 82
    assert logins(services) == 0


def test_the_key_service_refuses(proxied, key_service):
    person, services, _ = proxied
    terminal = at_new_password(person)
    key_service.kill()
    terminal.type(PASSWORD)
    terminal.expect("again: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 69
    assert logins(services) == 0


def test_ctrl_c_while_the_key_service_is_asked(proxied, key_service):
    person, services, _ = proxied
    terminal = at_new_password(person)
    key_service.program.signal(signal.SIGSTOP)
    terminal.type(PASSWORD)
    terminal.expect("again: ")
    terminal.type(PASSWORD)
    wait_until(key_service.has_connection, "the call to the key service")
    terminal.press("c")
    assert terminal.end() == 82
    assert logins(services) == 0


def test_an_alias_that_is_taken(proxied):
    person, services, _ = proxied
    person.registered()
    result = person.register("--alias", "alice", user="bob")
    assert result.status == 78 and logins(services) == 1
    assert person.vault("login", password=PASSWORD).status == 0


def test_registering_again_that_is_called_off_leaves_the_account_alone(proxied):
    """Many providers revoke all of a client's tokens together. A cancelled login must not end the stored one."""
    person, services, _ = proxied
    person.registered()
    terminal = person.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("empty to choose a new password): ")
    terminal.press("c")
    assert terminal.end() == 82
    assert "vault logout --everywhere" in terminal.shown
    assert person.vault("login", password=PASSWORD).status == 0


def test_registering_again_that_is_called_off_with_no_token_stored(proxied):
    person, services, _ = proxied
    person.registered()
    assert person.vault("logout", "--everywhere", password=PASSWORD).status == 0
    terminal = person.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("empty to choose a new password): ")
    terminal.press("c")
    assert terminal.end() == 82
    assert logins(services) == 0
