"""`vault unlock reset`: a person who is locked out signs in at the provider, and needs no operator."""

import json
import re
import signal

import pytest
from support.person import OTHER_PASSWORD, PASSWORD, URL
from support.programs import KEY_SERVICE, VAULT_DEV, run
from support.services import DevelopmentServices, KeyService
from support.waiting import wait_until
from test_devices import PIN, Machine

OPTIONS = re.compile(r"the operator adds to vault-key-service serve: (.+)\. Without --keep-unclaimed-keys, a new key ")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+"
UNLOCKED_TODAY = f"A sign-in unlocked the key in the last 24 hours. A sign-in can unlock it again after {TIME}"
NOTICE = "a sign-in at the identity provider unlocked it"


def reset(person, *arguments, user="alice"):
    """Runs `vault unlock reset`, and signs in."""
    program = person.start("unlock", "reset", "--no-browser", *arguments)
    wait_until(lambda: URL.search(program.err) or program.process.poll() is not None, "the address to open")
    match = URL.search(program.err)
    if match:
        assert run([VAULT_DEV, "browse", match[1], "--user", user]).out == "Signed in\n"
    return program.wait()


def lock(person, may_reset=True):
    while person.vault("login", password=OTHER_PASSWORD).status == 77:
        pass
    locked = person.vault("login", password=PASSWORD)
    assert locked.status == 80 and ("vault unlock reset" in locked.err) == may_reset, locked


def lock_pin(person):
    for _ in range(3):
        assert person.vault("login", "--pin", password="9999").status == 77


def key_ids(person):
    return {way["kind"]: way["key_id"] for way in person.vault("unlock", "list", "--json").json}


@pytest.fixture(params=[(), ("--dpop", "offered")], ids=["bearer", "bound"])
def services(request, tmp_path, children):
    services = DevelopmentServices(tmp_path, *request.param)
    children.append(services)
    return services


@pytest.fixture
def keys(tmp_path, services, children):
    """A key service of its own, with an audit log."""
    folder = tmp_path / "service"
    folder.mkdir()
    log = folder / "audit.log"
    made = run([KEY_SERVICE, "audit", "init", "--audit-log", log, "--verification-key", folder / "audit.key"])
    assert made.status == 0, made
    keys = KeyService(folder, "--audit-log", log)
    children.append(keys)
    keys.kill()
    keys.options += ("--owner-issuer", services.issuer, "--public-url", keys.url, "--keep-unclaimed-keys")
    keys.start()
    keys.events = lambda: [json.loads(line)["event"] for line in log.read_text().splitlines()]
    return keys


@pytest.fixture
def allowed(keys):
    keys.kill()
    keys.options += ("--owner-unlock",)
    keys.start()
    return keys


@pytest.fixture
def desk(tmp_path, services, keys, children):
    settings = services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": keys.url}
    return Machine(tmp_path, settings, children).registered()


def test_a_sign_in_unlocks_the_password_once_a_day(desk, allowed):
    assert len(desk.devices()) == 1
    lock(desk)
    result = reset(desk)
    assert result.status == 0 and result.out.startswith("Unlocked: password.\nNext: vault login"), result
    wait_until(lambda: allowed.events().count("owner-unlocks") == 1, "the line in the audit log")
    # The guesses count again, and a locked key stays locked for the rest of the day.
    lock(desk, may_reset=False)
    result = desk.vault("unlock", "reset", "--no-browser", "--json")
    assert not URL.search(result.err), result
    # To wait a minute does not help, so this is no 75.
    assert (result.status, result.error["code"]) == (80, "keyLocked"), result
    message = result.error["message"]
    assert "in the last 24 hours" in message and "vault unlock reset" not in message
    key = key_ids(desk)["password"]
    assert f"For the operator: vault-key-service keys unlock {key} (add" in message
    assert re.search(f"Try again after {TIME}, or ask the operator ", message)
    assert allowed.events().count("owner-unlocks") == 1
    # All other commands say the same.
    terminal = desk.terminal("login")
    assert terminal.end() == 80, terminal.shown
    said = " ".join(terminal.shown.split())
    assert re.search(f"is still locked. {UNLOCKED_TODAY}. For the operator: ", said), said
    assert f"vault-key-service keys unlock {key} " in said and "vault unlock reset" not in said
    listed = desk.vault("unlock", "list").out
    assert re.search(f"^A sign-in can unlock password again after {TIME}.$", listed, re.M), listed
    assert f"vault-key-service keys unlock {key} " in listed and "vault unlock reset" not in listed
    doctor = desk.vault("doctor", "--json").out
    assert re.search(UNLOCKED_TODAY, doctor) and "vault unlock reset" not in doctor, doctor


