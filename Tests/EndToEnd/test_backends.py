"""Signing in at backends without OpenID Connect."""

import json
import os
import re
import signal
import socket
from urllib.parse import urlsplit

import pytest
from support.agent import agent_process
from support.faults import FaultProxy
from support.pages import api_token_of, redirect_of
from support.person import PASSWORD, URL, Person
from support.programs import VAULT, VAULT_DEV, run
from support.raw_server import RawServer, json_answer
from support.services import DevelopmentServices
from support.waiting import after_the_pause, wait_until
from test_setup import desktop, doctor  # noqa: F401 (desktop is a fixture)


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    services = DevelopmentServices(
        tmp_path_factory.mktemp("backend"), "--backend", "--backend-redirect-uri", "myapp://cb")
    yield services
    services.kill()


def at_backend(services, folder, children):
    folder.mkdir(exist_ok=True)
    settings = dict(services.environment)
    settings["CREDENTIAL_VAULT_ISSUER"] = settings.pop("CREDENTIAL_VAULT_DEV_BACKEND")
    del settings["CREDENTIAL_VAULT_CLIENT_ID"]
    return Person(folder, settings, children)


@pytest.fixture
def person(services, tmp_path, children):
    return at_backend(services, tmp_path, children)


def with_password(person, way, user="alice@example.com", login_password="alice-password", *options, **more):
    file = person.password_file(login_password, "login-password")
    options = ("--method", way, "--username", user, "--login-password-file", file, *options)
    return after_the_pause(lambda: person.vault("register", *options, password=PASSWORD, **more))


def with_page(person, **more):
    """The person, with the address of a page about vault, which the server wants of each client."""
    layout = person.folder / "page.json"
    server = {"clientDetails": {"client_uri": "https://apps.example.com/vault"}, **more}
    layout.write_text(json.dumps({"server": server}))
    person.settings["CREDENTIAL_VAULT_BACKEND_FILE"] = str(layout)
    return person


def only(person):
    (user,) = person.vault("users", "--json").json
    return user


def old_server(folder, *options):
    return DevelopmentServices(folder, "--backend", "--backend-without-oauth", *options)


# In the browser


@pytest.mark.parametrize("way, method", [("backend", "backend"), ("server", "server-oauth")])
def test_in_the_browser(person, way, method):
    with_page(person).registered("--method", way)
    assert only(person)["method"] == method and only(person)["issuer"] == person.settings["CREDENTIAL_VAULT_ISSUER"]
    assert re.search(rf"^Method: +{method}$", person.vault("status").out, re.M)
    assert person.vault("login", password=PASSWORD).status == 0
    token = person.vault("token", password=PASSWORD).out.strip()
    items = run(["curl", "-sf", "-H", f"Authorization: Bearer {token}", f"{only(person)['issuer']}/api/items"])
    assert items.status == 0
    claims = person.vault("userinfo", "--json", password=PASSWORD).json
    assert claims["email"] == "alice@example.com" and claims["username"] == "alice"
    result = person.vault("logout", "--everywhere", "--json", password=PASSWORD)
    assert (result.status, result.json["revoked"]) == (0, True), result
    assert status_of_token(person, token) == "401"


def test_a_backend_with_a_scheme_of_its_own_and_pasting(person):
    terminal = person.terminal("register", "--method", "backend", "--paste", "--redirect-uri", "myapp://cb")
    terminal.expect("Address: ")
    url = re.search(r"^(http://\S+/auth/login\S+)\r$", terminal.shown, re.M)[1]
    terminal.type(redirect_of(url))
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert only(person)["method"] == "backend"


