"""Protocol version 2 with all unlock methods, with the agent, and with many programs at once."""

import signal
import subprocess

import pytest
from support.keys import check_only_the_used_keys_live, kill_at, opens, used
from support.memory import available_mebibytes
from support.oprf import Guess, OPRFKey
from support.person import PASSWORD
from test_hardware import PIN as TOKEN_PIN
from test_hardware import add, token, tpm  # noqa: F401 (fixtures)

PIN = "2846"
PROGRAMS = 64
MEMORY_OF_ONE = 72  # MiB: 64 for Argon2id, the rest for the program's own changes


@pytest.fixture
def alice(person, recorder):
    """Alice, with a key service of her own behind a proxy."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = recorder.url
    return person.registered("--no-agent")


def protocols(person):
    return {way["kind"]: way["key_service_protocol"] for way in person.vault("unlock", "list", "--json").json}


def calls_of_version_1(recorder):
    """All but the question whether the service runs."""
    return [request for request in recorder.requests if "/v1/" in request.path and request.body != b'{"keyid":""}']


@pytest.mark.parametrize("typos", [0, 2])
def test_64_logins_at_once_all_open_without_an_alarm(alice, key_service, recorder, typos):
    needed = PROGRAMS * MEMORY_OF_ONE
    assert available_mebibytes() > needed, f"this test needs {needed} MiB of memory"
    for _ in range(typos):
        assert alice.vault("login", password="a slip").status == 77
    # A program must not take the slips for somebody else's.
    key_service.age_guesses()
    before = used(alice)
    programs = [
        alice.start("login", "--no-agent", "--password-file", "-", stdin=subprocess.PIPE) for _ in range(PROGRAMS)]
    # All programs wait for the password, so they start at the same moment.
    for program in programs:
        program.process.stdin.write(PASSWORD.encode())
        program.process.stdin.close()
    results = [program.wait(120) for program in programs]
    assert {(result.status, result.err) for result in results} == {(0, "")}
    assert opens(alice)
    assert used(alice) == before == key_service.live_keys()
    assert [key["guessesRemaining"] for key in key_service.keys().values()] == [3]
    assert "guesses_elsewhere" not in alice.vault("status", "--json").json


def test_hardware_has_protocol_2(alice, key_service, recorder, token, tpm):  # noqa: F811
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    assert add(alice, "tpm2", tpm.address).status == 0
    assert protocols(alice) == {"password": 2, "pkcs11": 2, "tpm2": 2}
    ways = [("--pkcs11", uri, env), ("--tpm2", tpm.address, {})]
    for option, address, env in ways:
        before = len(recorder.requests)
        assert alice.vault("login", option, address, password=TOKEN_PIN, env=env).status == 0
        assert recorder.calls[before:] == ["evaluate", "confirm"]
        # A wrong PIN ends at the hardware.
        assert alice.vault("login", option, address, password="000000", env=env).status == 77
        assert recorder.calls[before + 2:] == []
    assert calls_of_version_1(recorder) == []
    assert key_service.live_keys() == used(alice) and len(used(alice)) == 3
    # A thief of the disk has no token, so he cannot even ask.
    for kind in ("pkcs11", "tpm2"):
        thief = OPRFKey.of_disk(alice, key_service.url, kind)
        assert [thief.evaluate(Guess(b"%d" % number)).status_code for number in range(4)] == [401] * 4
    assert {key["guessesRemaining"] for key in key_service.keys().values()} == {3}


def test_the_key_of_a_lost_token_is_ended_from_another_unlock_method(alice, key_service, token):  # noqa: F811
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", "--label", "mine", env=env).status == 0
    before = used(alice)
    # The signature that ends its key is sealed, and nobody is logged in.
    removed = alice.vault("unlock", "remove", "mine", "--yes")
    assert removed.status == 0 and "The key of the old token ends at the next login." in removed.err, removed
    assert key_service.live_keys() == before
    # The next login ends it, also after a login that died in the middle of that.
    assert alice.vault("login", password=PASSWORD, env=kill_at("key-ended")).status == -signal.SIGKILL
    check_only_the_used_keys_live(alice, key_service)
    assert len(used(alice)) == 1


def test_the_agent_uses_protocol_2(alice, key_service, recorder, runtime):
    alice.settings["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        before = len(recorder.requests)
        assert alice.vault("login", password=PASSWORD).status == 0
        assert recorder.calls[before:] == ["evaluate", "confirm"]
        # With the session that the agent holds, nothing is asked of the key service.
        assert alice.vault("token").status == 0 and alice.vault("token", "--refresh").status == 0
        assert recorder.calls[before + 2:] == []
        # A new unlock method needs the password, although the agent holds the account open.
        new = alice.password_file(PIN, "new-pin")
        assert alice.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD).status == 0
        # The login, the question whether this machine was revoked, and the new key with its proof. A confirm may be
        # sent twice.
        calls = recorder.calls[before + 2:]
        assert (calls.count("evaluate"), calls.count("keys"), set(calls)) == (3, 1, {"evaluate", "confirm", "keys"})
        assert alice.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
        assert protocols(alice) == {"password": 2, "pin": 2, "recovery": 2}
        assert alice.vault("logout").status == 0
        assert alice.vault("login", "--pin", password=PIN).status == 0
        assert key_service.live_keys() == used(alice) and len(used(alice)) == 3
        deleted = alice.vault("delete", "--yes", password=PASSWORD)
        assert (deleted.status, deleted.err) == (0, "")
        assert key_service.live_keys() == set()
        assert calls_of_version_1(recorder) == []
    finally:
        alice.vault("agent", "stop", "--force")
