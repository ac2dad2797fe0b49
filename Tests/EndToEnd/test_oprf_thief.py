"""Thieves against protocol version 2: with recorded requests and a copy of the disk, or as a false key service."""

import json
import random

import pytest
from support.oprf import Guess, OPRFKey, Signer, decode, encode, multiply, random_element, random_scalar
from support.person import PASSWORD
from support.recorder import Reply

PIN = "2846"


@pytest.fixture
def alice(person, recorder):
    """Alice. All her requests to her key service are recorded."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    return person.registered()


@pytest.fixture
def sessions(alice, recorder):
    """All requests of ten sessions, some of them after slips, and of the making of the key."""
    for number in range(10):
        for _ in range((0, 1, 2)[number % 3]):
            assert alice.vault("login", password="a slip").status == 77
        result = alice.vault("login", password=PASSWORD)
        assert (result.status, result.err) == (0, "")
    calls = [request.call for request in recorder.requests]
    # The new key has one evaluation, which proves that it is finished, and two confirms. After each slip, the next guess
    # first sends the open one again, to see whether answers arrive.
    assert (calls.count("evaluate"), calls.count("confirm")) == (1 + 10 + 9 + 9, 2 + 10)
    return list(recorder.requests)


REPLAYS = {
    "confirms": lambda requests, seed: [request for request in requests if request.call == "confirm"],
    "all in order": lambda requests, seed: requests,
    "all but evaluations": lambda requests, seed: [request for request in requests if request.call != "evaluate"],
    "a random part": lambda requests, seed: random.Random(seed).sample(requests, 12),
}


# Row: recorded traffic, or a false address that got logins; later the disk
@pytest.mark.parametrize("choose", REPLAYS.values(), ids=REPLAYS.keys())
def test_recorded_sessions_give_a_thief_of_the_disk_no_more_guesses(alice, key_service, recorder, sessions, choose):
    thief = OPRFKey.of_disk(alice, key_service.url)
    assert all(f"/keys/{thief.id}/" in request.path for request in sessions if request.call in ("evaluate", "confirm"))
    evaluated = 0
    for number in range(12):
        evaluated += thief.evaluate(Guess(b"guess %d" % number)).status_code == 200
        for request in choose(sessions, number):
            recorder.send(request)
        evaluated += thief.evaluate(Guess(b"guess %d again" % number)).status_code == 200
    assert evaluated <= 3
    if choose is REPLAYS["confirms"]:
        assert evaluated == 3, "the thief's requests are good ones"
        key_service.age_guesses()
        assert alice.vault("login", password=PASSWORD).status == 80


def test_a_confirm_that_is_held_back_adds_no_guess_later(alice, key_service, recorder):
    held = []

    def hold(request, send):
        if request.call != "confirm":
            return send(request)
        held.append(request)
        return None

    recorder.change = hold
    assert alice.vault("login", password=PASSWORD).status == 0
    thief = OPRFKey.of_disk(alice, key_service.url)
    assert key_service.keys()[thief.id]["guessesRemaining"] == 2
    statuses = [thief.evaluate(Guess(b"%d" % number)).status_code for number in range(4)]
    for _ in range(3):
        for request in held:
            assert recorder.send(request).status == 200
        statuses += [thief.evaluate(Guess(b"%d later" % number)).status_code for number in range(4)]
    assert statuses.count(200) == 3


def test_a_thief_of_the_disk_counts_nothing_at_a_recovery_code(alice, key_service):
    assert alice.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    thief = OPRFKey.of_disk(alice, key_service.url, "recovery")
    for number in range(5):
        answer = thief.evaluate(Guess(b"%d" % number))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    # Nor does the stored signature end the key.
    ((stored,),) = alice.sql("SELECT end_signature FROM keyslot WHERE kind = 'recovery'")
    for start in range(max(1, len(stored) - 63)):
        body = {"signature": encode(stored[start:start + 64].ljust(64, b"\0"))}
        assert thief.post(f"/keys/{thief.id}/end", body).status_code == 401
    assert key_service.keys()[thief.id]["guessesRemaining"] == 3


# A false key service


def evaluation(key, change):
    """A key service that gives other answers to evaluations. The right service never gets the requests. The false
    service also has the disk, so its answers have a right MAC."""
    def answer(request, send):
        if request.call != "evaluate":
            return send(request)
        blinded = decode(request.json["blinded"])
        key_id = request.path.split("/")[-2]
        ticket = encode(OPRFKey("", key_id=key_id).ticket(blinded))
        return Reply(200, b"{}").changed(
            evaluated=encode(change(blinded)), ticket=ticket, guesses_remaining=2,
            open=[{"ticket": ticket, "at": 1_800_000_000}]).signed(key, request)

    return answer


def test_nothing_leaves_after_the_answer_of_a_false_service(alice, key_service, recorder):
    before = len(recorder.requests)
    scalar = random_scalar()
    key_of_disk = OPRFKey.of_disk(alice, key_service.url)
    recorder.change = evaluation(key_of_disk, lambda blinded: multiply(scalar, blinded))
    result = alice.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (77, "wrongSecret")
    # The false service could test passwords offline with anything that is made from the result.
    assert recorder.calls[before:] == ["evaluate"]
    (key,) = key_service.keys().values()
    assert key["guessesRemaining"] == 3
    recorder.change = None
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    # The first one checks that answers arrive: it is the last guess again, so it is no further one.
    check, *sent = recorder.requests[before + 1:]
    assert check.json["blinded"] == recorder.requests[before].json["blinded"]
    assert [request.call for request in sent] == ["evaluate", "confirm"]
    assert sent[0].json["blinded"] != recorder.requests[before].json["blinded"]
    false_ticket = key_of_disk.ticket(decode(recorder.requests[before].json["blinded"]))
    assert encode(false_ticket) in sent[1].json["tickets"], "the false service may have sent it on"


# Somebody in the network, without the request key


def refusal(status, code):
    return Reply(status, json.dumps({"status": status, "title": "", "code": code, "time": 4_000_000_000}).encode(),
                 {"Content-Type": "application/problem+json"})


@pytest.mark.parametrize("status, word", [
    (401, "clock"), (403, "locked"), (409, "unfinished"), (410, "revoked"), (410, "ended"), (410, "destroyed")])
def test_an_invented_refusal_is_not_believed(alice, key_service, recorder, status, word):
    before = len(recorder.requests)
    recorder.change = lambda request, send: refusal(status, word)
    result = alice.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (78, "configurationInvalid")
    assert "was changed on its way" in result.error["message"]
    # Otherwise a request with a later time could be kept, and sent then.
    assert recorder.calls[before:] == ["evaluate"]
    recorder.change = None
    assert alice.vault("login", password=PASSWORD).status == 0


def test_invented_guesses_force_no_new_key(alice, key_service, recorder):
    (key,) = key_service.live_keys()

    def add_guesses(request, send):
        reply = send(request)
        if request.call != "evaluate":
            return reply
        return reply.changed(open=[{"ticket": encode(bytes(16)), "at": 1_000_000_000}, *reply.json["open"]])

    recorder.change = add_guesses
    before = len(recorder.requests)
    result = alice.vault("login", password=PASSWORD)
    assert result.status == 78 and "was changed on its way" in result.err
    assert "keys" not in recorder.calls[before:]
    recorder.change = None
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert key_service.live_keys() == {key}


def test_replayed_logins_lock_nobody_out(alice, key_service, recorder):
    for _ in range(2):
        assert alice.vault("login", password=PASSWORD).status == 0
    (key,) = key_service.live_keys()
    # The first one is of the registration.
    recorded = [request for request in recorder.requests if request.call == "evaluate"]
    assert [recorder.send(request).status for request in recorded] == [200, 200, 200]
    assert key_service.keys()[key]["guessesRemaining"] == 0
    key_service.age_guesses()
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert key_service.live_keys() == {key} and key_service.keys()[key]["guessesRemaining"] == 3


def second_encoding(blinded):
    element = bytearray(random_element())
    element[31] |= 0x80
    return bytes(element)


ELEMENTS = {
    "reflected": lambda blinded: blinded, "identity": lambda blinded: bytes(32), "second encoding": second_encoding,
    "no element": lambda blinded: b"\xff" * 32, "short": lambda blinded: blinded[:31],
}


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=ELEMENTS.keys())
def test_an_impossible_element_is_refused_and_nothing_leaves(alice, key_service, recorder, element):
    before = len(recorder.requests)
    recorder.change = evaluation(OPRFKey.of_disk(alice, key_service.url), element)
    result = alice.vault("login", "--json", password=PASSWORD)
    assert result.error["code"] not in ("wrongSecret", "storeCorrupt") and result.out == "", result
    assert set(recorder.calls[before:]) == {"evaluate"}
    recorder.change = None
    assert [key["guessesRemaining"] for key in key_service.keys().values()] == [3]
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.err) == (0, "")


def test_a_new_key_of_a_false_service_opens_nothing_elsewhere(alice, key_service, recorder):
    """The service changes what the client creates: another confirm key, another end key, another request key."""
    stranger = Signer(bytes(range(32)))

    def change(request, send):
        if request.call == "keys":
            recorder.change = lambda request, send: send(request)
            return send(type(request)(
                request.method, request.path, request.headers, Reply(0, request.body).changed(
                    end_key=encode(stranger.public)).body))
        return send(request)

    recorder.change = change
    before = key_service.live_keys()
    result = alice.vault(
        "unlock", "add", "pin", "--json", "--new-pin-file", alice.password_file(PIN, "pin"), password=PASSWORD)
    assert result.status != 0 and result.error["code"], result
    assert [way["kind"] for way in alice.vault("unlock", "list", "--json").json] == ["password"]
    # The strange key is never finished, and ends by itself.
    states = {key["state"] for id, key in key_service.keys().items() if id not in before}
    assert states <= {"unfinished"}
    assert alice.vault("login", password=PASSWORD).status == 0
