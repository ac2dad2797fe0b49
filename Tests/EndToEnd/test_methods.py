"""The commands' output and changes for methods, bound tokens, the person's claims, and the provider's logout."""

import re
import subprocess

import pytest
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.programs import run
from support.services import DevelopmentServices
from support.waiting import after_the_pause


@pytest.fixture(scope="module")
def binding(tmp_path_factory):
    """A provider that binds tokens to a key, and demands nonces."""
    services = DevelopmentServices(
        tmp_path_factory.mktemp("binding"), "--dpop", "offered", "--dpop-nonce", "--par", "required")
    yield services
    services.kill()


@pytest.fixture
def bound(binding, tmp_path, children):
    return Person(tmp_path, binding.environment, children).registered()


def curl(url, fields):
    """Runs curl as a person would, with the header fields on standard input."""
    done = subprocess.run(
        ["curl", "-s", "-D", "-", "-o", "/dev/null", "-H", "@-", url], input=fields, capture_output=True, text=True)
    return int(done.stdout.split()[1]), done.stdout


def test_status_and_users_show_the_method(alice):
    assert re.search(r"^Method: +openid-connect$", alice.vault("status").out, re.M)
    assert alice.vault("status", "--json").json["account"]["method"] == "openid-connect"
    header, row = alice.vault("users").out.splitlines()
    assert header.split() == ["USER", "E-MAIL", "METHOD", "SUBJECT", "ISSUER"] and row.split()[2] == "openid-connect"


def test_a_bound_token_is_no_use_alone_and_works_with_its_proof(bound, binding):
    url = f"{binding.issuer}/userinfo"
    token = bound.vault("token", "--json", password=PASSWORD).json
    assert token["token_type"] == "DPoP"
    assert curl(url, f"Authorization: Bearer {token['access_token']}\n")[0] == 401
    status, answer = curl(url, bound.vault("token", "--proof", f"GET {url}", password=PASSWORD).out)
    nonce = re.search(r"^dpop-nonce: (\S+)", answer, re.M | re.I)
    assert status == 401 and nonce, "it wants a nonce first"
    proven = bound.vault("token", "--proof", f"GET {url}", "--nonce", nonce[1], password=PASSWORD)
    assert proven.status == 0 and proven.out.count("\n") == 2
    odd = bound.vault("token", "--proof", f"GET {url}", "--nonce", "-begins-with-a-hyphen", password=PASSWORD)
    assert odd.status == 0, odd
    assert curl(url, proven.out)[0] == 200
    as_json = bound.vault("token", "--json", "--proof", f"GET {url}", "--nonce", nonce[1], password=PASSWORD).json
    fields = f"Authorization: DPoP {as_json['access_token']}\nDPoP: {as_json['dpop']}\n"
    assert curl(url, fields)[0] == 200
    assert curl(url, fields)[0] == 401, "a proof counts once"


def test_a_bound_account_is_renewed(bound):
    first = bound.vault("token", password=PASSWORD).out
    assert bound.vault("login", password=PASSWORD).status == 0
    assert bound.vault("token", password=PASSWORD).out != first
    assert bound.vault("userinfo", password=PASSWORD).status == 0


def test_a_person_is_told_that_the_token_is_bound(bound):
    terminal = bound.terminal(shell='exec "$VAULT" token >/dev/null')
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("--proof")
    assert terminal.end() == 0
    assert bound.vault("token", password=PASSWORD).err == ""


@pytest.mark.parametrize("how", ["option", "setting"])
def test_binding_can_be_switched_off(binding, tmp_path, children, how):
    person = Person(tmp_path, binding.environment, children)
    if how == "setting":
        assert person.vault("config", "set", "dpop", "off").status == 0
    person.registered(*(["--no-dpop"] if how == "option" else []))
    assert person.vault("token", "--json", password=PASSWORD).json["token_type"] == "Bearer"


def test_a_proof_for_a_token_that_is_not_bound_is_none(alice, services):
    url = f"{services.issuer}/userinfo"
    result = alice.vault("token", "--proof", f"get {url}", password=PASSWORD)
    assert re.fullmatch(r"Authorization: Bearer \S+\n", result.out)
    assert curl(url, result.out)[0] == 200


@pytest.mark.parametrize("proof", [
    "GET", "https://api.example.com/", "GET nonsense", "GET file:///etc/passwd", "G T https://x/"])