def test_where_there_is_no_browser_the_address_is_printed(person):
    program = person.start(
        "register", "--method", "backend", "--password-file", person.password_file(),
        env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": "/usr/bin:/bin"})
    url = program.wait_for(URL, "err")[1]
    assert "--paste" in program.err
    assert run([VAULT_DEV, "browse", url]).status == 0 and program.wait().status == 0


# With e-mail address and password


def test_with_a_password(person):
    result = with_password(person, "password")
    assert result.status == 0, result
    assert only(person)["method"] == "password-backend" and only(person)["email"] == "alice@example.com"
    first = person.vault("token", password=PASSWORD).out
    assert person.vault("login", password=PASSWORD).status == 0
    assert person.vault("token", password=PASSWORD).out != first
    assert "email: alice@example.com\n" in person.vault("userinfo", password=PASSWORD).out
    assert person.vault("logout", "--everywhere", password=PASSWORD).status == 0


@pytest.mark.parametrize("user, login_password, status, remark", [
    ("alice@example.com", "wrong-password", 77, "wrong"), ("   ", "alice-password", 77, "blanks"),
    ("alice@example.com", "      ", 77, "blanks"), ("alice@example.com", "short", 77, "too short"),
])
def test_what_is_wrong_with_it_is_said(person, user, login_password, status, remark):
    result = with_password(person, "password", user, login_password)
    assert result.status == status and remark in result.err
    assert person.vault("users", "--json").json == []


def test_the_terminal_asks_for_both_passwords(person):
    terminal = person.terminal("register", "--method", "password")
    terminal.expect("E-mail address at ")
    terminal.type("alice@example.com")
    terminal.expect("Password of alice@example.com at ")
    assert not terminal.echoes
    terminal.type("alice-password")
    for prompt in ("New password for this vault", "again: "):
        terminal.expect(prompt)
        assert not terminal.echoes
        terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "alice-password" not in terminal.shown and PASSWORD not in terminal.shown
    assert person.vault("login", password=PASSWORD).status == 0


def test_a_wrong_password_is_asked_for_again_and_too_many_have_to_wait(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--backend"))
    person = at_backend(services, tmp_path / "person", children)
    terminal = person.terminal("register", "--method", "password", "--username", "bob@example.com")
    for _ in range(5):
        terminal.expect("Password of bob@example.com at ")
        terminal.type("not-bobs-password")
        terminal.expect("is wrong. Once more:")
    terminal.expect("Password of bob@example.com at ")
    terminal.type("bob-password")
    terminal.expect("Too many attempts. Try again in ")
    terminal.expect("Time left: 0:")
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode
    # The pause survives restarts, and a script gets the remaining time.
    options = ("--username", "bob@example.com", "--login-password-file", person.password_file("bob-password", "bobs"))
    result = person.vault("register", "--method", "password", *options, "--json", password=PASSWORD)
    assert result.status == 75
    assert result.error["code"] == "tooManyAttempts" and 1 <= result.error["retry_after"] <= 30


def test_without_a_terminal_it_says_what_to_give(person):
    result = person.vault("register", "--method", "password", password=PASSWORD)
    assert result.status == 78 and "--login-password-file" in result.err and "--username" in result.err


@pytest.fixture
def guarded(tmp_path, children):
    """A person at a backend that wants a code beside the password."""
    children.append(services := DevelopmentServices(tmp_path, "--backend", "--backend-code", "123456"))
    return at_backend(services, tmp_path / "person", children)


def test_the_code_of_a_second_factor_is_typed(guarded):
    terminal = guarded.terminal("register", "--method", "password", "--username", "alice@example.com")
    terminal.expect("Password of alice@example.com at ")
    terminal.type("alice-password")
    question = "Code for alice@example.com at "
    # Nothing comes between the error and the question, so that nobody types a code while nothing asks for it.
    for before, code in [("", "654321"), ("The code is wrong or has expired. Once more:\r\n", "123 456")]:
        terminal.expect("Enter the code of your app.\r\n" + before + question)
        assert not terminal.echoes
        terminal.type(code)
    terminal.expect("New password for this vault")
    terminal.type(PASSWORD)
    terminal.expect("again: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0 and "654321" not in terminal.shown and "123 456" not in terminal.shown
    assert only(guarded)["email"] == "alice@example.com"
    assert guarded.vault("login", password=PASSWORD).status == 0


def test_a_script_gives_the_code_of_a_second_factor(guarded):
    result = with_password(guarded, "password")
    assert result.status == 78 and "--code-file" in result.err, result
    options = ("--code-file", guarded.password_file("654321", "code"))
    wrong = with_password(guarded, "password", "alice@example.com", "alice-password", *options)
    assert wrong.status == 77 and "The code is wrong" in wrong.err and "654321" not in wrong.err, wrong
    login = guarded.password_file("alice-password", "login-password")
    options = ("--username", "alice@example.com", "--login-password-file", login, "--code-file", "-")
    command = [VAULT, "register", "--method", "password", *options, "--password-file", guarded.password_file()]
    result = after_the_pause(lambda: run(command, guarded.environment(), "123456\n"))
    assert result.status == 0, result
    assert only(guarded)["method"] == "password-backend"


# At a server that announces its methods


def test_when_the_server_wants_a_page_about_vault_then_vault_says_where_to_write_it(person):
    result = person.vault("register", "--method", "server", "--no-browser", password=PASSWORD)
    assert result.status == 78 and "invalid_client_metadata" in result.err, result
    assert '"client_uri"' in result.err and "vault config set backend-file" in result.err, result
    assert "--method token" not in result.err and "--username" not in result.err, result


def test_every_sign_in_at_a_server_works_also_after_a_no(person):
    with_page(person).registered("--method", "server")
    clients = {only(person)["client_id"]}
    # The server forgot the client after its token, and forgets another one after a no.
    result = person.register("--method", "server", deny=True)
    assert result.status == 82, result
    person.registered("--method", "server")
    clients.add(only(person)["client_id"])
    assert len(clients) == 2
    assert person.vault("login", password=PASSWORD).status == 0


def test_when_oauth_does_not_work_then_vault_says_to_make_a_token(person):
    result = with_page(person, scopes=["unknown"]).register("--method", "server")
    assert result.status == 78 and "invalid_scope" in result.err, result
    assert "vault register --method token" in result.err and "--username" not in result.err, result


def test_a_code_on_another_device_signs_in_at_a_server(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--backend", "--device-interval", "1"))
    person = with_page(at_backend(services, tmp_path / "person", children))
    person.settings["CREDENTIAL_VAULT_METHOD"] = "server"
    program = person.start("register", "--device", "--password-file", person.password_file())
    address = program.wait_for(re.compile(r"^(http://\S+/device)$", re.M), "err")[1]
    code = program.wait_for(re.compile(r"^([A-Z]{8})$", re.M), "err")[1]
    assert run([VAULT_DEV, "browse", address, "--user-code", code]).status == 0
    assert program.wait().status == 0
    assert only(person)["method"] == "server-oauth"
    assert person.vault("login", password=PASSWORD).status == 0


def test_an_api_token_from_a_page_registers_the_account(person):
    token = api_token_of(person)
    file = person.password_file(token, "token")
    result = person.vault("register", "--method", "token", "--login-password-file", file, password=PASSWORD)
    assert result.status == 0 and token not in result.out + result.err, result
    assert only(person)["method"] == "server-token" and only(person)["email"] == "alice@example.com"
    assert person.vault("login", password=PASSWORD).status == 0
    assert person.vault("token", password=PASSWORD).out == f"{token}\n"


def test_an_api_token_is_typed_without_echo_and_again_if_it_is_wrong(person):
    token = api_token_of(person)
    terminal = person.terminal("register", "--method", "token")
    for prompt, answer in [
        ("API token for ", "not-a-token"), ("The server does not accept this API token. Once more:", None),
        ("API token for ", token), ("New password for this vault", PASSWORD), ("again: ", PASSWORD),
    ]:
        terminal.expect(prompt)
        if answer:
            assert not terminal.echoes
            terminal.type(answer)
    assert terminal.end() == 0
    assert token not in terminal.shown and "not-a-token" not in terminal.shown
    assert only(person)["method"] == "server-token"


@pytest.mark.parametrize("options, status, remark", [
    ((), 78, "--login-password-file"), (("--username", "alice"), 64, "--username is not for --method token"),
    (("--login-password-file", "wrong"), 77, "does not accept this API token"),
    (("--login-password-file", "blank"), 77, "has a character that no token has"),
])
def test_an_api_token_that_cannot_be_used(person, options, status, remark):
    for name, text in (("wrong", "not-a-token"), ("blank", "not a token")):
        options = tuple(person.password_file(text, name) if option == name else option for option in options)
    result = person.vault("register", "--method", "token", *options, password=PASSWORD)
    assert result.status == status and remark in result.err, result
    assert "not-a-token" not in result.err and person.vault("users", "--json").json == []


def test_a_server_that_says_nothing_gets_the_password_after_a_warning(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--backend", "--backend-without-info"))
    person = at_backend(services, tmp_path / "person", children)
    result = with_password(person, "server", "alice")
    assert result.status == 0 and "check the address" in result.err, result
    assert only(person)["method"] == "server-token"
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"server": {"info": ""}}))
    result = with_password(person, "server", "alice", env={"CREDENTIAL_VAULT_BACKEND_FILE": str(layout)})
    assert result.status == 0 and "This server has no OAuth." in result.err, result
    person.settings["CREDENTIAL_VAULT_ISSUER"] += "/nothing"
    result = with_password(person, "server", "alice")
    assert result.status == 78 and "Check the address of the server." in result.err, result


def test_an_older_server_gets_user_name_and_password(tmp_path, children):
    children.append(services := old_server(tmp_path))
    person = at_backend(services, tmp_path / "person", children)
    terminal = person.terminal("register", "--method", "server")
    terminal.expect("This server has no OAuth.")
    for prompt, answer in [
        ("User name at ", "alice"), ("Password of alice at ", "not the password"), ("is wrong. Once more:", None),
        ("User name at ", "alice"), ("Password of alice at ", "alice-password"),
        ("New password for this vault", PASSWORD), ("again: ", PASSWORD),
    ]:
        terminal.expect(prompt)
        if answer:
            terminal.type(answer)
    assert terminal.end() == 0
    assert only(person)["method"] == "server-token"
    assert person.vault("token", password=PASSWORD).status == 0
    result = person.vault("register", "--method", "server", password=PASSWORD)
    assert result.status == 78 and "--login-password-file" in result.err


def test_when_a_token_has_no_expiry_then_none_is_shown(tmp_path, children):
    children.append(services := old_server(tmp_path))
    person = at_backend(services, tmp_path / "person", children)
    assert with_password(person, "server", "alice").status == 0
    result = person.vault("login", password=PASSWORD)
    assert result.out == "Signed in as alice. The access token has no known expiry.\n", result
    for command in ("login", "token"):
        assert "expires_at" not in person.vault(command, "--json", password=PASSWORD).json
    status = person.vault("status", "--json").json
    assert status["has_access_token"] and "access_token_expires_at" not in status
    assert "Access token:   stored, sealed; no expiry known\n" in person.vault("status").out


@pytest.fixture
def profile(person, children):
    """The profile of a person with an API token. A test may change it, or empty it to end the token. With a member
    `proxy`, a proxy in front of the server refuses everything."""
    profile = {"id": "7", "username": "alice", "email": "alice@example.com"}

    def answer(head):
        path = head.split(b" ")[1]
        if path == b"/api/info":
            return json_answer({"features": []})
        if path == b"/api/auth":
            return json_answer({"id": "1", "token": "an-api-token"}, "201 Created")
        if "proxy" in profile:
            return b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
        return json_answer({"user": profile}) if profile else json_answer({"message": "Unauthorized"}, "401 Unauthorized")

    children.append(server := RawServer(answer))
    person.settings["CREDENTIAL_VAULT_ISSUER"] = server.url
    assert with_password(person, "server", "alice", "alice-password", "--alias", "team").status == 0
    return profile


def test_when_the_server_renames_the_person_then_users_shows_it(person, profile):
    assert only(person)["email"] == "alice@example.com"
    profile |= {"username": "alice.brown", "email": "brown@example.com"}
    assert person.vault("login", password=PASSWORD).status == 0
    assert only(person)["email"] == "brown@example.com" and only(person)["preferred_username"] == "alice.brown"
    assert only(person)["alias"] == "team"
    assert "E-mail:         brown@example.com\n" in person.vault("status", "--user", "brown@example.com").out


def test_when_the_server_ends_the_token_then_no_password_is_asked(person, profile):
    profile.clear()
    assert person.vault("login", password=PASSWORD).status == 81
    assert only(person)["refused_at"]
    result = person.vault("login")
    # An API token is no refresh token.
    assert result.status == 81 and "The login of team has expired or was revoked" in result.err, result


def test_when_a_proxy_refuses_the_token_then_the_next_login_works(person, profile):
    profile["proxy"] = True
    assert person.vault("login", password=PASSWORD).status == 81
    assert "refused_at" not in only(person)
    del profile["proxy"]
    assert person.vault("login", password=PASSWORD).status == 0


def test_a_new_vault_key_says_that_an_api_token_still_works(tmp_path, children):
    children.append(services := old_server(tmp_path))
    person = at_backend(services, tmp_path / "person", children)
    assert with_password(person, "server", "alice").status == 0
    result = person.vault("rekey", password=PASSWORD)
    assert result.status == 0 and "Register again: the old token still works. Type: vault register" in result.err, result


def test_an_account_with_an_api_token_can_switch(tmp_path, children):
    services = old_server(tmp_path)
    person = with_page(at_backend(services, tmp_path / "person", children))
    assert with_password(person, "server", "alice").status == 0
    before = only(person)
    services.kill()
    children.append(services := DevelopmentServices(tmp_path, "--backend"))  # the same server, now with OAuth
    assert services.environment["CREDENTIAL_VAULT_DEV_BACKEND"] == person.settings["CREDENTIAL_VAULT_ISSUER"]

    def advice():
        checks = person.vault("doctor", "--json").json
        return [check["advice"] for check in checks if check["name"] == "API token"]

    assert advice() == ["To use OAuth: vault account switch-method --user alice"]

    def switch(user, *options):
        program = person.start(
            "account", "switch-method", "--user", "alice", "--no-browser", "--password-file", person.password_file(),
            *options)
        wait_until(lambda: URL.search(program.err) or program.process.poll() is not None, "the address to open")
        if match := URL.search(program.err):
            run([VAULT_DEV, "browse", match[1], "--user", user])
        return program.wait()

    assert person.vault(
        "account", "switch-method", "--no-browser", password="not the password").status == 77
    other = switch("bob")
    assert other.status == 1 and "Another person" in other.err and only(person) == before
    result = switch("alice", "--json")
    assert result.status == 0, result
    assert result.json["account"]["method"] == "server-oauth"
    assert only(person) == before | {"method": "server-oauth", "client_id": only(person)["client_id"]}
    assert person.vault("login", password=PASSWORD).status == 0
    assert "Nothing was changed." in switch("alice").err
    assert advice() == []
    # This server takes no passwords.
    result = person.vault(
        "account", "switch-method", "--to", "api-token", "--username", "alice", "--login-password-file",
        person.password_file("alice-password", "login-password"), password=PASSWORD)
    assert result.status == 78 and "vault register --method token" in result.err, result
    assert only(person)["method"] == "server-oauth"


def test_when_all_is_well_then_doctor_still_says_what_it_recommends(tmp_path, children, desktop):  # noqa: F811
    services = old_server(tmp_path)
    person = at_backend(services, tmp_path / "person", children)
    assert with_password(person, "server", "alice").status == 0
    person.settings |= desktop
    status, shown = doctor(person, NO_COLOR="1")
    assert status == 0 and len(shown) == 1 and shown[0].startswith("ok   All "), shown
    services.kill()
    children.append(DevelopmentServices(tmp_path, "--backend"))  # the same server, now with OAuth
    status, shown = doctor(person, NO_COLOR="1")
    assert status == 0 and len(shown) == 3 and shown[0].startswith("ok   All "), shown
    assert shown[1].startswith("ok   API token ") and "signs in with an API token" in shown[1], shown
    assert shown[2].strip() == "→ To use OAuth: vault account switch-method --user alice", shown


def test_an_account_can_go_back_to_an_api_token(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--backend", "--backend-lenient"))
    person = at_backend(services, tmp_path / "person", children)
    person.registered("--method", "server")
    result = person.vault(
        "account", "switch-method", "--to", "api-token", "--username", "alice", "--login-password-file",
        person.password_file("alice-password", "login-password"), password=PASSWORD)
    assert result.status == 0 and "signs in with an API token from now on" in result.out, result
    assert only(person)["method"] == "server-token"
    assert person.vault("login", password=PASSWORD).status == 0


# On the local network


@pytest.fixture
def neighbour(tmp_path, children):
    """A person, and a server with the name of a local network. The name leads to this machine, but nobody can see that
    from it."""
    children.append(services := old_server(tmp_path))
    person = at_backend(services, tmp_path / "person", children)
    name = socket.gethostname().split(".")[0]
    children.append(proxy := FaultProxy(socket.gethostbyname(name)))
    proxy.target = urlsplit(person.settings["CREDENTIAL_VAULT_ISSUER"]).port
    person.settings["CREDENTIAL_VAULT_ISSUER"] = f"http://{name}:{proxy.port}"
    return person, proxy


def test_plain_http_on_the_local_network_needs_a_yes(neighbour):
    person, proxy = neighbour
    refused = with_password(person, "server", "alice")
    assert refused.status == 78 and "vault register --insecure-http" in refused.err, refused
    assert not proxy.sent
    result = with_password(person, "server", "alice", "alice-password", "--insecure-http")
    assert result.status == 0 and "INSECURE" in result.err and "not encrypted" in result.err, result
    # The account keeps the yes.
    assert person.vault("login", password=PASSWORD).status == 0
    assert re.search("^Connection: +plain http: not encrypted$", person.vault("status").out, re.M)
    assert only(person)["insecure_http"] is True
    checks = {check["name"]: check for check in person.vault(
        "doctor", "--json", env={"CREDENTIAL_VAULT_METHOD": "server"}).json}
    assert checks["issuer"]["outcome"] == "warn" and "not encrypted" in checks["issuer"]["finding"]


def test_plain_http_is_never_for_a_public_server_or_a_key_service(neighbour):
    person, proxy = neighbour
    yes = ("server", "alice", "alice-password", "--insecure-http")
    result = with_password(person, *yes, "--issuer", "http://example.com")
    assert result.status == 78 and "needs https" in result.err, result
    # An API token goes to the same address.
    words = ("--method", "server", "--issuer", "http://example.com", "--insecure-http", "--no-browser")
    result = person.vault("register", *words, password=PASSWORD)
    assert result.status == 78 and "needs https" in result.err and "API token" not in result.err, result
    result = with_password(person, *yes, "--key-service", person.settings["CREDENTIAL_VAULT_ISSUER"])
    assert result.status == 78 and "key service needs https" in result.err, result
    assert not proxy.sent
    assert person.vault("register", "--insecure-http", "--no-browser", password=PASSWORD).status == 64


# The layout


def test_other_paths_come_from_a_file(person, tmp_path):
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {"login": "/elsewhere/login"}}))
    assert person.vault("config", "set", "backend-file", layout).status == 0
    assert with_password(person, "password").status != 0
    layout.write_text(json.dumps({"password": {"login": "/auth/login"}}))
    assert with_password(person, "password", "bob@example.com", "bob-password").status == 0
    assert person.vault("login", password=PASSWORD).status == 0
    layout.write_text(json.dumps({"password": {"refresh": "/elsewhere/refresh"}}))
    assert person.vault("login", password=PASSWORD).status == 0, "the account keeps to the one that it was registered with"


