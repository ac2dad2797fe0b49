"""Without a client id, the command registers a client at the provider (RFC 7591), and uses it again."""

import re

import pytest
from support.person import PASSWORD, Person
from support.programs import VAULT_DEV, run
from support.services import DevelopmentServices

CLIENT = "CREDENTIAL_VAULT_CLIENT_ID"


def without_client(services, folder, children):
    folder.mkdir(exist_ok=True)
    return Person(folder, {k: v for k, v in services.environment.items() if k != CLIENT}, children)


@pytest.fixture
def stranger(services, tmp_path, children):
    """A person without a client id."""
    return without_client(services, tmp_path, children)


def clients(person):
    return {user["preferred_username"]: user["client_id"] for user in person.vault("users", "--json").json}


def test_a_client_is_registered_and_used_again(stranger):
    stranger.registered().registered(user="bob")
    known = clients(stranger)
    assert known["alice"] == known["bob"] != "vault-cli"
    assert len([name for (name,) in stranger.sql("SELECT name FROM record") if name.startswith("client ")]) == 1
    assert stranger.vault("login", "--user", "alice", password=PASSWORD).status == 0


def test_another_client_on_request(stranger):
    stranger.registered().registered("--new-client", user="bob")
    known = clients(stranger)
    assert known["alice"] != known["bob"]
    for user in known:
        assert stranger.vault("login", "--user", user, password=PASSWORD).status == 0


def test_a_client_id_that_is_given_is_used(stranger):
    stranger.registered("--client-id", "vault-cli")
    assert clients(stranger) == {"alice": "vault-cli"}
    result = stranger.vault("register", "--new-client", "--client-id", "vault-cli", password=PASSWORD)
    assert result.status == 64


def test_new_client_goes_before_the_one_that_is_set(person):
    person.registered("--new-client")
    assert clients(person)["alice"] != person.settings[CLIENT]


def test_a_provider_that_registers_nobody(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--no-registration"))
    stranger = without_client(services, tmp_path / "stranger", children)
    result = stranger.vault("register", "--no-browser", password=PASSWORD)
    assert result.status == 78
    assert "registers no client" in result.err and "--client-id" in result.err
    assert "authorize?" not in result.err, "nobody is sent to the browser for nothing"
    (check,) = [check for check in stranger.vault("doctor", "--json").json if check["name"] == "issuer"]
    assert check["outcome"] == "warn" and "client-id" in check["advice"]


def test_a_secret_is_sealed(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--registration-secret"))
    stranger = without_client(services, tmp_path / "stranger", children).registered().registered(user="bob")
    known = clients(stranger)
    assert known["alice"] != known["bob"], "a client with a secret is one account's alone"
    for user in known:
        assert stranger.vault("login", "--user", user, password=PASSWORD).status == 0
    # Only clients without a secret are unsealed, for later registrations.
    assert not [name for (name,) in stranger.sql("SELECT name FROM record") if name.startswith("client ")]


def test_a_provider_that_forgot_the_client(tmp_path, children):
    services = DevelopmentServices(tmp_path)
    stranger = without_client(services, tmp_path / "stranger", children).registered()
    address = services.issuer.removeprefix("http://")
    services.kill()
    (tmp_path / "other").mkdir()
    children.append(other := DevelopmentServices(tmp_path / "other", "--listen", address, "--device-interval", "1"))
    stranger.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = other.key_service
    result = stranger.vault("register", "--device", password=PASSWORD)
    assert result.status == 78 and "--new-client" in result.err
    program = stranger.start("register", "--device", "--new-client", "--password-file", stranger.password_file())
    code = program.wait_for(re.compile(r"^([A-Z0-9]{4}-[A-Z0-9]{4})$", re.M), "err")[1]
    assert run([VAULT_DEV, "browse", f"{other.issuer}/device", "--user-code", code, "--user", "bob"]).status == 0
    assert program.wait().status == 0
