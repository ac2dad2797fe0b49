"""Protocol version 2 when something goes wrong: clocks, lost answers, crashes of the command and of the service."""

import signal
import time

import pytest
from support.keys import check_only_the_used_keys_live, kill_at, opens, store_wrapped, used
from support.oprf import Guess, OPRFKey
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, run
from support.recorder import Request
from support.thief import guess, thief_of
from support.waiting import after_the_pause

PIN = "2846"
YEAR = 365 * 86_400


@pytest.fixture
def alice(person, recorder):
    """Alice, with a key service of her own behind a proxy."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    return person.registered()


@pytest.fixture
def thief(alice, key_service):
    """A thief who copied alice's store and made a guess two minutes ago."""
    thief = thief_of(alice)
    assert guess(thief) == "wrongSecret"
    key_service.age_guesses()
    return thief


# Clocks


class OtherClock:
    """A key service whose clock is `offset` seconds ahead. The proxy signs each request again for the real service,
    because it knows the request key. It also checks that the client's own code is right."""

    def __init__(self, key, offset):
        self.key, self.offset = key, offset
        self.codes = []

    def __call__(self, request, send):
        if request.call != "evaluate":
            return send(request)
        authorization = request.headers["Authorization"]
        seconds = int(authorization.removeprefix("CV2 ").split(".")[0])
        assert authorization == self.key.authorization(request.body, seconds)
        now = int(time.time())
        # The real service judges the same difference.
        signed = {**request.headers, "Authorization": self.key.authorization(request.body, max(0, seconds - self.offset))}
        reply = send(Request(request.method, request.path, signed, request.body))
        body = reply.json
        self.codes.append(body.get("code", "ok"))
        if "time" in body:
            assert abs(body["time"] - now) < 60
            return reply.changed(time=body["time"] + self.offset).signed(self.key, request)
        later = [{**one, "at": one["at"] + self.offset} for one in body["open"]]
        return reply.changed(open=later).signed(self.key, request)


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_years_off_costs_one_repeat(alice, key_service, recorder, years):
    recorder.change = clock = OtherClock(OPRFKey.of_disk(alice, key_service.url), years * YEAR)
    for _ in range(2):
        before, clock.codes = len(recorder.requests), []
        assert opens(alice)
        assert clock.codes == ["clock", "ok"]
        sent = recorder.requests[before:]
        assert [request.call for request in sent] == ["evaluate", "evaluate", "confirm"]
        assert sent[0].body == sent[1].body, "the repeat is the same guess"
    assert [key["guessesRemaining"] for key in key_service.keys().values()] == [3]


# Lost answers


def lose(call, arrives):
    """Loses each request of a call, or each answer to it."""
    def change(request, send):
        if request.call != call:
            return send(request)
        if arrives:
            send(request)
        return None

    return change


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "request lost"])
def test_two_slips_a_confirm_lost_in_the_network_and_a_restart(alice, key_service, recorder, arrives):
    for left in (2, 1):
        assert alice.vault("login", "--json", password="a slip").error["guesses_remaining"] == left
    recorder.change = lose("confirm", arrives)
    assert opens(alice)
    (key,) = key_service.keys().values()
    assert key["guessesRemaining"] == (3 if arrives else 0)
    assert len(alice.own_guesses()["waiting"]) == 1
    key_service.age_guesses()
    key_service.kill()
    key_service.start()
    recorder.change = None
    before = len(recorder.requests)
    assert opens(alice)
    # The key is full, so the stored confirm goes first.
    assert recorder.calls[before:] == ["confirm", "evaluate", "confirm"]
    (key,) = key_service.keys().values()
    assert key["guessesRemaining"] == 3
    assert (alice.own_guesses()["waiting"], alice.own_guesses()["guesses"]) == ([], {})