def test_a_field_that_is_not_there_is_looked_for_in_the_backend_file(person, tmp_path):
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {"tokens": {"accessToken": "data.token"}}}))
    env = {"CREDENTIAL_VAULT_BACKEND_FILE": str(layout)}
    result = with_password(person, "password", env=env)
    assert result.status == 78 and "data.token" in result.err and "vault config set backend-file" in result.err, result
    layout.write_text(json.dumps({"password": {"tokens": {"accessToken": "access_token"}}}))
    assert with_password(person, "password", env=env).status == 0, "accessToken is another spelling"


@pytest.mark.parametrize("content, word", [
    (None, "cannot be read"), ("{", "JSON"), ('{"pasword": {}}', "pasword"), ('{"password": {"login": 1}}', "login"),
])
def test_a_layout_that_is_none(person, tmp_path, content, word):
    layout = tmp_path / "layout.json"
    if content is not None:
        layout.write_text(content)
    result = person.vault("config", "set", "backend-file", layout)
    assert result.status == 78 and word in result.err and str(layout) in result.err
    result = with_password(person, "password", env={"CREDENTIAL_VAULT_BACKEND_FILE": layout})
    assert result.status == 78 and word in result.err
    assert person.vault("users", env={"CREDENTIAL_VAULT_BACKEND_FILE": layout}).status == 0


