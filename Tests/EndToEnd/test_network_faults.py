"""Messages about network faults to the identity provider. No fault loses a stored token."""

import re

import pytest
from support.person import PASSWORD, Person
from support.services import services_behind_a_proxy
from support.waiting import wait_until

DISCOVERY = b"GET /.well-known/openid-configuration"
TOKEN = b"POST /token"

# Reports of a network fault: an error code and a part of the message.
NO_CONNECTION = ("identityProviderUnavailable", "no connection to {}")
BROKEN = ("identityProviderInterrupted", "the connection to {} broke")
LATE = ("identityProviderTimedOut", "did not answer in time: {}")
SENSELESS = "identityProviderAnswerInvalid"


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """`vault-dev` behind a proxy. The issuer is the proxy's address, so all requests pass through it."""
    proxy, services = services_behind_a_proxy(tmp_path_factory.mktemp("services"), [])
    proxy.services = services
    yield proxy
    services.kill()
    proxy.kill()


@pytest.fixture
def alice(tmp_path, network, children):
    network.heal()
    assert network.services.issuer == f"http://{network.address}"
    return Person(tmp_path, network.services.environment, children).registered()


def refresh_token(person):
    """Returns the sealed token from the store."""
    ((sealed,),) = person.sql("SELECT sealed FROM item WHERE name = 'vault/refresh-token'")
    return sealed


def is_interrupted(person):
    return "refresh_interrupted_at" in person.vault("status", "--json").json


def check(result, network, expected):
    """Checks for status 69 (try again later) and the message."""
    code, message = expected
    assert (result.status, result.out, result.error["code"]) == (69, "", code), result
    assert message.format(network.address) in result.error["message"], result


# Faults before the provider can rotate the token.
BEFORE = {
    "refused": (("refuse",), {}, NO_CONNECTION),
    "discovery reset": (("reset",), {"request": DISCOVERY}, BROKEN),
    "discovery cut off": (("cut-answer", 100), {"request": DISCOVERY}, BROKEN),
    "discovery swallowed": (("swallow",), {"request": DISCOVERY}, BROKEN),
    "discovery garbled": (("garble",), {"request": DISCOVERY}, BROKEN),
    "discovery's JSON garbled": (
        ("garble-body",), {"request": DISCOVERY}, (SENSELESS, "is not a JSON object")),
    "token request reset": (("reset",), {"request": TOKEN}, BROKEN),
    "token request cut off": (("cut-request", 40), {"request": TOKEN}, BROKEN),
}


@pytest.mark.parametrize("fault", BEFORE)
def test_a_fault_before_the_provider_acts_loses_nothing(alice, network, fault):
    what, options, expected = BEFORE[fault]
    before = refresh_token(alice)
    network.set(*what, **options)
    for command in (["token", "--refresh"], ["login"]):
        check(alice.vault(*command, "--json", password=PASSWORD), network, expected)
    assert network.hits or what == ("refuse",)
    assert refresh_token(alice) == before
    # The stored token stays valid meanwhile.
    assert alice.vault("token", password=PASSWORD).status == 0
    network.heal()
    assert alice.vault("login", password=PASSWORD).status == 0
    assert not is_interrupted(alice)
    assert refresh_token(alice) != before


def test_a_connection_that_is_thrown_away_at_once(alice, network):
    before = refresh_token(alice)
    network.set("reset")
    result = alice.vault("token", "--refresh", "--json", password=PASSWORD)
    # The error depends on timing.
    assert result.status == 69 and result.error["code"] in (NO_CONNECTION[0], BROKEN[0]), result
    network.heal()
    assert refresh_token(alice) == before
    assert alice.vault("login", password=PASSWORD).status == 0


# Faults after the provider has rotated the token.
AFTER = {
    "swallowed": (("swallow",), BROKEN),
    "cut off in the head": (("cut-answer", 10), BROKEN),
    "cut off in the body": (("cut-answer", 400), BROKEN),
    "garbled": (("garble",), BROKEN),
    "garbled JSON": (("garble-body",), (SENSELESS, "the token answer is not JSON")),
}