def test_when_one_key_was_unlocked_today_then_reset_names_what_stays_locked(desk, allowed):
    desk.add_pin(password=PASSWORD)
    assert len(desk.devices()) == 1
    lock(desk)
    assert reset(desk).out.startswith("Unlocked: password.\n")
    lock(desk, may_reset=False)
    lock_pin(desk)
    ids = key_ids(desk)
    terminal = desk.terminal("login")
    assert terminal.end() == 80, terminal.shown
    said = " ".join(terminal.shown.split())
    assert said.endswith("are still locked. To unlock the PIN by a sign-in: vault unlock reset"), said
    listed = desk.vault("unlock", "list").out
    assert "To unlock PIN by a sign-in, if the key service allows that: vault unlock reset\n" in listed, listed
    result = reset(desk)
    assert result.status == 80 and result.out.startswith("Unlocked: PIN.\nNext: vault login"), result
    stays = "The password stays locked. The key was unlocked by a sign-in in the last 24 hours. Try again after 2"
    assert f"vault: {stays}" in result.err, result
    assert "The PIN still works: vault login --pin --user alice" in result.err, result
    assert f"vault-key-service keys unlock {ids['password']} (add" in result.err and ids["pin"] not in result.err
    # A script gets the same facts.
    lock_pin(desk)
    result = desk.vault("unlock", "reset", "--no-browser", "--json")
    assert not URL.search(result.err), result
    assert (result.status, result.error["code"], result.json["unlocked"]) == (80, "keyLocked", []), result
    locked = {way["kind"]: (way["code"], way["key_id"]) for way in result.json["still_locked"]}
    assert locked == {kind: ("keyLocked", ids[kind]) for kind in ("password", "pin")}
    assert all("in the last 24 hours" in way["reason"] for way in result.json["still_locked"])
    assert all(f"keys unlock {key}" in result.error["message"] for key in ids.values()), result


def test_when_the_only_locked_key_was_unlocked_today_then_reset_names_the_method_that_works(desk, allowed):
    desk.add_pin(password=PASSWORD)
    assert len(desk.devices()) == 1
    lock_pin(desk)
    assert reset(desk).out.startswith("Unlocked: PIN.\n")
    for _ in range(3):
        wrong = desk.vault("login", "--pin", password="9999")
    # The message of the last guess proposes no sign-in, either.
    assert wrong.status == 77 and re.search(UNLOCKED_TODAY, wrong.err) and "unlock reset" not in wrong.err, wrong
    result = desk.vault("unlock", "reset", "--no-browser")
    assert result.status == 80 and not URL.search(result.err), result
    assert re.search(f"The PIN stays locked. .* Try again after {TIME}", result.err), result
    assert "The password still works: vault login --password --user alice" in result.err, result
    # Without the note, the key service decides.
    desk.sql("DELETE FROM record WHERE name LIKE '%/keyslot-notes'")
    result = reset(desk)
    assert result.status == 80 and "in the last 24 hours. Try again 24 hours after that sign-in" in result.err, result


def test_when_a_right_login_made_a_new_key_then_reset_unlocks_again_at_once(desk, allowed):
    assert len(desk.devices()) == 1
    for _ in range(2):
        lock(desk)
        assert reset(desk).out.startswith("Unlocked: password.\n")
        assert desk.vault("login", password=PASSWORD).status == 0


def test_the_next_login_tells_of_the_unlock(desk, allowed):
    assert len(desk.devices()) == 1
    lock(desk)
    result = reset(desk, "--json")
    assert (result.status, result.json) == (0, {"unlocked": ["password"]}), result
    told = desk.vault("login", "--json", password=PASSWORD)
    assert told.status == 0 and [key["unlock_method"] for key in told.json["keys_unlocked"]] == ["password"], told
    # The keyslot has a new key since then.
    assert NOTICE not in desk.vault("login", password=PASSWORD).err
    result = reset(desk)
    assert result.status == 0 and "No unlock method of" in result.out, result


def test_when_all_is_locked_then_login_names_the_sign_in_only_if_it_helps(desk, allowed):
    assert len(desk.devices()) == 1
    lock(desk)
    terminal = desk.terminal("login")
    assert terminal.end() == 80, terminal.shown
    assert terminal.shown.strip().endswith(
        "The password of alice is still locked. To unlock it by a sign-in: vault unlock reset"), terminal.shown
    assert "vault unlock reset --user alice" in desk.vault("doctor", "--json").out