# The names of the paths and fields


@pytest.fixture
def renamed(services, tmp_path, children):
    """A person with an account at a backend whose layout is in a file."""
    person = at_backend(services, tmp_path, children)
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {"refresh": "/auth/refresh?v=2"}}))
    person.settings["CREDENTIAL_VAULT_BACKEND_FILE"] = str(layout)
    assert with_password(person, "password").status == 0
    return person, layout


def stored_layout(person):
    return json.loads(person.sql("SELECT layout FROM account")[0][0])


def test_an_account_keeps_to_the_layout_that_it_was_registered_with(services, tmp_path, children):
    proxy = FaultProxy()
    children.append(proxy)
    person = at_backend(services, tmp_path, children)
    backend = urlsplit(person.settings["CREDENTIAL_VAULT_ISSUER"])
    proxy.target = backend.port
    person.settings["CREDENTIAL_VAULT_ISSUER"] = f"http://{proxy.address}"
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {"refresh": "/auth/refresh?v=2"}}))
    with_file = {"CREDENTIAL_VAULT_BACKEND_FILE": str(layout)}
    assert with_password(person, "password", env=with_file).status == 0
    for env in (with_file, {}, {"CREDENTIAL_VAULT_BACKEND_FILE": str(tmp_path / "gone.json")}):
        assert person.vault("login", password=PASSWORD, env=env).status == 0
    sent = b"".join(bytes(sent) for sent in proxy.sent)
    assert sent.count(b"POST /auth/refresh?v=2 ") == 3 and sent.count(b"POST /auth/refresh ") == 0


