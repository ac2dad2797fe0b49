"""No output, log or unencrypted file contains a secret."""

import base64
import json
import re
import socket
from pathlib import Path

import pytest
import requests
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT_DEV, run
from support.recorder import Recorder
from support.services import KeyService

# The IPv6 address is used only if this machine has it.
ADDRESSES = Path("/proc/net/if_inet6")
LOOPBACK = ["127.0.0.1"] + (["::1"] if ADDRESSES.exists() and "0" * 31 + "1 " in ADDRESSES.read_text() else [])


@pytest.fixture
def recorded(person, own_services, tmp_path, children):
    """A person whose traffic with the key service and the token endpoint is recorded, including every secret."""
    service = KeyService(tmp_path, "--log-level", "trace")
    children.append(service)
    recorder = Recorder(service.url)
    children.append(recorder)
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": recorder.url}
    person.service, person.recorder, person.development = service, recorder, own_services
    return person


def test_a_whole_session_shows_no_secret(recorded):
    printed = []

    def vault(*arguments, **options):
        result = recorded.vault(*arguments, **options)
        printed.append(result.out + result.err)
        return result

    result = recorded.register()
    assert result.status == 0
    printed.append(result.out + result.err)
    assert vault("login", password=PASSWORD).status == 0
    for password in ("a wrong password", "a wrong password", PASSWORD):
        vault("login", "--json", password=password)
    token = recorded.vault("token", password=PASSWORD).out.strip()
    new = recorded.password_file(OTHER_PASSWORD, "new")
    assert vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    for command in (["users"], ["status"], ["doctor"], ["config", "get"], ["users", "--json"], ["status", "--json"]):
        vault(*command)
    assert vault("logout", "--everywhere", password=OTHER_PASSWORD).status == 0
    assert vault("login", password=OTHER_PASSWORD).status == 83
    assert vault("delete", "--yes").status == 0

    secrets = {PASSWORD, OTHER_PASSWORD, "a wrong password", token} | set(recorded.recorder.request_keys)
    assert len(recorded.recorder.request_keys) == 2
    logs = [recorded.service.program.out, recorded.service.program.err, recorded.development.program.out,
            recorded.development.program.err]
    assert "route=create" in recorded.service.program.err  # the log was on
    for secret in secrets:
        for text in printed + logs:
            assert secret not in text


def test_nothing_secret_lies_on_the_disk_in_the_clear(recorded):
    assert recorded.register().status == 0
    token = recorded.vault("token", password=PASSWORD).out.strip()
    secrets = {PASSWORD, token} | set(recorded.recorder.request_keys)
    raw = {base64.urlsafe_b64decode(key + "=") for key in recorded.recorder.request_keys}
    assert raw
    folders = [recorded.home, recorded.service.data]
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in content, path
        for key in raw:
            assert key not in content, path
    # The refresh token is never printed, but has the same form as the access token.
    looks_like_a_token = re.compile(rb"[A-Za-z0-9_-]{80,}")
    assert looks_like_a_token.fullmatch(token.encode())
    for path in recorded.home.iterdir():
        assert not looks_like_a_token.search(path.read_bytes()), path


def test_one_login_is_one_call_to_the_key_service(recorded):
    assert recorded.register().status == 0
    before = len(recorded.recorder.calls)
    assert recorded.vault("login", password=PASSWORD).status == 0
    # Nobody waits for the confirm.
    assert recorded.recorder.calls[before:] == ["evaluate", "confirm"]


# Row: `vault` sends
def test_the_key_service_never_sees_the_password(recorded):
    assert recorded.register().status == 0
    assert recorded.vault("login", password=PASSWORD).status == 0
    for body in recorded.recorder.bodies:
        assert PASSWORD.encode() not in body
        # "keyid" is in the request that asks whether the service runs.
        assert set(json.loads(body)) <= {
            "keyid", "id", "request_key", "end_key", "blinded", "label", "tickets", "signature", "confirm_key", "end_signature"}
    # Two logins with one password send two elements, as do the making of the key and its proof.
    assert recorded.vault("login", password=PASSWORD).status == 0
    blinded = [json.loads(body)["blinded"] for body in recorded.recorder.bodies if b"blinded" in body]
    assert len(set(blinded)) == len(blinded) == 4


def test_the_scripted_browser_prints_no_code(person):
    result = run([VAULT_DEV, "browse", "http://127.0.0.1:1/authorize?code=abcdef&state=1"])
    assert result.status != 0 and "abcdef" not in result.out + result.err


def test_a_callback_that_nobody_asked_for_ends_nothing(person):
    program = person.start("register", "--no-browser", "--password-file", person.password_file())
    url = program.wait_for(re.compile(r"^(http://\S+)$", re.M), "err")[1]
    port = re.search(r"redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)", url)[1]
    requests.get(f"http://127.0.0.1:{port}/favicon.ico", timeout=10)
    assert program.process.poll() is None
    assert run([VAULT_DEV, "browse", url]).status == 0
    assert program.wait().status == 0


@pytest.mark.parametrize("address", LOOPBACK)
def test_a_port_of_localhost_that_somebody_else_has(person, address):
    """A browser may try either address first. A program that listens there would get the code."""
    with socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        port = server.getsockname()[1]
        uri = f"http://localhost:{port}/callback"
        result = person.vault("register", "--no-browser", "--redirect-uri", uri, password="tangerine-42-umbrella")
    assert result.status == 78 and f"{address}" in result.err and f":{port}" in result.err, result
    assert "/authorize" not in result.err


def test_a_forged_callback_neither_stores_anything_nor_ends_the_registration(person):
    program = person.start("register", "--no-browser", "--password-file", person.password_file())
    url = program.wait_for(re.compile(r"^(http://\S+)$", re.M), "err")[1]
    port = re.search(r"redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)", url)[1]
    for query in ("code=forged&state=forged", "code=forged", "code=forged&state=%zz", "error=access_denied"):
        answer = requests.get(f"http://127.0.0.1:{port}/callback?{query}", timeout=30)
        assert answer.status_code == 400 and "goes on waiting" in answer.text
    assert person.vault("users", "--json").json == []
    assert run([VAULT_DEV, "browse", url]).status == 0
    assert program.wait().status == 0
    assert "forged" not in program.out + program.err