@pytest.mark.parametrize("state", ["stopped", "ended"])
def test_when_the_key_service_does_not_answer_then_logout_claims_no_way_back(desk, allowed, state):
    assert len(desk.devices()) == 1
    lock(desk)
    if state == "stopped":
        allowed.program.signal(signal.SIGSTOP)
    else:
        allowed.kill()
    try:
        result = desk.vault("logout")
    finally:
        if state == "stopped":
            allowed.program.signal(signal.SIGCONT)
    assert result.status == 0 and f"{allowed.url} did not answer, so vault does not know" in result.out, result
    assert "Only the operator" not in result.out and "To try later: vault unlock reset. For the oper" in result.out


@pytest.mark.parametrize("is_listed", [True, False])
def test_when_nothing_is_locked_then_reset_says_so_without_a_sign_in(desk, keys, is_listed):
    assert not is_listed or len(desk.devices()) == 1
    before = keys.keys()
    result = desk.vault("unlock", "reset", "--no-browser")
    assert (result.status, result.out) == (0, "No unlock method of alice is locked.\n"), result
    assert not URL.search(result.err)
    result = desk.vault("unlock", "reset", "--no-browser", "--json")
    assert (result.status, result.json) == (0, {"unlocked": []}), result
    assert all(key["wrongGuesses"] == 0 for key in keys.keys().values()) and keys.keys().keys() == before.keys()


def test_a_service_that_does_not_allow_it_sends_nobody_to_the_browser(desk, keys):
    assert len(desk.devices()) == 1
    lock(desk)
    result = desk.vault("unlock", "reset", "--no-browser")
    assert result.status == 78 and "--owner-unlock" in result.err and not URL.search(result.err), result
    (key,) = run([KEY_SERVICE, "keys", "list", "--json", "--data", keys.data]).json
    assert f"For the operator: vault-key-service keys unlock {key['id']} (add" in result.err, result


def test_the_options_that_the_operator_is_told_work(desk, keys, services):
    assert len(desk.devices()) == 1
    lock(desk)
    told = OPTIONS.search(desk.vault("unlock", "reset", "--no-browser").err)[1].split()
    assert told == ["--owner-issuer", services.issuer, "--public-url", keys.url, "--owner-unlock"]
    keys.kill()
    keys.options = (*keys.options[:2], *told)
    keys.start()
    assert reset(desk).out.startswith("Unlocked: password.\n")


def test_another_person_unlocks_nothing(desk, allowed):
    assert len(desk.devices()) == 1
    lock(desk)
    result = reset(desk, user="bob")
    assert result.status == 1 and "Another person signed in" in result.err, result
    assert desk.vault("login", password=PASSWORD).status == 80


def test_a_machine_that_is_not_on_the_list_needs_the_operator_and_no_sign_in(desk, allowed):
    lock(desk, may_reset=False)
    result = desk.vault("unlock", "reset", "--no-browser")
    assert result.status == 66 and "is not on the list of your devices" in result.err, result
    assert not URL.search(result.err) and "vault devices" not in result.err
    assert "vault unlock reset" not in desk.vault("doctor", "--json").out
    (key,) = run([KEY_SERVICE, "keys", "list", "--json", "--data", allowed.data]).json
    assert f"For the operator: vault-key-service keys unlock {key['id']} (add the server's --data" in result.err
    # It is what helps.
    assert run([KEY_SERVICE, "keys", "unlock", key["id"], "--data", allowed.data, *allowed.options[:2]]).status == 0
    assert desk.vault("login", password=PASSWORD).status == 0


def test_another_unlock_method_puts_the_machine_on_the_list_and_then_a_sign_in_unlocks(desk, allowed):
    desk.add_pin(password=PASSWORD)
    lock(desk, may_reset=False)
    result = desk.vault("unlock", "reset", "--no-browser")
    assert result.status == 66 and not URL.search(result.err), result
    assert "with the PIN: vault devices list --pin --user alice. Then try again.\n" in result.err
    assert desk.vault("devices", "list", "--pin", password=PIN).status == 0
    assert reset(desk).out.startswith("Unlocked: password.\n")


def test_a_token_for_any_service_must_not_unlock(tmp_path, keys):
    keys.kill()
    for options in (["--owner-issuer", "https://login.example.com"], ["--public-url", "https://keys.example.com"]):
        result = run([KEY_SERVICE, "serve", "--data", keys.data, "--owner-unlock", *options])
        assert result.status == 78 and "--public-url" in result.err, result