def test_a_backend_file_that_is_gone_stops_only_what_needs_it(renamed):
    person, layout = renamed
    assert stored_layout(person)["password"]["refresh"] == "/auth/refresh?v=2"
    layout.unlink()
    for command in (["users"], ["status"], ["config", "get"], ["config", "path"]):
        assert person.vault(*command).status == 0, command
    assert person.vault("login", password=PASSWORD).status == 0
    result = with_password(person, "password", "bob@example.com", "bob-password")
    assert result.status == 78 and str(layout) in result.err
    # An older account has no layout. The command sends nothing, and the tokens stay valid.
    person.sql("UPDATE account SET layout = NULL, layout_checksum = NULL")
    result = person.vault("login", password=PASSWORD)
    assert result.status == 78 and str(layout) in result.err
    assert "refresh_interrupted_at" not in person.vault("status", "--json").json
    # Only a login tells the account how the backend spells this name.
    layout.write_text(json.dumps({"password": {"refreshToken": "refreshToken"}}))
    assert person.vault("login", password=PASSWORD).status == 0
    assert stored_layout(person)["password"]["refresh"] == "/auth/refresh"


def test_65_a_damaged_layout_stops_only_what_needs_it(renamed):
    person, _ = renamed
    person.sql("UPDATE account SET layout = CAST(replace(CAST(layout AS TEXT), 'auth', 'htua') AS BLOB)")
    result = person.vault("login", password=PASSWORD)
    assert result.status == 65 and "vault register" in result.err
    assert person.vault("users").status == 0 and person.vault("status").status == 0
    assert with_password(person, "password").status == 0
    assert person.vault("login", password=PASSWORD).status == 0
    person.sql("UPDATE account SET layout = x'00'")
    assert person.vault("delete", "--yes", password=PASSWORD).status == 0
    assert person.vault("users", "--json").json == []


