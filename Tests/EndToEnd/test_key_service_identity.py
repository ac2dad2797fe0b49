"""The identity key of the key service: a false service while a key is made, and the operator's commands."""

import hashlib
import json
import os

import pytest
import requests
from support.keys import opens, used
from support.oprf import Signer, decode, encode, message, multiply, random_scalar
from support.person import PASSWORD
from support.programs import KEY_SERVICE, run
from support.recorder import Reply
from support.thief import guess, thief_of
from support.waiting import wait_until

PIN = "2846"
NOT_TRUSTED = "did not get a new key, because the key service is not the known one"


@pytest.fixture
def alice(person, recorder):
    """Alice, with a key service of her own behind a proxy."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    return person.registered("--no-agent")


class Terminator:
    """Ends TLS between client and service, and answers requests for new keys with a key of its own. `has_identity` says
    whether it proves another identity, or none, as an older service."""

    def __init__(self, has_identity=True):
        self.function = random_scalar()
        self.identity = Signer(os.urandom(32)) if has_identity else None
        self.made = []

    def __call__(self, request, send):
        if request.call == "keys":
            return Reply(200, json.dumps(self.create(request.json)).encode())
        if any(key in request.path for key in self.made):
            return Reply(200, b"{}")
        return send(request)

    def create(self, body):
        self.made.append(body["id"])
        key, blinded = body["id"].encode(), decode(body["blinded"])
        evaluated = multiply(self.function, blinded)
        ticket = hashlib.sha512(message("ticket", key, blinded)).digest()[:16]
        answer = {"evaluated": encode(evaluated), "ticket": encode(ticket)}
        if self.identity:
            answer["signature"] = encode(self.identity.sign(message("created", key, blinded, evaluated, ticket)))
            answer["identity"] = {"key": encode(self.identity.public)}
        return answer


def add_pin(person, **env):
    new = person.password_file(PIN, "new-pin")
    return person.vault("unlock", "add", "pin", "--new-pin-file", new, "--json", password=PASSWORD, env=env)


def operate(service, *arguments):
    result = run([KEY_SERVICE, "identity", *arguments, "--json", "--data", service.data])
    assert result.status == 0, result
    return result.json


@pytest.mark.parametrize("has_identity", [True, False])
def test_78_a_terminator_makes_no_key(alice, key_service, recorder, has_identity):
    before = used(alice)
    recorder.change = terminator = Terminator(has_identity)
    result = add_pin(alice)
    assert (result.status, result.error["code"]) == (78, "keyServiceNotTrusted"), result
    assert "vault config set key-service-keys KEY" in result.error["message"]
    new = alice.password_file("another-7-tangerine", "new-password")
    changed = alice.vault("passwd", "--new-password-file", new, "--json", password=PASSWORD)
    assert (changed.status, changed.error["code"]) == (78, "keyServiceNotTrusted"), changed
    assert len(terminator.made) == 2, "the terminator saw both requests"
    # A login makes no key.
    assert opens(alice)
    assert used(alice) == before
    recorder.change = None
    assert add_pin(alice).status == 0
    assert opens(alice, PIN, "--pin")
    assert key_service.live_keys() == used(alice)


def test_a_renewal_under_a_terminator_keeps_the_old_key_and_tells_it_once(alice, key_service, recorder):
    assert guess(thief_of(alice)) == "wrongSecret"
    key_service.age_guesses()
    before = used(alice)
    recorder.change = terminator = Terminator()
    told = [alice.vault("login", "--no-agent", password=PASSWORD) for _ in range(3)]
    assert [result.status for result in told] == [0, 0, 0]
    assert [NOT_TRUSTED in result.err for result in told] == [True, False, False], told
    assert all("and not with this store" in result.err for result in told)
    assert used(alice) == before and len(terminator.made) == 3
    # On a safe network, the next login makes the key anew.
    recorder.change = None
    result = alice.vault("login", "--no-agent", "--json", password=PASSWORD)
    assert result.status == 0 and result.json["wrong_guesses"][0]["renewed"], result
    assert used(alice).isdisjoint(before) and key_service.live_keys() == used(alice)
    assert opens(alice)


def test_clients_follow_a_rotated_identity(alice, key_service):
    old = operate(key_service, "show")
    new = operate(key_service, "rotate")
    assert operate(key_service, "show") == new and new["earlierKeys"] == 1
    assert new["publicKey"] != old["publicKey"] and new["fingerprint"] != old["fingerprint"]

    def announced():
        return requests.get(f"{key_service.url}/keyservice/v2", timeout=10).json()["identity"]

    wait_until(lambda: announced()["key"] == new["publicKey"], "the running service to sign with the new key")
    assert [link["key"] for link in announced()["chain"]] == [old["publicKey"]]
    assert add_pin(alice).status == 0
    assert opens(alice, PIN, "--pin")
    # Whoever pinned the old key follows, too.
    assert add_pin(alice, CREDENTIAL_VAULT_KEY_SERVICE_KEYS=old["publicKey"]).status == 0


def test_a_pinned_other_key_stops_new_keys_and_no_login(alice, key_service):
    # A key of a service never looks like an option.
    other = next(key for key in iter(lambda: encode(Signer(os.urandom(32)).public), None) if key[0] != "-")
    result = add_pin(alice, CREDENTIAL_VAULT_KEY_SERVICE_KEYS=other)
    assert (result.status, result.error["code"]) == (78, "keyServiceNotTrusted"), result
    assert alice.vault("config", "set", "key-service-keys", other).status == 0
    assert opens(alice, PASSWORD, "--no-agent")
    assert add_pin(alice).status == 78
    own = operate(key_service, "show")["publicKey"]
    assert alice.vault("config", "set", "key-service-keys", f"{other} {own}").status == 0
    assert add_pin(alice).status == 0
    for wrong in ("A", f"{own} {own} {own}", own[:-1]):
        assert alice.vault("config", "set", "key-service-keys", wrong).status == 78, wrong


def test_78_a_new_account_refuses_version_1_unless_it_is_set(person, recorder):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    said = Reply(200, b'{"versions":[1]}')
    recorder.change = lambda request, send: said if "/keyservice/v2" in request.path else send(request)
    result = person.register("--no-agent")
    assert result.status == 78 and "http" in result.err, result
    assert "has only protocol version 1" in result.err
    assert "To use it all the same: vault config set key-service-protocol 1" in result.err
    assert [request for request in recorder.requests if request.call == "createkey"] == []
    assert person.vault("config", "set", "key-service-protocol", "3").status == 78
    assert person.vault("config", "set", "key-service-protocol", "1").status == 0
    person.registered("--no-agent")
    # The account goes on without the setting.
    assert person.vault("config", "set", "key-service-protocol", "").status == 0
    assert opens(person, PASSWORD, "--no-agent")
    (way,) = person.vault("unlock", "list", "--json").json
    assert way["key_service_protocol"] == 1


def test_a_rotation_has_a_line_in_the_audit_log(key_service, tmp_path):
    log, secret = tmp_path / "audit.log", tmp_path / "audit.key"
    assert run([KEY_SERVICE, "audit", "init", "--audit-log", log, "--verification-key", secret]).status == 0
    operate(key_service, "rotate", "--audit-log", log)
    assert '"event":"operator-rotates-identity"' in log.read_text()
