"""The key service's protocol, version 2: its calls, states and errors, asked by an independent client."""

import base64
import concurrent.futures
import contextlib
import json
import re
import sqlite3
import sys
import time
import uuid
from pathlib import Path

import pytest
import requests
from support.oprf import (
    Guess, OPRFKey, Record, Signer, decode, derive, encode, finalize, hash_to_group, message, multiply,
    random_element)
from support.programs import KEY_SERVICE, run
from support.services import KeyService


def code(answer):
    body = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert body["status"] == answer.status_code
    return answer.status_code, body["code"]


@pytest.fixture
def key(key_service):
    return OPRFKey(key_service.url).make()


def test_the_versions_are_told(key_service):
    answer = requests.get(f"{key_service.url}/keyservice/v2", timeout=10).json()
    key = run([KEY_SERVICE, "identity", "show", "--json", "--data", key_service.data]).json["publicKey"]
    assert answer == {"devices": False, "identity": {"key": key}, "versions": [2]}


def test_the_right_secret_opens_and_a_wrong_one_does_not(key):
    assert key.log_in()
    assert not key.log_in(b"wrong")
    assert key.log_in()


def test_three_wrong_guesses_lock_and_right_ones_give_nothing_back(key):
    for _ in range(5):
        assert key.log_in()
    answers = [key.evaluate(Guess(b"wrong")) for _ in range(3)]
    assert [answer.json()["guesses_remaining"] for answer in answers] == [2, 1, 0]
    assert [len(answer.json()["open"]) for answer in answers] == [1, 2, 3]
    # The last guess may be right, so its client may still confirm it.
    answer = key.evaluate(Guess(b"right"))
    assert code(answer) == (503, "busy") and answer.headers["Retry-After"] == "1"


def test_the_same_element_is_the_same_guess(key):
    guess = Guess(b"right")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: key.evaluate(guess).json(), range(1000)))
    assert len({json.dumps(answer) for answer in answers}) == 1
    assert answers[0]["guesses_remaining"] == 2 and len(answers[0]["open"]) == 1
    # Nobody can put another ticket in its place: it follows from the element.
    assert decode(answers[0]["ticket"]) == key.ticket(guess.blinded)


def test_an_open_try_is_answered_at_the_limit_too(key):
    guesses = [Guess(b"a"), Guess(b"b"), Guess(b"right")]
    first = [key.evaluate(guess).json() for guess in guesses]
    again = key.evaluate(guesses[0]).json()
    assert (again["ticket"], again["evaluated"]) == (first[0]["ticket"], first[0]["evaluated"])
    assert again["guesses_remaining"] == 0 and len(again["open"]) == 3
    # Two typos and the right secret: one confirm names all three guesses.
    signer = key.signer(guesses[2], first[2])
    assert signer.public == key.check
    tickets = [decode(answer["ticket"]) for answer in first]
    assert key.confirm(signer, *tickets).status_code == 200
    assert key.log_in()


def test_a_confirm_can_be_sent_again(key):
    guess = Guess(b"right")
    answer = key.evaluate(guess).json()
    signer = key.signer(guess, answer)
    for _ in range(3):
        assert key.confirm(signer, decode(answer["ticket"])).status_code == 200
    # A recorded confirm gives a thief no guess: three wrong ones stay three.
    statuses = []
    for number in range(6):
        statuses.append(key.evaluate(Guess(b"%d" % number)).status_code)
        key.confirm(signer, decode(answer["ticket"]))
    assert statuses == [200, 200, 200, 503, 503, 503]


def test_a_thousand_elements_at_once_are_three_evaluations(key):
    guesses = [Guess(b"%d" % number) for number in range(1000)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda guess: key.evaluate(guess).status_code, guesses))
    # A slow machine takes more than the ten seconds in which the service answers "busy".
    assert statuses.count(200) == 3 and set(statuses) <= {200, 503, 403}


def test_a_creation_can_be_sent_again_but_not_changed(key_service):
    key = OPRFKey(key_service.url)
    answers = [key.create(Guess(b"right"))]
    answers += [key.create(key.first) for _ in range(2)]
    assert len({answer.text for answer in answers}) == 1 and answers[0].status_code == 200
    assert code(key.create(Guess(b"right"))) == (409, "exists")
    body = key.create_body(key.first)
    for member, value in [
        ("request_key", encode(bytes(32))), ("end_key", encode(Signer(bytes(32)).public)), ("label", encode(b"x")),
    ]:
        assert code(key.post("/keys", {**body, member: value})) == (409, "exists")
    assert code(key.evaluate(Guess(b"right"))) == (409, "unfinished")
    answer = answers[0].json()
    guess = Guess(b"right")
    guess.blind = key.first.blind
    signer = key.signer(guess, answer)
    assert key.confirm(signer, decode(answer["ticket"]), first=True).status_code == 200
    assert code(key.create(key.first)) == (409, "exists")