# Services of a backend other than signing in


@pytest.fixture
def visitor(person, tmp_path):
    """A person at a backend whose layout names all the paths."""
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {
        "signUp": "/auth/sign-up", "forgotPassword": "/auth/forgot-password", "localLogout": "/auth/local-logout",
        "sessions": {}}}))
    person.settings["CREDENTIAL_VAULT_BACKEND_FILE"] = str(layout)
    return person


def status_of_token(person, token):
    url = f"{person.settings['CREDENTIAL_VAULT_ISSUER']}/api/items"
    return run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {token}", url]).out


def test_who_signs_up_can_register(visitor):
    eve = "eve@example.com"
    file = visitor.password_file("eves-password", "login-password")
    result = visitor.vault("backend", "sign-up", "--username", eve, "--login-password-file", file, "--name", "Eve")
    assert result.status == 0 and f"vault register --method password --username {eve}" in result.err, result
    assert with_password(visitor, "password", eve, "eves-password").status == 0
    assert only(visitor)["email"] == eve
    again = visitor.vault("backend", "sign-up", "--username", eve, "--login-password-file", file)
    assert again.status == 78 and "There is an account with this address." in again.err
    short = visitor.password_file("12345", "short-password")
    result = visitor.vault("backend", "sign-up", "--username", eve, "--login-password-file", short, "--json")
    assert result.status == 77 and result.error["code"] == "passwordUnusable"


