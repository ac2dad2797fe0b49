"""The whole life of an account with an independent OpenID provider, whose login page runs in a real browser."""

from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from support.browser import Browser
from support.glewlwyd import CLIENT, LOGIN_PASSWORD, USER
from support.person import OTHER_PASSWORD, PASSWORD, URL, Person
from support.services import KeyService
from support.thief import use_a_token_twice


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    service = KeyService(tmp_path_factory.mktemp("keys"), "--base-path", "/auth/realms/demo")
    yield service
    service.kill()


@pytest.fixture
def anna(tmp_path, glewlwyd, keys, children):
    return Person(tmp_path, {
        "CREDENTIAL_VAULT_ISSUER": glewlwyd.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT,
        "CREDENTIAL_VAULT_KEY_SERVICE": keys.url, "CREDENTIAL_VAULT_REDIRECT_URI": glewlwyd.redirect_uri}, children)


def register(person, glewlwyd):
    """Registers in the browser. Returns vault's result and the browser's last page."""
    browser = person.keep(Browser(person.folder / f"profile-{len(person.children)}"))
    program = person.start("register", "--no-browser", "--redirect-uri", glewlwyd.redirect_uri,
                           "--password-file", person.password_file())
    browser.open(program.wait_for(URL, "err")[1])
    browser.log_in_at_glewlwyd(USER, LOGIN_PASSWORD)
    browser.click_until(("Continue", "Grant", "Save", "Allow"), lambda: program.process.poll() is not None)
    return program.wait(), browser


def test_an_account_from_registration_to_the_end(anna, glewlwyd):
    result, browser = register(anna, glewlwyd)
    assert result.status == 0, result
    # The page at the end.
    assert browser.driver.current_url.startswith(glewlwyd.redirect_uri)
    assert browser.title == "Signed in"
    assert "You are signed in. You can close this tab" in browser.text
    # Nothing listens on the port any more.
    with pytest.raises(requests.ConnectionError):
        requests.get(glewlwyd.redirect_uri, timeout=5)

    (user,) = anna.vault("users", "--json").json
    assert user["issuer"] == glewlwyd.issuer and user["email"] == "alice@example.test"

    # Login, token, refresh: each login rotates the refresh token.
    for _ in range(3):
        result = anna.vault("login", password=PASSWORD)
        assert result.status == 0, result
    token = anna.vault("token", password=PASSWORD).out.strip()
    answer = requests.get(f"{glewlwyd.issuer}/userinfo", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.status_code == 200 and answer.json()["email"] == "alice@example.test"
    assert anna.vault("token", password=PASSWORD).out.strip() == token
    assert anna.vault("token", "--refresh", password=PASSWORD).out.strip() != token

    # A new password, and a wrong one.
    new = anna.password_file(OTHER_PASSWORD, "new")
    assert anna.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert anna.vault("login", password=PASSWORD).status == 77
    assert anna.vault("login", password=OTHER_PASSWORD).status == 0

    # Log out, and log in again.
    assert anna.vault("logout").status == 0
    assert anna.vault("login", password=OTHER_PASSWORD).status == 0
    result = anna.vault("logout", "--everywhere", password=OTHER_PASSWORD)
    assert result.status == 0, result
    # Glewlwyd lets no public client use its revocation endpoint. It has its own grant type instead.
    assert "revoked the refresh token of this machine" in result.out, result
    assert anna.vault("login", password=OTHER_PASSWORD).status == 83

    result = anna.vault("delete", "--yes")
    assert result.status == 0 and anna.vault("users", "--json").json == []


def test_a_token_that_was_used_twice_is_dead_and_registering_helps(anna, glewlwyd):
    assert register(anna, glewlwyd)[0].status == 0
    # Glewlwyd answers the second use with 400 without a body, and revokes all tokens.
    use_a_token_twice(anna)
    result, browser = register(anna, glewlwyd)
    assert result.status == 0 and browser.title == "Signed in"
    assert anna.vault("login", password=PASSWORD).status == 0
    assert len(anna.vault("users", "--json").json) == 1


def test_the_redirect_uri_may_be_a_setting(anna, glewlwyd):
    program = anna.start("register", "--no-browser", "--password-file", anna.password_file())
    query = parse_qs(urlsplit(program.wait_for(URL, "err")[1]).query)
    assert query["redirect_uri"] == [glewlwyd.redirect_uri]
