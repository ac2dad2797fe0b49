"""`vault logout --everywhere`: what it ends, and what it does not end."""

import pytest
from support.person import PASSWORD, Person


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