def test_a_new_password_is_typed_twice(visitor):
    terminal = visitor.terminal("backend", "sign-up")

    def type_at(prompt, answer, echoes=False):
        terminal.expect(prompt)
        assert terminal.echoes == echoes
        terminal.type(answer)

    for answers, objection in [(["12345"], "is too short"), (["fays-password", "another"], "are not the same")]:
        type_at("E-mail address at ", "fay@example.com", echoes=True)
        for prompt, answer in zip(("Password of fay@example.com at ", "again: "), answers):
            type_at(prompt, answer)
        terminal.expect(objection)
    type_at("E-mail address at ", "fay@example.com", echoes=True)
    for prompt in ("Password of fay@example.com at ", "again: "):
        type_at(prompt, "fays-password")
    assert terminal.end() == 0 and "Signed up fay@example.com" in terminal.shown
    assert "fays-password" not in terminal.shown


def test_a_forgotten_password(visitor):
    known, unknown = (
        visitor.vault("backend", "forgot-password", "--username", name)
        for name in ("alice@example.com", "nobody@example.com"))
    assert known.status == unknown.status == 0
    assert known.out.replace("alice", "nobody") == unknown.out
    assert "it sends an e-mail" in known.err


def test_without_paths_nothing_is_asked(person):
    for command in ("sign-up", "forgot-password"):
        options = () if command == "forgot-password" else ("--login-password-file", person.password_file())
        result = person.vault("backend", command, "--username", "alice@example.com", *options)
        assert result.status == 78 and "backend file" in result.err, result
    assert with_password(person, "password").status == 0
    result = person.vault("backend", "sessions", password=PASSWORD)
    assert result.status == 78 and "backend file" in result.err


def test_sessions_are_listed_and_ended(visitor, services, children, tmp_path):
    bob = ("bob@example.com", "bob-password")
    other = at_backend(services, tmp_path / "other", children)
    assert with_password(other, "password", *bob).status == 0
    assert with_password(visitor, "password", *bob).status == 0
    sessions = visitor.vault("backend", "sessions", "--json", password=PASSWORD).json
    (mine,) = [session["id"] for session in sessions if session["current"]]
    assert sessions[-1]["id"] == mine and len(sessions) >= 2
    assert f"{mine}  A program" in visitor.vault("backend", "sessions", password=PASSWORD).out
    result = visitor.vault("backend", "sessions", "end", sessions[-2]["id"], password=PASSWORD)
    assert result.status == 0 and sessions[-2]["id"] in result.out
    assert other.vault("login", password=PASSWORD).status == 81
    assert visitor.vault("login", password=PASSWORD).status == 0
    result = visitor.vault("backend", "sessions", "end", "nothing", password=PASSWORD)
    assert result.status == 78 and "There is no such session." in result.err