def test_a_request_that_is_none_is_refused(alice, proof):
    assert alice.vault("token", "--proof", proof, password=PASSWORD).status == 64
    assert alice.vault("token", "--nonce", "n", password=PASSWORD).status == 64


def test_userinfo_prints_what_the_provider_says(alice):
    result = alice.vault("userinfo", password=PASSWORD)
    assert result.status == 0
    lines = dict(line.split(": ", 1) for line in result.out.splitlines())
    assert lines["email"] == "alice@example.com" and lines["email_verified"] == "true"
    claims = alice.vault("userinfo", "--json", password=PASSWORD).json
    assert claims["sub"] == lines["sub"] and claims["email_verified"] is True
    assert alice.vault("userinfo", password=OTHER_PASSWORD).status == 77


def test_logout_in_the_browser(alice, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/opened"\n')
    (folder / "xdg-open").chmod(0o755)
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    assert alice.vault("logout", "--browser", password=OTHER_PASSWORD, env=path).status == 77
    assert not (tmp_path / "opened").exists()
    result = alice.vault("logout", "--browser", password=PASSWORD, env=path)
    assert result.status == 0 and result.out.startswith("Logged out alice.")
    url = (tmp_path / "opened").read_text()
    assert "id_token_hint=ey" in url and "id_token_hint" not in result.out + result.err
    assert run(["curl", "-sf", url]).status == 0
    assert not alice.vault("status", "--json").json["has_access_token"]
    assert alice.vault("login", password=PASSWORD).status == 0


def test_logout_in_a_browser_elsewhere(alice, services):
    result = alice.vault("logout", "--everywhere", "--browser", "--no-browser", "--json", password=PASSWORD)
    assert result.status == 0 and result.json["revoked"] is True
    assert re.fullmatch(re.escape(services.issuer) + r"/\S*id_token_hint=\S+\n", result.err)
    assert alice.vault("logout", "--no-browser", password=PASSWORD).status == 64


def test_a_provider_without_a_logout_of_its_own(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--no-end-session"))
    alice = Person(tmp_path, services.environment, children).registered()
    result = alice.vault("logout", "--browser", password=PASSWORD)
    assert result.status == 78 and "logging out in the browser" in result.err
    assert not alice.vault("status", "--json").json["has_access_token"], "here nothing is open any more"


def test_the_settings_of_the_ways_in_are_checked(person):
    for name, wrong, right in [("method", "telepathy", "device"), ("dpop", "maybe", "off")]:
        result = person.vault("config", "set", name, wrong)
        assert result.status == 78 and wrong in result.err
        assert person.vault("config", "set", name, right).status == 0
        assert person.vault("config", "get", name).out == f"{right}\n"
        variable = f"CREDENTIAL_VAULT_{name.upper()}"
        result = person.vault("register", password=PASSWORD, env={variable: wrong})
        assert result.status == 78 and wrong in result.err


@pytest.mark.parametrize("options", [
    ["--device", "--method", "browser"], ["--device", "--paste"], ["--method", "password", "--paste"],
    ["--method", "browser", "--username", "x"], ["--device", "--login-password-file", "x"], ["--method", "telepathy"],
    ["--method", "password", "--login-password-file", "-"], ["--method", "password", "--code-file", "-"],
    ["--device", "--code-file", "x"], ["--method", "password", "--code-file", "x", "--code-fd", "0"],
])
def test_options_that_make_no_sense_together(person, options):
    assert person.vault("register", *options, password=PASSWORD).status == 64


def test_the_password_grant_when_it_is_asked_for(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--password-grant"))
    person = Person(tmp_path, services.environment, children)

    def register(user, login_password):
        file = person.password_file(login_password, f"login-{user}")
        options = ("--method", "password-grant", "--username", user, "--login-password-file", file)
        return after_the_pause(lambda: person.vault("register", *options, password=PASSWORD))
    assert register("alice", "not-the-password").status == 77
    assert register("bob", "bob-password").status == 0
    assert [user["method"] for user in person.vault("users", "--json").json] == ["openid-connect"]
    assert person.vault("login", password=PASSWORD).status == 0


def test_a_provider_without_the_password_grant(person):
    file = person.password_file("alice-password", "login")
    options = ("--method", "password-grant", "--username", "alice", "--login-password-file", file)
    assert person.vault("register", *options, password=PASSWORD).status == 78
