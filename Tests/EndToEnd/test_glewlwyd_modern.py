"""Pushed authorization requests and DPoP, with an independent provider."""

from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from support.glewlwyd import CLIENT
from support.oauth import claims
from support.desktop import desktop
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.waiting import wait_until


@pytest.fixture(params=["modern", "strict"])
def anna(request, tmp_path, glewlwyd, services, children):
    """A person who is registered at the instance "modern", or at the instance "strict", which demands all of it and
    nonces."""
    person = Person(tmp_path, services.environment | {
        "CREDENTIAL_VAULT_ISSUER": getattr(glewlwyd, request.param), "CREDENTIAL_VAULT_CLIENT_ID": CLIENT,
        "CREDENTIAL_VAULT_REDIRECT_URI": glewlwyd.redirect_uri}, children)
    person.addresses, person.strict = [], glewlwyd.strict

    def visit(url):
        person.addresses.append(url)
        return glewlwyd.visit(url)

    person.visit = visit
    return person.registered(visit=visit)


def token(person, *arguments):
    result = person.vault("token", "--json", *arguments, password=PASSWORD)
    assert result.status == 0, result
    return result.json


def is_pushed(url):
    query = parse_qs(urlsplit(url).query)
    if "request_uri" not in query:
        return False
    assert query.keys() == {"client_id", "request_uri"}
    return query["request_uri"][0].startswith("urn:ietf:params:oauth:request_uri:")


def test_the_browser_is_shown_nothing_of_the_request(anna, glewlwyd, tmp_path):
    shown = tmp_path / "shown"
    path = desktop(tmp_path / "bin", f'echo "$1" > "{shown}.part" && mv "{shown}.part" "{shown}"')
    program = anna.start("register", "--password-file", anna.password_file(), env={"PATH": path})
    wait_until(lambda: shown.exists(), "the browser")
    assert is_pushed(url := shown.read_text().strip())
    glewlwyd.visit(url)
    assert program.wait().status == 0


def test_an_address_that_a_person_copies_does_not_run_out(anna):
    (url,) = anna.addresses
    assert is_pushed(url) == (anna.settings["CREDENTIAL_VAULT_ISSUER"] == anna.strict), "unless the provider insists"


def test_tokens_are_bound_to_a_key_that_stays(anna):
    first = token(anna)
    assert first["token_type"] == "DPoP"
    key = claims(first["access_token"])["cnf"]
    for _ in range(6):  # more often than a nonce is valid
        assert anna.vault("login", password=PASSWORD).status == 0
    renewed = token(anna, "--refresh")
    assert renewed["access_token"] != first["access_token"]
    assert renewed["token_type"] == "DPoP" and claims(renewed["access_token"])["cnf"] == key
    # The token alone is useless.
    url = f"{anna.settings['CREDENTIAL_VAULT_ISSUER']}/userinfo"
    answer = requests.get(url, headers={"Authorization": f"Bearer {renewed['access_token']}"}, timeout=10)
    assert answer.status_code == 401


def test_the_rest_of_an_account_s_life(anna):
    new = anna.password_file(OTHER_PASSWORD, "new")
    assert anna.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert anna.vault("login", password=OTHER_PASSWORD).status == 0
    assert anna.vault("logout").status == 0
    assert anna.vault("login", password=OTHER_PASSWORD).status == 0
    # A second registration creates another key for the same account.
    before = claims(anna.vault("token", "--json", password=OTHER_PASSWORD).json["access_token"])
    anna.registered(visit=anna.visit, password=OTHER_PASSWORD)
    after = claims(anna.vault("token", "--json", password=OTHER_PASSWORD).json["access_token"])
    assert after["sub"] == before["sub"] and after["cnf"] != before["cnf"]
    assert len(anna.vault("users", "--json").json) == 1
    result = anna.vault("logout", "--everywhere", "--json", password=OTHER_PASSWORD)
    assert result.status == 0 and result.json["revoked"] is True, result
    assert anna.vault("login", password=OTHER_PASSWORD).status == 83