def test_a_backend_is_told_of_a_logout(visitor):
    assert with_password(visitor, "password").status == 0
    token = visitor.vault("token", password=PASSWORD).out.strip()
    assert status_of_token(visitor, token) == "200"
    result = visitor.vault("logout", password=PASSWORD)
    assert result.status == 0 and result.err == "", result
    assert status_of_token(visitor, token) == "401"
    assert visitor.vault("login", password=PASSWORD).status == 0


def test_a_backend_that_cannot_be_told_holds_up_no_logout(tmp_path, children, visitor):
    children.append(services := DevelopmentServices(tmp_path, "--backend"))
    person = at_backend(services, tmp_path / "person", children)
    person.settings["CREDENTIAL_VAULT_BACKEND_FILE"] = visitor.settings["CREDENTIAL_VAULT_BACKEND_FILE"]
    assert with_password(person, "password").status == 0
    # Without a terminal, the command cannot ask for the password.
    result = person.vault("logout")
    assert result.status == 0 and "the backend was not told" in result.err, result
    assert not person.vault("status", "--json").json["has_access_token"]
    services.kill()
    result = person.vault("logout", "--json", password=PASSWORD)
    assert result.status == 0 and result.json["logged_out"] and result.json["reason"], result


@pytest.mark.parametrize("options", [(), ("--everywhere",)], ids=["here", "everywhere"])
def test_when_the_agent_hangs_then_vault_tells_the_server_of_a_logout(visitor, runtime, options):
    visitor.settings["XDG_RUNTIME_DIR"] = str(runtime)
    assert with_password(visitor, "password").status == 0
    token = visitor.vault("token").out.strip()
    assert status_of_token(visitor, token) == "200"
    process = agent_process(visitor)
    os.kill(process, signal.SIGSTOP)
    try:
        result = visitor.vault("logout", *options, password=PASSWORD)
        assert result.status == 75 and "does not answer" in result.err and "is still open" in result.err, result
        told = "revoked the refresh token" if options else "The backend was told."
        assert told in result.err and result.out == "", result
    finally:
        os.kill(process, signal.SIGCONT)
        visitor.vault("agent", "stop", "--force")
    if options:
        assert visitor.vault("login", "--no-agent", password=PASSWORD).status == 83
    else:
        assert status_of_token(visitor, token) == "401"


# doctor


@pytest.mark.parametrize("way", ["backend", "password", "server"])
def test_doctor_asks_the_backend(person, services, tmp_path, way):
    env = {"CREDENTIAL_VAULT_METHOD": way}

    def issuer(result):
        return next(check for check in result.json if check["name"] == "issuer")

    result = person.vault("doctor", "--json", env=env)
    assert issuer(result)["outcome"] == "ok" and "answers: GET /" in issuer(result)["finding"], result
    assert ("Its version is 1.4.2." in issuer(result)["finding"]) == (way == "server")
    url = person.settings["CREDENTIAL_VAULT_ISSUER"]
    result = person.vault("doctor", "--json", env=env | {"CREDENTIAL_VAULT_ISSUER": f"{url}/nothing"})
    assert result.status == 1 and issuer(result)["outcome"] == "fail" and "HTTP 404" in issuer(result)["finding"]
    result = person.vault("doctor", "--json", env=env | {"CREDENTIAL_VAULT_ISSUER": "http://127.0.0.1:9"})
    assert result.status == 1 and issuer(result)["outcome"] == "fail"
    file = {"CREDENTIAL_VAULT_BACKEND_FILE": str(tmp_path / "gone.json")}
    result = person.vault("doctor", "--json", env=env | file)
    assert result.status == 1 and "gone.json" in issuer(result)["finding"]


def test_doctor_knows_the_method_of_the_accounts_there(tmp_path, children):
    """Without the setting `method`, for a server that is no OpenID provider."""
    children.append(services := old_server(tmp_path))
    person = at_backend(services, tmp_path / "person", children)
    assert with_password(person, "server", "alice").status == 0
    (check,) = [check for check in person.vault("doctor", "--json").json if check["name"] == "issuer"]
    assert check["outcome"] == "ok" and "answers: GET /" in check["finding"], check


def test_doctor_needs_no_call_that_names_the_person(person, tmp_path):
    layout = tmp_path / "layout.json"
    layout.write_text(json.dumps({"password": {"me": "/auth/nowhere"}}))
    env = {"CREDENTIAL_VAULT_METHOD": "password", "CREDENTIAL_VAULT_BACKEND_FILE": str(layout)}
    result = person.vault("doctor", "--json", env=env)
    (check,) = [check for check in result.json if check["name"] == "issuer"]
    assert check["outcome"] == "ok", check
    assert "GET /auth/nowhere (HTTP 404, but a sign-in works without it)" in check["finding"]
    assert with_password(person, "password", env=env).status == 0