def test_an_answer_that_is_lost_twice_counts_once(alice, key_service, recorder):
    lost = []

    def lose_two(request, send):
        if request.call == "evaluate" and len(lost) < 2:
            lost.append(send(request))
            return None
        return send(request)

    recorder.change = lose_two
    assert opens(alice)
    assert [reply.json["guesses_remaining"] for reply in lost] == [2, 2]
    # Lost for good: the person is told that it may count. The next login knows the guess as an own one.
    recorder.change = lose("evaluate", arrives=True)
    result = alice.vault("login", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (69, "keyServiceUnavailable")
    assert [key["guessesRemaining"] for key in key_service.keys().values()] == [2]
    key_service.age_guesses()
    recorder.change = None
    assert opens(alice)
    assert [key["guessesRemaining"] for key in key_service.keys().values()] == [3]


# Five answers


def test_wrong_damaged_locked_ended_and_missing_are_five_answers(alice, key_service):
    (key_id,) = used(alice)
    copy = thief_of(alice)
    seen = {}

    def note(name, person, status, code, password=PASSWORD):
        result = after_the_pause(lambda: person.vault("login", "--json", password=password))
        assert (result.status, result.error["code"]) == (status, code), result
        seen[name] = result.error["message"]

    note("wrong", alice, 77, "wrongSecret", password="a slip")
    assert opens(alice)
    ((wrapped,),) = alice.sql("SELECT wrapped FROM keyslot")
    alice.sql("UPDATE keyslot SET wrapped = ?", bytes([wrapped[0] ^ 1]) + wrapped[1:])
    note("damaged", alice, 65, "storeCorrupt")
    # This change shows only with the right password. It must not look like a wrong one.
    store_wrapped(alice, wrapped[:-1] + bytes([wrapped[-1] ^ 1]))
    note("changed", alice, 65, "storeCorrupt")
    store_wrapped(alice, wrapped)
    assert opens(alice)
    for _ in range(3):
        note("last wrong", alice, 77, "wrongSecret", password="a slip")
    key_service.age_guesses()
    note("locked", alice, 80, "keyLocked")
    assert run([KEY_SERVICE, "keys", "unlock", key_id, "--data", key_service.data]).status == 0
    new = alice.password_file(OTHER_PASSWORD, "new")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    note("ended", copy, 80, "keyMissing")
    (key_id,) = used(alice)
    assert run([KEY_SERVICE, "keys", "revoke", key_id, "--data", key_service.data]).status == 0
    note("revoked", alice, 80, "deviceRevoked", password=OTHER_PASSWORD)
    assert run([KEY_SERVICE, "keys", "delete", key_id, "--data", key_service.data]).status == 0
    note("missing", alice, 80, "keyMissing", password=OTHER_PASSWORD)
    assert len(set(seen.values())) == len(seen) == 8, seen


# Crashes of the command


@pytest.mark.parametrize("point", [
    "guess-evaluated", "confirm-stored", "confirm-sent", "key-noted", "key-created", "key-confirmed",
    "renewal-key-created", "renewal-staged", "renewal-verified", "renewal-swapped", "key-ended"])
def test_a_crash_during_a_renewal_leaves_one_keyslot_that_opens(alice, key_service, thief, point):
    before = used(alice)
    assert alice.vault("login", password=PASSWORD, env=kill_at(point)).status == -signal.SIGKILL
    # The first login may tell of the thief, the second one has nothing to tell any more.
    assert alice.vault("login", password=PASSWORD).status == 0
    check_only_the_used_keys_live(alice, key_service)
    assert len(used(alice)) == 1 and used(alice) != before
    assert alice.sql("SELECT count(*) FROM keyslot") == [(1,)]
    assert guess(thief, secret=PASSWORD) == "keyMissing"


@pytest.mark.parametrize("point", ["key-noted", "key-created", "key-confirmed"])
def test_a_crash_while_an_account_is_registered_leaves_no_half_of_it(person, recorder, key_service, point):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    assert person.register(env=kill_at(point)).status == -signal.SIGKILL
    assert person.vault("users", "--json").json == []
    assert person.vault("login", password=PASSWORD).status == 66
    person.registered()
    assert len(used(person)) == 1
    check_only_the_used_keys_live(person, key_service)


@pytest.mark.parametrize("point", ["key-noted", "key-created", "key-confirmed", "keyslot-made", "keyslot-stored"])
def test_a_crash_while_a_recovery_code_is_made(alice, key_service, point):
    died = alice.vault("unlock", "add", "recovery", password=PASSWORD, env=kill_at(point))
    assert died.status == -signal.SIGKILL
    check_only_the_used_keys_live(alice, key_service)
    assert len(used(alice)) == (2 if point == "keyslot-stored" else 1)


# Crashes of the service


@pytest.mark.parametrize("point", ["charged", "evaluated", "settled"])
def test_a_service_that_dies_in_a_login_locks_nobody_out(alice, key_service, recorder, point):
    for _ in range(4):
        key_service.kill()
        key_service.start(fault=point)
        result = alice.vault("login", "--json", password=PASSWORD)
        assert result.status == (0 if point == "settled" else 69), result
        assert key_service.program.wait().status == -signal.SIGKILL
        key_service.start()
        key_service.age_guesses()
        assert opens(alice)
        assert [key["guessesRemaining"] for key in key_service.keys().values()] == [3]


@pytest.mark.parametrize("point", ["charged", "evaluated"])
def test_a_service_that_dies_gives_a_thief_no_guess(alice, key_service, point):
    thief = OPRFKey.of_disk(alice, key_service.url)
    for number in range(3):
        key_service.kill()
        key_service.start(fault=point)
        with pytest.raises(OSError):
            thief.evaluate(Guess(b"%d" % number))
        assert key_service.program.wait().status == -signal.SIGKILL
    key_service.start()
    assert thief.evaluate(Guess(b"one more")).status_code == 503


def test_a_service_that_dies_at_the_first_confirm_leaves_no_half_of_an_account(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    key_service.kill()
    key_service.start(fault="settled")
    result = person.register()
    assert result.status == 69 and "key service" in result.err, result
    assert key_service.program.wait().status == -signal.SIGKILL
    key_service.start()
    assert person.vault("users", "--json").json == []
    person.registered()
    check_only_the_used_keys_live(person, key_service)


# Keys of unlock methods that are gone


def test_keys_of_a_forgotten_password_and_pin_are_ended_from_another_unlock_method(alice, key_service, recorder):
    """The program dies after the change, and before the old keys are ended."""
    assert alice.vault("unlock", "add", "pin", "--new-pin-file", alice.password_file(PIN, "pin"),
                       password=PASSWORD).status == 0
    copy, before = thief_of(alice), used(alice)
    new = alice.password_file(OTHER_PASSWORD, "new")
    died = alice.vault("passwd", "--pin", "--new-password-file", new, password=PIN, env=kill_at("password-swapped"))
    assert died.status == -signal.SIGKILL
    assert len(key_service.live_keys() & before) == 2, "the old password still has its key"
    # The old key stays on the list until the service has answered.
    recorder.change = lose("end", arrives=False)
    assert opens(alice, PIN, "--pin")
    assert len(key_service.live_keys() & before) == 2
    recorder.change = None
    assert opens(alice, PIN, "--pin")
    assert key_service.live_keys() == used(alice)
    assert guess(copy, secret=PASSWORD) == "keyMissing"
    # The PIN is forgotten, too.
    died = alice.vault("unlock", "remove", "pin", "--yes", env=kill_at("key-ended"))
    assert died.status == -signal.SIGKILL
    check_only_the_used_keys_live(alice, key_service, OTHER_PASSWORD)
    assert guess(copy, "--pin", secret=PIN) == "keyMissing"