@pytest.mark.parametrize("fault", AFTER)
def test_an_answer_that_is_lost_is_reported_as_an_interruption(alice, network, fault):
    what, expected = AFTER[fault]
    before = refresh_token(alice)
    # The fault happens once. If the command retried by itself, it would succeed or report the reuse at once.
    network.set(*what, request=TOKEN, once=True)
    check(alice.vault("token", "--refresh", "--json", password=PASSWORD), network, expected)
    assert network.hits == 1
    assert is_interrupted(alice) and refresh_token(alice) == before
    assert alice.vault("token", password=PASSWORD).status == 0

    for command in (["login"], ["token", "--refresh"]):
        result = alice.vault(*command, "--json", password=PASSWORD)
        assert (result.status, result.error["code"]) == (81, "refreshInterrupted"), result
        assert "cut off" in result.error["message"] and "Register again" in result.error["message"]
    assert refresh_token(alice) == before
    alice.registered()
    assert alice.vault("login", password=PASSWORD).status == 0
    assert not is_interrupted(alice)


@pytest.mark.parametrize("fault", [("delay", 0.3), ("slow", 3000)], ids=lambda fault: fault[0])
def test_a_slow_network_is_only_slow(alice, network, fault):
    network.set(*fault)
    result = alice.vault("token", "--refresh", password=PASSWORD)
    assert (result.status, result.err) == (0, "") and re.fullmatch(r"\S+\n", result.out), result
    assert network.hits
    network.heal()
    assert alice.vault("login", password=PASSWORD).status == 0


def test_a_network_that_hangs(alice, network, tmp_path, children):
    """The command waits as long as the setting provider-timeout allows."""
    few = {"CREDENTIAL_VAULT_PROVIDER_TIMEOUT": "2"}
    (tmp_path / "bob").mkdir()
    bob = Person(tmp_path / "bob", network.services.environment, children).registered(user="bob")
    people = (alice, bob)
    before = [refresh_token(person) for person in people]
    programs = []
    for person, request in zip(people, (TOKEN, DISCOVERY)):
        network.set("hang", request=request, once=True)
        programs.append(person.start(
            "token", "--refresh", "--json", "--password-file", person.password_file(), env=few))
        wait_until(lambda: network.hits == 1, "the request that is left hanging")
    for program in programs:
        check(program.wait(60), network, LATE)
    assert [refresh_token(person) for person in people] == before
    # Only the token request may have reached the provider.
    assert [is_interrupted(person) for person in people] == [True, False]
    for person in people:
        assert person.vault("login", password=PASSWORD).status == 0
        assert not is_interrupted(person)


@pytest.mark.parametrize("fault, options", [
    ("refuse", {}), ("swallow", {"request": DISCOVERY}), ("garble-body", {"request": DISCOVERY})])
def test_registering_with_a_broken_network_ends_before_the_browser(tmp_path, network, children, fault, options):
    network.set(fault, **options)
    person = Person(tmp_path, network.services.environment, children)
    result = person.register("--json")
    assert (result.status, result.out) == (69, ""), result
    assert result.error["code"].startswith("identityProvider")  # standard error holds only this
    network.heal()
    assert person.vault("users", "--json").json == []
    person.registered()


@pytest.mark.parametrize("fault", ["swallow", "cut-answer", "garble-body"])
def test_registering_when_the_token_answer_is_lost_stores_nothing(tmp_path, network, children, fault):
    network.set(fault, request=TOKEN, once=True)
    person = Person(tmp_path, network.services.environment, children)
    result = person.register()
    assert result.status == 69 and network.hits == 1, result
    assert person.vault("users", "--json").json == []
    person.registered()
    assert person.vault("login", password=PASSWORD).status == 0