def test_an_id_belongs_to_one_version(key_service):
    made = requests.post(f"{key_service.url}/keyservice/v1/createkey", json={"secret": "482916"}, timeout=30).json()
    key = OPRFKey(key_service.url, key_id=made["keyid"])
    assert code(key.create()) == (409, "exists")
    assert code(key.evaluate(Guess(b"x"))) == (401, "unauthorized")
    assert code(key.finish()) == (401, "unauthorized")
    mine = OPRFKey(key_service.url).make()
    answer = requests.post(
        f"{key_service.url}/keyservice/v1/key", json={"keyid": mine.id, "secret": "x"}, timeout=30)
    assert answer.status_code == 404


# Row: only the id of a key
def test_unknown_keys_and_wrong_proofs_have_one_answer(key_service, key):
    unknown = OPRFKey(key_service.url)
    stranger = Signer(bytes(32))
    unfinished = OPRFKey(key_service.url)
    ticket = decode(unfinished.create().json()["ticket"])
    answers = [
        unknown.evaluate(Guess(b"x")), key.evaluate(Guess(b"x"), key=bytes(32)),
        key.evaluate(Guess(b"x"), seconds=0, key=bytes(32)),
        unknown.confirm(stranger, bytes(16)), key.confirm(stranger, bytes(16)),
        key.confirm(stranger, bytes(16), first=True), unfinished.confirm(stranger, ticket),
        unknown.finish(), OPRFKey(key_service.url, key_id=key.id).finish(),
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    headers = [{name: value for name, value in answer.headers.items() if name != "Date"} for answer in answers]
    assert all(header == headers[0] for header in headers) and headers[0]["WWW-Authenticate"] == "CV2"
    # Nothing was charged.
    assert key.evaluate(Guess(b"right")).json()["guesses_remaining"] == 2


def test_each_signature_is_good_for_one_purpose(key):
    guess = Guess(b"right")
    answer = key.evaluate(guess).json()
    ticket, signer = decode(answer["ticket"]), key.signer(guess, answer)
    unfinished = OPRFKey(key.base.removesuffix("/keyservice/v2"))
    unfinished.end = key.end
    first = decode(unfinished.create().json()["ticket"])
    other = OPRFKey(key.base.removesuffix("/keyservice/v2")).make()

    def texts(of):
        return {
            "confirm": message("confirm", of.bytes, ticket), "install": message("install", of.bytes, signer.public),
            "end": message("end", of.bytes), "claim": message("claim", of.bytes, b"https://issuer.test\0alice")}

    # In each place, all texts but the right one fail, with each key, also those for another key's id.
    for of in (key, unfinished, other):
        for purpose, text in texts(of).items():
            for owner in (signer, key.end):
                signature = encode(owner.sign(text))
                if (purpose, of, owner) != ("end", key, key.end):
                    assert code(key.post(f"/keys/{key.id}/end", {"signature": signature})) == (401, "unauthorized")
                if (purpose, of, owner) != ("confirm", key, signer):
                    body = {"tickets": [encode(ticket)], "signature": signature}
                    assert code(key.post(f"/keys/{key.id}/confirm", body)) == (401, "unauthorized")
                if (purpose, of, owner) != ("install", unfinished, key.end):
                    body = unfinished.confirm_body(signer, first, first=True)
                    body["end_signature"] = signature
                    assert code(key.post(f"/keys/{unfinished.id}/confirm", body)) == (401, "unauthorized")
    # The order of the tickets is signed.
    body = key.confirm_body(signer, ticket, bytes(16))
    body["tickets"].reverse()
    assert code(key.post(f"/keys/{key.id}/confirm", body)) == (401, "unauthorized")
    # The right ones are accepted in the end.
    assert unfinished.confirm(signer, first, first=True).status_code == 200
    assert key.confirm(signer, ticket).status_code == 200 and key.finish().status_code == 200


def test_another_confirm_key_is_a_conflict_only_for_the_owner(key):
    guess = Guess(b"right")
    answer = key.evaluate(guess).json()
    signer = key.signer(guess, answer)
    body = key.confirm_body(signer, decode(answer["ticket"]))
    body["confirm_key"] = encode(Signer(bytes(32)).public)
    assert code(key.post(f"/keys/{key.id}/confirm", body)) == (409, "conflict")


def test_a_clock_that_is_off_is_told_the_time(key):
    guess = Guess(b"right")
    for seconds in (0, int(time.time()) - 400, int(time.time()) + 400, 9_000_000_000_000_000_000):
        answer = key.evaluate(guess, seconds=seconds)
        assert code(answer) == (401, "clock")
        assert abs(answer.json()["time"] - time.time()) < 60
    again = key.evaluate(guess, seconds=answer.json()["time"])
    assert again.status_code == 200 and again.json()["guesses_remaining"] == 2


@pytest.mark.parametrize("element", [
    bytes(32), bytes(31) + b"\x80", b"\xff" * 32, b"\1" + bytes(31), "high bit",
])
def test_invalid_elements_are_refused_before_all_else(key, element):
    if element == "high bit":
        element = bytearray(random_element())
        element[31] |= 0x80
    guess = Guess(b"x")
    guess.blinded = bytes(element)
    unknown = OPRFKey(key.base.removesuffix("/keyservice/v2"))
    answers = [key.evaluate(guess), key.evaluate(guess, key=bytes(32)), unknown.evaluate(guess), unknown.create(guess)]
    assert [code(answer) for answer in answers] == [(422, "invalid_element")] * 4
    assert key.evaluate(Guess(b"right")).json()["guesses_remaining"] == 2


def test_requests_that_are_not_well_formed(key):
    path, guess = f"/keys/{key.id}/evaluate", Guess(b"right")
    body = json.dumps({"blinded": encode(guess.blinded)}).encode()
    good = key.authorization(body)
    seconds, mac = good.removeprefix("CV2 ").split(".")
    bad = ["", "CV2", f"CV2 {mac}", f"CV2 +{seconds}.{mac}", f"CV2 0{seconds}.{mac}", f"CV2 {seconds}.{mac}=",
           f"CV2 {seconds}.{mac[:-1]}", f"CV2 {seconds}.{mac}.x", f"Bearer {seconds}.{mac}", f"CV2  {seconds}.{mac}"]
    # The unused last bits of a text of 43 characters must be zero.
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    bad.append(f"CV2 {seconds}.{mac[:-1]}{alphabet[alphabet.index(mac[-1]) + 1]}")
    for value in bad:
        assert code(key.post(path, body, Authorization=value)) == (400, "invalid_request"), value
    for text in [b"", b"[]", b"{}", b'{"blinded":null}', b'{"blinded":1}', b'{"blinded":"AA"}', b"{",
                 body[:-1] + b',"blinded":"AA"}']:
        assert code(key.post(path, text, Authorization=key.authorization(text))) == (400, "invalid_request"), text
    for wrong in [key.id.upper(), key.id[:-1], key.id + "0", key.id.replace("-", ""), "{" + key.id + "}"]:
        answer = key.post(f"/keys/{wrong}/end", key.end_body())
        assert code(answer) == (400, "invalid_request"), wrong
        assert code(key.post("/keys", {**key.create_body(key.first), "id": wrong})) == (400, "invalid_request")
    assert code(key.post(path, b" " * 20_000, Authorization=good)) == (413, "too_large")
    answer = key.session.post(key.base + path, data=body, headers={"Authorization": good}, timeout=10)
    assert code(answer) == (415, "not_json")
    small = {**key.create_body(key.first), "id": str(uuid.uuid4()), "end_key": encode(b"\1" + bytes(31))}
    assert code(key.post("/keys", small)) == (400, "invalid_request")
    assert code(key.session.get(key.base + "/keys", timeout=10)) == (405, "method_not_allowed")
    assert code(key.post("/nothing", {})) == (404, "no_such_path")
    for count in (0, 65):
        tickets = [encode(bytes(16))] * count
        body = {"tickets": tickets, "signature": encode(bytes(64))}
        assert code(key.post(f"/keys/{key.id}/confirm", body)) == (400, "invalid_request")
    assert key.evaluate(guess).json()["guesses_remaining"] == 2


def test_an_ended_key_is_gone_for_good(key):
    guess = Guess(b"right")
    answer = key.evaluate(guess).json()
    for _ in range(2):
        assert key.finish().status_code == 200
    assert code(key.evaluate(guess)) == (410, "ended")
    assert code(key.confirm(key.signer(guess, answer), decode(answer["ticket"]))) == (410, "ended")
    # Only its owner learns that.
    assert code(key.evaluate(guess, key=bytes(32))) == (401, "unauthorized")
    assert code(key.create(key.first)) == (409, "exists")


def test_the_published_values_are_those_of_this_client_and_of_the_service(key_service):
    file = Path(__file__).resolve().parents[1] / "Vectors" / "oprf" / "protocol-v2.json"
    texts = json.loads(file.read_text())
    value = {name: bytes.fromhex(text) for name, text in texts.items() if re.fullmatch("(?:[0-9a-f]{2})+", text)}
    key = OPRFKey(key_service.url, key_id=texts["key_id"])
    key.request_key = derive(value["device_secret"], message("request-key", key.bytes))
    key.end = Signer(derive(value["vault_key"], message("end", key.bytes)))
    assert key.request_key == value["request_key"] and key.end.public == value["end_key"]
    guess = Guess(value["stretched"])
    guess.blind, guess.blinded = value["blind"], multiply(value["blind"], hash_to_group(value["stretched"]))
    assert guess.blinded == value["blinded"]
    body = texts["evaluate_body"].encode()
    assert key.authorization(body, seconds=1_700_000_000) == texts["authorization"]
    assert finalize(guess.secret, guess.blind, value["evaluated"]) == value["rwd"]
    signer = key.signer(guess, {"evaluated": encode(value["evaluated"])})
    assert signer.public == value["confirm_key"]
    assert signer.sign(message("confirm", key.bytes, value["ticket"])) == value["confirm_signature"]
    assert key.end.sign(message("install", key.bytes, signer.public)) == value["install_signature"]
    # The service takes the published bytes.
    assert decode(key.create(guess).json()["ticket"]) == value["ticket_of_blinded"]
    confirm = {"tickets": [encode(value["ticket"])], "signature": encode(value["confirm_signature"]),
               "confirm_key": encode(value["confirm_key"]), "end_signature": encode(value["install_signature"])}
    assert key.post(f"/keys/{key.id}/confirm", confirm).status_code == 200
    answer = key.post(f"/keys/{key.id}/evaluate", body, Authorization=texts["authorization"])
    assert code(answer) == (401, "clock"), "the code is right, but old"
    # With the published key of the function, it gives the published answer.
    assert multiply(value["oprf_key"], guess.blinded) == value["evaluated"]
    assert code(key.evaluate(guess, seconds=answer.json()["time"], key=bytes(32))) == (401, "unauthorized")
    assert key.evaluate(guess, seconds=answer.json()["time"]).status_code == 200
    assert key.post(f"/keys/{key.id}/end", {"signature": encode(value["end_signature"])}).status_code == 200


def test_an_unfinished_key_leaves_nothing(key_service):
    key = OPRFKey(key_service.url)
    key.create()
    assert key.finish().status_code == 200
    assert code(key.finish()) == (401, "unauthorized")
    key.make()
    assert key.log_in()


def operate(service, *arguments):
    result = run([KEY_SERVICE, *arguments, "--data", service.data])
    assert result.status == 0, result
    return result


def listed(service, key):
    (line,) = [line for line in operate(service, "keys", "list", "--json").json if line["id"] == key.id]
    return line


def test_the_operator_sees_unlocks_and_revokes_both_kinds(key_service, key):
    assert listed(key_service, key)["protocol"] == 2 and listed(key_service, key)["guessesRemaining"] == 3
    for number in range(3):
        key.evaluate(Guess(b"%d" % number))
    assert listed(key_service, key)["state"] == "locked" and listed(key_service, key)["locked"]
    assert "locked" in operate(key_service, "keys", "list").out
    operate(key_service, "keys", "unlock", key.id)
    assert key.log_in()
    assert listed(key_service, key)["lastUsed"]
    operate(key_service, "keys", "revoke", key.id)
    assert code(key.evaluate(Guess(b"right"))) == (410, "revoked")
    assert listed(key_service, key)["revoked"]
    assert run([KEY_SERVICE, "keys", "unlock", key.id, "--data", key_service.data]).status != 0
    operate(key_service, "keys", "delete", key.id)
    assert code(key.evaluate(Guess(b"right"))) == (401, "unauthorized")


def test_a_restart_forgets_no_guess(key_service, key):
    guesses = [Guess(b"%d" % number) for number in range(3)]
    before = [key.evaluate(guess).json() for guess in guesses]
    key_service.kill()
    key_service.start()
    key.session = requests.Session()
    assert [key.evaluate(guess).json()["ticket"] for guess in guesses] == [answer["ticket"] for answer in before]
    assert key.evaluate(Guess(b"right")).status_code == 503


def test_the_database_alone_has_neither_key(key_service, tmp_path):
    key = OPRFKey(key_service.url).make()
    guess = Guess(b"wrong")
    evaluated = decode(key.evaluate(guess).json()["evaluated"])
    files = [path.read_bytes() for path in key_service.data.rglob("*") if path.is_file()]
    with contextlib.closing(sqlite3.connect(key_service.data / "keys.sqlite")) as database:
        ((content,),) = database.execute("SELECT content FROM key_record WHERE id = ?", (key.id,)).fetchall()
    # With the master key, the record gives both keys. So these are the ones to look for.
    record = Record(content, key.id, (key_service.secrets / "master.key").read_bytes())
    assert record.request_key == key.request_key and multiply(record.function, guess.blinded) == evaluated
    for secret in (record.request_key, record.function):
        for form in (secret, secret.hex().encode(), encode(secret).encode(), base64.b64encode(secret)):
            assert all(form not in content for content in files)
    assert any(key.id.encode() in content for content in files)
    # Without it, nothing opens, and the service does not start.
    with pytest.raises(ValueError):
        Record(content, key.id, bytes(32))
    other = tmp_path / "other.key"
    assert run([KEY_SERVICE, "make-master-key", other]).status == 0
    key_service.kill()
    serve = [KEY_SERVICE, "serve", "--data", key_service.data, "--listen", "127.0.0.1:0", "--master-key-file", other]
    assert run(serve).status == 78


def test_a_new_master_key_seals_these_keys_too(key_service, tmp_path):
    live, ended = OPRFKey(key_service.url).make(), OPRFKey(key_service.url).make()
    guess = Guess(b"right")
    ended.evaluate(guess)
    ended.finish()
    old, new = key_service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    key_service.kill()
    rotated = run([
        KEY_SERVICE, "rotate-master-key", "--data", key_service.data, "--master-key-file", new, "--old-master-key-file",
        old])
    assert rotated.status == 0, rotated
    key_service.options = ("--master-key-file", new, "--high-water-mark", key_service.secrets / "high-water-mark")
    key_service.start()
    live.session = ended.session = requests.Session()
    assert live.log_in()
    assert code(ended.evaluate(guess)) == (410, "ended")


# Row: an older database, and puts it back into the service
def test_an_older_database_leaves_one_guess(key_service, tmp_path):
    key = OPRFKey(key_service.url).make()
    backup = tmp_path / "backup"
    operate(key_service, "backup", "--to", backup)
    for number in range(3):
        key.evaluate(Guess(b"%d" % number))
    key_service.kill()
    operate(key_service, "restore", "--from", backup)
    key_service.start()
    key.session = requests.Session()
    statuses = [key.evaluate(Guess(b"%d" % number)).status_code for number in range(10, 13)]
    assert statuses.count(200) == 1


def check_openapi(url, folder, *options, examples=60):
    """schemathesis sends right and wrong requests. Returns the number of operations."""
    checks = [
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
        "response_schema_conformance", "negative_data_rejection", "unsupported_method"]
    url = f"{url}/keyservice/v2"
    assert requests.get(f"{url}/openapi.json", timeout=10).json()["openapi"] == "3.1.0"
    result = run(
        [Path(sys.executable).parent / "schemathesis", "run", f"{url}/openapi.json", "--url", url, "--seed", "7",
         "--max-examples", str(examples), "--checks", ",".join(checks), *options], cwd=folder, timeout=600)
    assert result.status == 0, result
    return int(re.search(r"Tested: (\d+)", result.out)[1])


def test_the_openapi_document_is_true(tmp_path, children):
    """Authentication is tested above: a request without it gets 400. This service keeps no lists of devices."""
    service = KeyService(tmp_path, "--refusals-per-minute", "0")
    children.append(service)
    assert check_openapi(service.url, tmp_path) == 9
