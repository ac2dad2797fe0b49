"""An owner's list of devices at the key service, proven by access tokens of real providers: signed ones of Glewlwyd,
opaque ones of django-oauth-toolkit."""

import concurrent.futures
import socket

import pytest
from support.django_provider import CLIENT
from support.oprf import Guess, OPRFKey, decode, encode, message
from support.person import PASSWORD, Person
from support.programs import KEY_SERVICE, run
from support.services import KeyService
from support.waiting import wait_until
from test_oprf_key_service import check_openapi, code


class Owner:
    """A person with an access token, at a key service."""

    def __init__(self, url, token, issuer="https://nobody.test", subject="nobody"):
        self.url, self.token, self.issuer, self.subject = url, token, issuer, subject

    def post(self, path, body=None):
        return OPRFKey(self.url).post(path, body or {}, Authorization=f"Bearer {self.token}")

    def claim(self, key, subject=None):
        proof = message("claim", key.bytes, self.issuer.encode(), b"\0", (subject or self.subject).encode())
        return key.post(
            f"/keys/{key.id}/claim", {"signature": encode(key.end.sign(proof))},
            Authorization=f"Bearer {self.token}")

    def keys(self):
        answer = self.post("/devices")
        assert answer.status_code == 200, answer.text
        return answer.json()["devices"]


@pytest.fixture
def anna(tmp_path, django, services, children):
    settings = services.environment | {"CREDENTIAL_VAULT_ISSUER": django.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT}
    return Person(tmp_path, settings, children).registered(visit=django.visit)


@pytest.fixture
def service(tmp_path, django, children):
    secret = tmp_path / "client-secret"
    secret.write_text(django.introspection_secret)
    secret.chmod(0o600)
    service = KeyService(
        tmp_path, "--owner-issuer", django.issuer, "--owner-client-id", django.introspection_client,
        "--owner-client-secret-file", secret, "--keep-unclaimed-keys", "--refusals-per-minute", "0")
    children.append(service)
    return service


@pytest.fixture
def owner(anna, service):
    return owner_of(anna, service, "alice")


def owner_of(person, service, name):
    (user,) = [user for user in person.vault("users", "--json").json if user["email"] == f"{name}@example.test"]
    token = person.vault("token", "--user", user["email"], password=PASSWORD).out.strip()
    return Owner(service.url, token, user["issuer"], user["subject"])


def test_an_owner_lists_renames_and_revokes_keys(owner, service):
    first, second, foreign = (OPRFKey(service.url).make() for _ in range(3))
    assert owner.keys() == []
    for key in (first, second):
        assert owner.claim(key).status_code == 200
        assert owner.claim(key).status_code == 200
    first_entry, second_entry = owner.keys()
    assert (first_entry["id"], second_entry["id"]) == (first.id, second.id)
    assert first_entry["locked"] is False and first_entry["created_at"] > 1_700_000_000
    assert owner.post(f"/devices/{first.id}/rename", {"label": encode(b"laptop")}).status_code == 200
    assert decode(owner.keys()[0]["label"]) == b"laptop"
    assert owner.post(f"/devices/{first.id}/revoke").status_code == 200
    assert code(first.evaluate(Guess(b"right"))) == (410, "revoked")
    assert [entry["id"] for entry in owner.keys()] == [second.id]
    assert second.log_in() and foreign.log_in()
    for key in (foreign, first):
        assert code(owner.post(f"/devices/{key.id}/revoke")) == (404, "no_such_device")


def test_a_claim_needs_the_key_and_the_token(owner, service):
    key = OPRFKey(service.url).make()
    stranger = OPRFKey(service.url, key_id=key.id)
    assert code(owner.claim(stranger)) == (401, "unauthorized")
    # The signature is for one person only.
    assert code(owner.claim(key, subject="another")) == (401, "unauthorized")
    assert code(owner.claim(OPRFKey(service.url))) == (401, "unauthorized")
    # No other signature is one for a claim.
    guess = Guess(b"right")
    signer = key.signer(guess, key.evaluate(guess).json())
    person = owner.issuer.encode() + b"\0" + owner.subject.encode()
    for signed_by, purpose, content in [
        (key.end, "end", b""), (key.end, "install", signer.public), (key.end, "confirm", bytes(16)),
        (signer, "claim", person), (signer, "confirm", bytes(16)),
    ]:
        signature = encode(signed_by.sign(message(purpose, key.bytes, content)))
        answer = key.post(
            f"/keys/{key.id}/claim", {"signature": signature}, Authorization=f"Bearer {owner.token}")
        assert code(answer) == (401, "unauthorized"), purpose
    thief = Owner(service.url, "invented")
    assert code(thief.claim(key)) == (401, "invalid_token")
    assert code(thief.post("/devices")) == (401, "invalid_token")
    assert code(OPRFKey(service.url).post("/devices", {})) == (401, "invalid_token")
    assert owner.keys() == []


