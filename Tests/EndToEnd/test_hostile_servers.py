"""No answer of a server crashes the program. Each bad answer is an ordinary error."""

import pytest
from support.person import PASSWORD
from support.raw_server import RawServer, json_answer

STATUSES = ["000", "007", "099", "101"]


@pytest.fixture
def server(children):
    def start(answer, port=0):
        server = RawServer(answer, port=port)
        children.append(server)
        return server
    return start


def refusal(status):
    return f"HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\n{{}}".encode()


@pytest.mark.parametrize("status", STATUSES)
def test_doctor_tells_of_an_identity_provider_and_a_key_service(person, server, status):
    provider, keys = server(refusal(status)), server(refusal(status))
    result = person.vault("doctor", "--json", "--issuer", provider.url, "--key-service", keys.url)
    assert result.status == 1, result
    outcomes = {check["name"]: check["outcome"] for check in result.json}
    assert (outcomes["issuer"], outcomes["key service"]) == ("fail", "fail")
    assert provider.requests and keys.requests


def test_when_nothing_was_tried_then_no_guess_may_have_counted(person, server):
    keys = server(b"")
    for arguments in (["doctor"], ["register", "--no-browser"]):
        result = person.vault(*arguments, "--key-service", keys.url, password=None if arguments == ["doctor"] else PASSWORD)
        assert result.status in (1, 69) and "does not answer" in result.out + result.err, result
        assert "counted" not in result.out + result.err, result
    assert keys.requests


@pytest.mark.parametrize("status", STATUSES)
def test_register_at_an_identity_provider(person, server, status):
    provider = server(refusal(status))
    result = person.vault("register", "--no-browser", "--issuer", provider.url, password=PASSWORD)
    assert result.status == 69 and "did not answer in HTTP" in result.err, result


@pytest.mark.parametrize("status", STATUSES)
def test_login_at_a_key_service(person, key_service, server, status):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    key_service.kill()
    keys = server(refusal(status), int(key_service.listen.rsplit(":", 1)[1]))
    result = person.vault("login", password=PASSWORD)
    assert result.status == 69 and "key service" in result.err, result
    assert keys.requests
    keys.kill()
    key_service.start()
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("path", [b"/login", b"/me"])
def test_register_at_a_backend(person, server, status, path):
    def answer(head):
        if path in head.split(b" ")[1]:
            return refusal(status)
        return json_answer({"access_token": "A", "refresh_token": "R", "expires_in": 60})

    backend = server(answer)
    secret = person.password_file("a password of the backend", "backend-password")
    result = person.vault(
        "register", "--method", "password", "--issuer", backend.url, "--username", "alice@example.com",
        "--login-password-file", secret, password=PASSWORD)
    assert result.status == 69 and "did not answer in HTTP" in result.err, result
    assert backend.requests
