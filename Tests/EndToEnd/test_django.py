"""The whole life of an account with django-oauth-toolkit: opaque access tokens, a loopback redirect with any port, and
the provider's name in the redirect."""

import re

import pytest
import requests
from support.django_provider import CLIENT, DjangoProvider
from support.faults import FaultProxy
from support.person import OTHER_PASSWORD, PASSWORD, URL, Person
from support.thief import use_a_token_twice


@pytest.fixture
def settings(django, services):
    return services.environment | {"CREDENTIAL_VAULT_ISSUER": django.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT}


@pytest.fixture
def anna(tmp_path, django, settings, children):
    return Person(tmp_path, settings, children).registered(visit=django.visit)


def test_an_account_from_registration_to_the_end(anna, django):
    (user,) = anna.vault("users", "--json").json
    assert (user["issuer"], user["email"]) == (django.issuer, "alice@example.test")
    for _ in range(3):
        assert anna.vault("login", password=PASSWORD).status == 0
    token = anna.vault("token", password=PASSWORD).out.strip()
    assert re.fullmatch(r"\w{30}", token), "it is opaque"
    answer = requests.get(f"{django.issuer}/userinfo/", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.status_code == 200 and answer.json()["email"] == "alice@example.test"
    assert anna.vault("token", password=PASSWORD).out.strip() == token
    assert anna.vault("token", "--refresh", password=PASSWORD).out.strip() != token

    new = anna.password_file(OTHER_PASSWORD, "new")
    assert anna.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 77
    assert anna.vault("logout").status == 0
    assert anna.vault("login", password=OTHER_PASSWORD).status == 0
    assert anna.vault("delete", "--yes").status == 0
    assert anna.vault("users", "--json").json == []


@pytest.mark.parametrize("command", [["logout", "--everywhere"], ["delete", "--yes"]], ids=" ".join)
def test_revocation(anna, django, command):
    """The provider's revocation endpoint is in the OAuth metadata only."""
    before = django.live_refresh_tokens()
    result = anna.vault(*command, "--json", password=PASSWORD)
    assert result.status == 0 and result.json["revoked"] is True, result
    assert django.live_refresh_tokens() == before - 1
    assert anna.vault("login", password=PASSWORD).status == (83 if command[0] == "logout" else 66)


def test_two_accounts_of_one_provider(anna, django):
    anna.registered(user="bob", visit=lambda url: django.visit(url, user="bob"))
    assert len(anna.vault("users", "--json").json) == 2
    for user in ("alice", "bob"):
        assert anna.vault("login", "--user", f"{user}@example.test", password=PASSWORD).status == 0


def test_every_login_rotates_and_reuse_is_noticed(anna, django):
    use_a_token_twice(anna)
    anna.registered(visit=django.visit)
    assert anna.vault("login", password=PASSWORD).status == 0


def test_any_port_of_the_redirect(tmp_path, django, settings, children):
    """The provider knows the client's redirect without a port."""
    person = Person(tmp_path, settings, children)
    ports = set()

    def visit(url):
        ports.add(re.search(r"redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)%2Fcallback", url)[1])
        assert f"iss={requests.utils.quote(django.issuer, safe='')}" in django.callback(url)
        django.visit(url)

    person.registered(visit=visit)
    person.registered(visit=visit)
    assert len(ports) == 2


def behind_a_proxy(tmp_path, settings, children, *options):
    proxy = FaultProxy()
    children.append(proxy)
    provider = DjangoProvider(tmp_path / "django", "--issuer", f"http://{proxy.address}", *options)
    children.append(provider)
    proxy.target = provider.port
    person = Person(tmp_path, settings | {"CREDENTIAL_VAULT_ISSUER": f"http://{proxy.address}"}, children)
    person.registered(visit=provider.visit)
    return proxy, person


def test_an_answer_that_is_lost_is_reported_as_an_interruption(tmp_path, settings, children):
    proxy, person = behind_a_proxy(tmp_path, settings, children)
    proxy.set("swallow", request=b"POST /token/", once=True)
    assert person.vault("token", "--refresh", password=PASSWORD).status == 69
    assert proxy.hits == 1
    result = person.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (81, "refreshInterrupted"), result


def test_a_provider_that_makes_good_what_the_network_lost(tmp_path, settings, children):
    """For a minute, the provider still accepts a rotated token, and gives the same answer as the first time."""
    proxy, person = behind_a_proxy(tmp_path, settings, children, "--grace", 60)
    proxy.set("swallow", request=b"POST /token/", once=True)
    assert person.vault("token", "--refresh", password=PASSWORD).status == 69
    assert proxy.hits == 1
    # Only the ID token differs: it belongs to another access token than the one in the answer, so it is refused.
    result = person.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (1, "tokenInvalid"), result
    assert "at_hash" in result.error["message"]
    # The refresh token was kept.
    assert "refresh_interrupted_at" not in person.vault("status", "--json").json
    assert person.vault("login", password=PASSWORD).status == 0


def test_saying_no_at_the_provider(tmp_path, django, settings, children):
    person = Person(tmp_path, settings, children)
    result = person.register(visit=lambda url: django.visit(url, deny=True))
    # The provider announces RFC 9207, but leaves its name out of an error.
    assert result.status == 82 and "denied" in result.err, result
    assert person.vault("users", "--json").json == []