def test_another_person_has_another_list(owner, service, anna, django):
    key = OPRFKey(service.url).make()
    assert owner.claim(key).status_code == 200
    anna.registered(user="bob", visit=lambda url: django.visit(url, user="bob"))
    bob = owner_of(anna, service, "bob")
    assert bob.keys() == []
    assert code(bob.post(f"/devices/{key.id}/revoke")) == (404, "no_such_device")
    assert code(bob.claim(key)) == (409, "conflict")
    assert [entry["id"] for entry in owner.keys()] == [key.id]


def test_the_list_outlives_a_new_master_key(owner, service, tmp_path):
    key = OPRFKey(service.url).make()
    assert owner.claim(key).status_code == 200
    old, new = service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    service.kill()
    rotated = run([KEY_SERVICE, "rotate-master-key", "--data", service.data, "--master-key-file", new,
                   "--old-master-key-file", old])
    assert rotated.status == 0, rotated
    service.options += ("--master-key-file", new, "--high-water-mark", service.secrets / "high-water-mark")
    service.start()
    assert [entry["id"] for entry in owner.keys()] == [key.id]


def test_the_store_has_no_names(owner, service, anna):
    key = OPRFKey(service.url).make()
    assert owner.claim(key).status_code == 200
    subject = anna.vault("users", "--json").json[0]["subject"]
    service.kill()
    content = b"".join(path.read_bytes() for path in service.data.iterdir() if path.is_file())
    assert key.id.encode() in content
    assert subject.encode() not in content or len(subject) < 4
    assert owner.token.encode() not in content and b"example.test" not in content


def test_the_openapi_document_is_true_for_an_owner(owner, service, tmp_path):
    for key in (OPRFKey(service.url).make() for _ in range(2)):
        assert owner.claim(key).status_code == 200
    options = ["--include-path-regex", "devices|claim", "-H", f"Authorization: Bearer {owner.token}"]
    assert check_openapi(service.url, tmp_path, *options, examples=25) == 5


def test_a_service_without_an_issuer_keeps_no_list(key_service):
    key = OPRFKey(key_service.url).make()
    owner = Owner(key_service.url, "token")
    for answer in (owner.post("/devices"), owner.claim(key), owner.post(f"/devices/{key.id}/revoke")):
        assert code(answer) == (404, "no_such_path")
    assert key.session.get(key.base, timeout=10).json()["devices"] is False


def test_a_provider_that_does_not_answer_delays_no_login(tmp_path, children):
    """The service checks only some tokens at once, beside the permits of the logins."""
    with socket.create_server(("127.0.0.1", 0), backlog=300) as silent:
        service = KeyService(
            tmp_path, "--owner-issuer", f"http://127.0.0.1:{silent.getsockname()[1]}")
        children.append(service)
        key = OPRFKey(service.url).make()
        with concurrent.futures.ThreadPoolExecutor(300) as pool:
            lists = [pool.submit(lambda: code(Owner(service.url, "token").post("/devices"))) for _ in range(300)]
            # 284 are refused while 16 wait for the provider.
            wait_until(lambda: sum(one.done() for one in lists) >= 284, "284 refusals")
            assert key.log_in() and key.log_in()
            assert not all(one.done() for one in lists), "the provider is still asked"
            answers = [one.result() for one in lists]
        assert set(answers) == {(503, "busy")}


def test_settings_that_cannot_work(tmp_path, key_service):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    data = ["--data", key_service.data]
    key_service.kill()
    for options, words in [
        (["--owner-issuer", "nonsense"], "https://"), (["--owner-issuer", "http://login.example.com"], "https://"),
        (["--owner-issuer", "https://x.test", "--owner-issuer", "https://y.test", "--owner-client-id", "a",
          "--owner-client-secret-file", secret], "only one"),
        (["--owner-issuer", "https://x.test", "--owner-client-id", "a"], "both"),
    ]:
        result = run([KEY_SERVICE, "serve", *data, "--listen", "127.0.0.1:0", *options])
        assert result.status == 78 and words in result.err, result
