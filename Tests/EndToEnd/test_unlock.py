"""Other unlock methods of an account: PIN, recovery code, and the password without the network."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
from support.faults import FaultProxy
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, VAULT, run
from support.terminal import Terminal

PIN = "2846"
CODE = re.compile(r"^((?:[0-9A-Z]{4}-){7}[0-9A-Z]{4})$", re.M)


def add_pin(person, pin=PIN, **options):
    new = person.password_file(pin, "new-pin")
    return person.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD, **options)


def kinds(person):
    return sorted(way["kind"] for way in person.vault("unlock", "list", "--json").json)


@pytest.fixture
def with_pin(person, services):
    def make():
        assert add_pin(person.registered()).status == 0

    services.prepare("alice-with-a-pin", person, make)
    return person


def test_a_pin_logs_in_beside_the_password(with_pin):
    result = with_pin.vault("login", "--pin", password=PIN)
    assert result.status == 0 and result.out.startswith("Signed in as alice.")
    assert with_pin.vault("login", password=PASSWORD).status == 0
    wrong = with_pin.vault("login", "--pin", password=PASSWORD)
    assert (wrong.status, wrong.err) == (77, "vault: Wrong PIN. 2 guesses are left.\n")
    assert with_pin.vault("token", "--pin", password=PIN).status == 0


@pytest.mark.parametrize("pin", ["1234", "1111", "121212", "2580", "1985", "150885", "123", "alice"])
def test_a_pin_that_anybody_would_try_is_refused(alice, pin):
    result = add_pin(alice, pin)
    assert result.status == 77 and "Choose another one" in result.err
    assert kinds(alice) == ["password"]


def test_locking_the_pin_leaves_the_password_working(with_pin):
    for left in ["2 guesses are left", "1 guess is left", "Another unlock method still opens the account"]:
        result = with_pin.vault("login", "--pin", password="9999")
        assert result.status == 77 and left in result.err
    assert with_pin.vault("login", "--pin", password=PIN).status == 80
    assert with_pin.vault("login", password=PASSWORD).status == 0
    # With the password, the person adds a new PIN, which gets a separate key.
    assert add_pin(with_pin).status == 0
    assert with_pin.vault("login", "--pin", password=PIN).status == 0


def test_a_pin_that_is_locked_says_so_and_gives_way_to_the_password(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    assert add_pin(person).status == 0

    def states():
        return {way["kind"]: way["state"] for way in person.vault("unlock", "list", "--json").json}

    for _ in range(2):
        assert person.vault("login", "--pin", password="9999").status == 77
    assert states() == {"password": "usable", "pin": "usable"}
    assert person.vault("login", "--pin", password="9999").status == 77
    assert states() == {"password": "usable", "pin": "locked"}
    listed = person.vault("unlock", "list").out
    assert re.search(r"  locked when vault last asked, at .* UTC; vault login asks again$", listed, re.M), listed
    assert person.vault("login", "--pin", password=PIN).status == 80, "it was named"
    gives_way = "To make a new one: vault unlock add pin. Next: the password."
    terminal = person.terminal("login")
    terminal.expect(f"The PIN is still locked. {gives_way}")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "PIN of alice: " not in terminal.shown, "that is known, and nobody should type it in vain"
    # Another machine's lock would leave the same state here.
    person.sql("DELETE FROM record WHERE name LIKE '%/keyslot-notes'")
    assert states()["pin"] == "usable"
    terminal = person.terminal("login")
    terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    terminal.expect(f"The PIN is locked at the key service. {gives_way}")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert states()["pin"] == "locked"
    # The operator unlocks the key, and the next answer shows this here.
    keys = [key["id"] for key in run([KEY_SERVICE, "keys", "list", "--data", key_service.data, "--json"]).json]
    for secret, status in [(PIN, 0), ("9999", 77)]:
        for key in keys:
            assert run([KEY_SERVICE, "keys", "unlock", "--data", key_service.data, key]).status == 0
        assert person.vault("login", "--pin", password=secret).status == status
        assert states()["pin"] == "usable"
        for _ in range(3):
            person.vault("login", "--pin", password="9999")
        assert states()["pin"] == "locked"


def test_when_guesses_were_wrong_then_status_and_list_show_the_guesses_left(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"

    def shown():
        status = person.vault("status", "--json").json["unlock_methods"]
        assert status == person.vault("unlock", "list", "--json").json
        return status[0]["state"], status[0].get("guesses_remaining"), "answered_at" in status[0]

    def words(text):
        status, listed = person.vault("status").out, person.vault("unlock", "list").out
        return re.search(rf"^Unlock methods: password \(protocol 2{text}\)$", status, re.M), listed

    assert shown() == ("usable", None, False)
    assert words("")[0] and " guess" not in words("")[1]
    for left, name in [(2, "2 guesses left"), (1, "1 guess left")]:
        assert person.vault("login", password=OTHER_PASSWORD).status == 77
        assert shown() == ("usable", left, True)
        status, listed = words(f", {name} when last tried, at {time}")
        assert status and re.search(f"  {name} when last tried, at {time}$", listed, re.M), listed
        assert "keys unlock" not in listed
    assert person.vault("login", password=OTHER_PASSWORD).status == 77
    assert shown() == ("locked", 0, True)
    status, listed = words(f", locked when vault last asked, at {time}")
    # The operator unlocks the key, as the owner's list says. These commands do not ask the key service, so what is
    # shown must still be true.
    words_before = f"To unlock password, the operator of {key_service.url} types: vault-key-service "
    (command,) = re.findall(f"^{words_before}(keys unlock \\S+) \\(add the server's --data or --config\\)$", listed, re.M)
    assert status and run([KEY_SERVICE, *command.split(), "--data", key_service.data]).status == 0
    assert words(f", locked when vault last asked, at {time}")[0]
    assert person.vault("login", password=PASSWORD).status == 0
    assert shown() == ("usable", None, False)


def test_the_list_names_each_key_as_the_operator_knows_it(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    assert add_pin(person.registered("--allow-offline")).status == 0
    keys = {way["kind"]: way.get("key_id") for way in person.vault("unlock", "list", "--json").json}
    assert keys.pop("offline") is None
    assert set(keys.values()) == key_service.live_keys()


def test_after_a_new_password_a_locked_pin_does_not_count_as_open(with_pin):
    for _ in range(3):
        with_pin.vault("login", "--pin", password="9999")
    new = with_pin.password_file(OTHER_PASSWORD, "new")
    result = with_pin.vault("passwd", "--new-password-file", new, password=PASSWORD)
    assert result.status == 0 and "still open" not in result.out, result
    assert re.search(r"This does not open it: PIN, locked when vault last asked, at .* UTC\.", result.out), result


def test_at_a_terminal_the_pin_comes_before_the_password(with_pin):
    terminal = with_pin.terminal("login")
    terminal.expect("PIN of alice: ")
    assert not terminal.echoes
    terminal.type(PIN)
    assert terminal.end() == 0
    assert PIN not in terminal.shown


def test_the_list_tells_what_there_is(with_pin):
    header, *rows = with_pin.vault("unlock").out.splitlines()
    assert header.split() == ["KIND", "LABEL", "PROTOCOL", "ADDED", "LAST", "USED", "STATE"]
    assert [row.split()[0] for row in rows] == ["password", "pin"]
    assert with_pin.vault("login", "--pin", password=PIN).status == 0
    assert with_pin.vault("unlock", "rename", "pin", "the short one").status == 0
    ways = {way["kind"]: way for way in with_pin.vault("unlock", "list", "--json").json}
    assert ways["pin"]["label"] == "the short one" and ways["pin"]["last_used_at"]
    assert with_pin.vault("unlock", "remove", "the short one", "--yes").status == 0
    assert kinds(with_pin) == ["password"]
    assert with_pin.vault("unlock", "remove", "pin").status == 78


def test_the_last_way_in_stays(alice):
    result = alice.vault("unlock", "remove", "password")
    assert result.status == 78 and "Nothing else opens alice with the network." in result.err
    assert alice.vault("login", password=PASSWORD).status == 0


# Row: `recovery`
def test_a_recovery_code_works_once_and_replaces_a_forgotten_password(person):
    result = person.register("--recovery-code")
    assert result.status == 0
    code = CODE.search(result.out)[1]
    assert person.vault("token", "--recovery-code", password=code).status == 78
    used = person.vault("login", "--recovery-code", "--json", password=code.lower())
    assert used.status == 0
    new_code = used.json["recovery_code"]
    assert CODE.match(new_code) and new_code != code
    assert person.vault("login", "--recovery-code", password=code).status == 77
    new = person.password_file(OTHER_PASSWORD, "new")
    changed = person.vault("passwd", "--recovery-code", "--new-password-file", new, password=new_code)
    assert changed.status == 0, changed
    last_code = CODE.search(changed.out)[1]
    assert person.vault("login", password=OTHER_PASSWORD).status == 0
    assert person.vault("login", "--recovery-code", password=new_code).status == 77
    assert person.vault("login", "--recovery-code", password=last_code).status == 0


def test_a_recovery_code_adds_another_way_and_is_replaced(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    pin = person.password_file(PIN, "new-pin")
    added = person.vault("unlock", "add", "pin", "--new-pin-file", pin, "--recovery-code", password=code)
    assert added.status == 0 and added.out.startswith("PIN added.")
    second = CODE.search(added.out)[1]
    assert person.vault("login", "--pin", password=PIN).status == 0
    assert person.vault("login", "--recovery-code", password=code).status == 77
    again = person.vault("unlock", "add", "recovery", "--recovery-code", "--json", password=second)
    assert again.status == 0 and again.json["added"] == "recovery"
    third = again.json["recovery_code"]
    assert kinds(person) == ["password", "pin", "recovery"]
    assert person.vault("login", "--recovery-code", password=second).status == 77
    assert person.vault("login", "--recovery-code", password=third).status == 0
    refused = person.vault("token", "--recovery-code", password=third)
    assert refused.status == 78 and "vault passwd --recovery-code" in refused.err


def test_a_recovery_code_that_nobody_sees_replaces_none(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [VAULT, "login", "--recovery-code", "--password-file", "-"], input=code, env=person.environment(),
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 74 and "No recovery code was changed" in done.stderr
    assert person.vault("login", "--recovery-code", password=code).status == 0


def test_registering_again_does_not_drop_the_other_ways_unasked(with_pin):
    again = with_pin.register(password="another one entirely")
    assert again.status == 77 and "A new password deletes: PIN." in again.err and "--yes" in again.err
    assert "Wrong password. 2 guesses are left." in again.err, "each guess costs one"
    assert kinds(with_pin) == ["password", "pin"]
    assert with_pin.register("--yes", password="another one entirely").status == 0
    assert kinds(with_pin) == ["password"]


def test_when_the_others_are_locked_then_vault_says_that_nothing_else_opens(with_pin):
    for _ in range(3):
        with_pin.vault("login", password="not this one")
    refused = with_pin.vault("unlock", "remove", "pin")
    assert refused.status == 78 and "--yes" in refused.err, refused
    left = "Left: password (locked when vault last asked, at "
    assert f"Nothing else opens alice. {left}" in refused.err, refused
    terminal = with_pin.terminal("unlock", "remove", "pin")
    terminal.expect(f"Nothing else opens alice. Remove the PIN? {left}")
    terminal.expect(" UTC) [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert with_pin.vault("login", "--pin", password=PIN).status == 0
    assert with_pin.vault("unlock", "remove", "password", "--yes").status == 0
    assert kinds(with_pin) == ["pin"]


def test_when_a_way_is_removed_then_vault_names_what_is_left(with_pin):
    code = with_pin.vault("unlock", "add", "recovery", password=PASSWORD)
    offline = with_pin.vault("unlock", "add", "offline", "--yes", password=PASSWORD)
    assert (code.status, offline.status) == (0, 0), (code, offline)
    for arguments in ([], ["--json"]):
        refused = with_pin.vault("unlock", "remove", "password", *arguments)
        assert refused.status == 78 and "Use --yes to remove without asking." in refused.err, refused
    question = "Remove the password and the password without the network? Left: PIN, recovery code [y/N] "
    terminal = with_pin.terminal("unlock", "remove", "password")
    terminal.expect(question)
    terminal.type("")
    assert terminal.end() == 82 and "Nothing was removed." in terminal.shown
    assert kinds(with_pin) == ["offline", "password", "pin", "recovery"]
    terminal = with_pin.terminal("unlock", "remove", "password")
    terminal.expect(question)
    terminal.type("y")
    assert terminal.end() == 0
    assert kinds(with_pin) == ["pin", "recovery"]


def test_the_way_in_goes_with_yes(with_pin):
    for _ in range(3):
        with_pin.vault("login", password="not this one")
    assert with_pin.vault("unlock", "remove", "pin", "--yes").status == 0
    assert kinds(with_pin) == ["password"]


def test_without_a_terminal_a_new_pin_comes_from_its_own_file(alice):
    result = alice.vault("unlock", "add", "pin", password=PASSWORD)
    assert result.status == 78 and "new PIN. Use --new-pin-file PATH." in result.err


def test_a_damaged_way_in_is_shown_and_leaves_the_others(with_pin):
    with_pin.sql("UPDATE keyslot SET wrapped = x'00' WHERE kind = 'pin'")
    terminal = with_pin.terminal("login")
    terminal.expect("vault: The PIN is damaged. To make a new one: vault unlock add pin. Next: the password.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    damaged = with_pin.vault("login", "--pin", password=PIN)
    assert damaged.status == 65 and damaged.err == (
        "vault: The PIN of alice is damaged. Nothing was deleted. Use another unlock method."
        " To make a new one: vault unlock add pin\n")
    ways = {way["kind"]: way for way in with_pin.vault("unlock", "list", "--json").json}
    assert (ways["password"]["state"], ways["pin"]["state"]) == ("usable", "damaged")
    assert f"damaged, to be removed: {ways['pin']['id']}" in with_pin.vault("unlock", "list").out
    for name in (ways["pin"]["id"], "PIN"):
        assert with_pin.vault("unlock", "remove", name, "--yes").status == 0
        assert kinds(with_pin) == ["password"]
        assert add_pin(with_pin).status == 0
        with_pin.sql("UPDATE keyslot SET wrapped = x'00' WHERE kind = 'pin'")
    # A new PIN replaces the damaged one.
    assert add_pin(with_pin).status == 0
    assert kinds(with_pin) == ["password", "pin"]
    assert with_pin.vault("login", "--pin", password=PIN).status == 0


def test_when_the_password_is_damaged_then_the_pin_makes_a_new_one(with_pin):
    with_pin.sql("UPDATE keyslot SET wrapped = x'00' WHERE kind = 'password'")
    terminal = with_pin.terminal("login")
    terminal.expect("vault: The password is damaged. To make a new one: vault passwd. Next: the PIN.")
    terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    assert terminal.end() == 0
    new = with_pin.password_file(OTHER_PASSWORD, "new")
    assert with_pin.vault("passwd", "--pin", "--new-password-file", new, password=PIN).status == 0
    assert with_pin.vault("login", password=OTHER_PASSWORD).status == 0


def test_a_recovery_code_that_cannot_be_stored_is_not_shown(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    with contextlib.closing(sqlite3.connect(person.database)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = person.vault("unlock", "add", "recovery", password=PASSWORD)
    assert result.status == 75 and not CODE.search(result.out + result.err), result
    assert person.vault("login", "--recovery-code", password=code).status == 0


def test_what_was_done_is_said_when_no_new_recovery_code_can_be_made(person):
    proxy = FaultProxy()
    try:
        proxy.target = urlsplit(person.environment()["CREDENTIAL_VAULT_KEY_SERVICE"]).port
        code = CODE.search(person.register("--recovery-code", "--key-service", f"http://{proxy.address}").out)[1]
        proxy.set("reset", request=b"POST /keyservice/v2/keys HTTP")
        result = person.vault("login", "--recovery-code", password=code)
        assert result.status == 69 and result.out.startswith("Signed in as alice."), result
        assert "No new recovery code was made. An old one still works." in result.err
        added = person.vault(
            "unlock", "add", "pin", "--recovery-code", "--new-pin-file", person.password_file(PIN, "pin"), password=code)
        assert added.status == 69 and kinds(person) == ["password", "recovery"], "not even a PIN"
        proxy.heal()
        assert person.vault("login", "--recovery-code", password=code).status == 0
    finally:
        proxy.kill()


def lock_password(person):
    for _ in range(3):
        assert person.vault("login", password="not the right one").status == 77
    assert person.vault("login", password=PASSWORD).status == 80


def again(person, *options):
    """Registers again at a terminal, up to the first question after the browser."""
    terminal = person.terminal("register", "--no-browser", *options)
    terminal.browse()
    terminal.expect("To keep its items and unlock methods, open it now.")
    return terminal


def test_registering_again_with_a_pin_keeps_everything(with_pin):
    lock_password(with_pin)
    before = with_pin.vault("unlock", "list", "--json").json
    terminal = again(with_pin)
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type(PASSWORD)
    terminal.expect("The key service has locked this password.")
    terminal.expect("PIN (empty to choose a new password): ")
    terminal.type("9999")
    terminal.expect("Wrong PIN. 2 guesses are left.")
    terminal.expect("PIN (empty to choose a new password): ")
    terminal.type(PIN)
    terminal.expect("vault passwd --pin")
    assert terminal.end() == 0
    after = with_pin.vault("unlock", "list", "--json").json
    # A slip of one's own changes nothing. The list has those first that work.
    assert [way["kind"] for way in after] == ["pin", "password"]
    assert {way["id"] for way in after} == {way["id"] for way in before}
    assert with_pin.vault("login", "--pin", password=PIN).status == 0


def test_registering_again_with_a_recovery_code_replaces_it(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    terminal = again(person)
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("Recovery code (empty to choose a new password): ")
    terminal.type(code)
    assert terminal.end() == 0
    new_code = CODE.search(terminal.shown.replace("\r", ""))[1]
    assert new_code != code
    assert person.vault("login", "--recovery-code", password=code).status == 77
    assert person.vault("login", "--recovery-code", password=new_code).status == 0
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("is_asked", [True, False])
def test_what_opens_without_the_network_saves_an_account_whose_key_is_locked(offline, is_asked):
    assert add_pin(offline).status == 0
    lock_password(offline)
    if is_asked:
        terminal = again(offline)
        terminal.expect("Password (empty for another unlock method): ")
        terminal.type(PASSWORD)
        terminal.expect("The password has a new key there now")
        assert terminal.end() == 0
    else:
        assert offline.register().status == 0
    assert kinds(offline) == ["offline", "password", "pin"]
    assert offline.vault("login", password=PASSWORD).status == 0
    assert offline.vault("login", "--pin", password=PIN).status == 0
    assert cut_off(offline, "login", "--offline")[0] == 0


def test_none_of_the_ways_leads_to_a_question_and_a_new_password(with_pin):
    terminal = again(with_pin)
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("PIN (empty to choose a new password): ")
    terminal.type("")
    terminal.expect("A new password deletes: PIN. Continue? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert with_pin.vault("login", "--pin", password=PIN).status == 0


def test_a_new_account_says_that_it_needs_the_network_again(offline):
    result = offline.register("--yes", password="another one entirely")
    assert result.status == 0 and "does not open without the network any more" in result.err
    assert kinds(offline) == ["password"]


def test_registering_with_all_ways_asks_for_the_password_once(person):
    terminal = person.terminal("register", "--no-browser", "--allow-offline", "--recovery-code")
    terminal.expect("Add this offline unlock method? [y/N] ")
    terminal.type("y")
    terminal.browse()
    terminal.expect("New password (at least 8 characters): ")
    terminal.type(PASSWORD)
    terminal.expect("The same again: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "Password of" not in terminal.shown and CODE.search(terminal.shown.replace("\r", ""))
    assert kinds(person) == ["offline", "password", "recovery"]
    assert cut_off(person, "login", "--offline")[0] == 0


def test_a_slip_after_registering_again_says_what_was_done(with_pin):
    terminal = with_pin.terminal("register", "--no-browser", "--allow-offline", "--recovery-code", "--yes")
    terminal.browse()
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("PIN (empty to choose a new password): ")
    terminal.type(PIN)
    terminal.expect("for opening without the network: ")
    terminal.type("a slip of the finger")
    assert terminal.end() == 77
    assert "The account is registered, but does not open without the network" in terminal.shown
    assert "vault unlock add offline" in terminal.shown
    assert kinds(with_pin) == ["password", "pin", "recovery"]


def test_who_has_a_pin_can_still_type_the_password(with_pin):
    terminal = with_pin.terminal("login", "--password")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0


def test_a_slip_in_a_recovery_code_costs_no_guess(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    slip = ("A" if code[0] != "A" else "B") + code[1:]
    for _ in range(4):
        assert person.vault("login", "--recovery-code", password=slip).status == 77
    assert person.vault("login", "--recovery-code", password=code).status == 0


def test_a_pin_replaces_a_forgotten_password(with_pin):
    new = with_pin.password_file(OTHER_PASSWORD, "new")
    result = with_pin.vault("passwd", "--pin", "--new-password-file", new, password=PIN)
    assert result.status == 0
    assert "These still open the account: PIN." in result.out
    assert with_pin.vault("login", password=OTHER_PASSWORD).status == 0
    dropped = with_pin.vault("passwd", "--drop-other-methods", "--new-password-file",
                             with_pin.password_file(PASSWORD, "old"), password=OTHER_PASSWORD)
    assert dropped.status == 0
    assert "These no longer open the account: PIN. To add them again:\n  vault unlock add pin\n" in dropped.out
    assert kinds(with_pin) == ["password"]


@pytest.mark.parametrize("point, is_there", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_a_pin_is_added(alice, point, is_there):
    died = add_pin(alice, env={"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert kinds(alice) == (["password", "pin"] if is_there else ["password"])
    assert (alice.vault("login", "--pin", password=PIN).status == 0) == is_there
    assert alice.vault("login", password=PASSWORD).status == 0
    assert add_pin(alice).status == 0
    assert alice.vault("login", "--pin", password=PIN).status == 0


@pytest.mark.parametrize("point, is_new", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_a_pin_is_replaced(with_pin, point, is_new):
    assert add_pin(with_pin, pin="7391", env={"CREDENTIAL_VAULT_FAULT": point}).status == -signal.SIGKILL
    assert kinds(with_pin) == ["password", "pin"]
    assert (with_pin.vault("login", "--pin", password="7391").status == 0) == is_new
    assert (with_pin.vault("login", "--pin", password=PIN).status == 0) != is_new


@pytest.mark.parametrize("point, is_new", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_a_recovery_code_is_replaced(person, point, is_new):
    old = CODE.search(person.register("--recovery-code").out)[1]
    died = person.vault("unlock", "add", "recovery", password=PASSWORD, env={"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert kinds(person) == ["password", "recovery"]
    assert bool(CODE.search(died.out)) == is_new, "a code is shown before it counts"
    works = CODE.search(died.out)[1] if is_new else old
    if is_new:
        assert person.vault("login", "--recovery-code", password=old).status == 77
    assert person.vault("login", "--recovery-code", password=works).status == 0


@pytest.mark.parametrize("point, is_there", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_the_way_without_the_network_is_added(alice, point, is_there):
    died = alice.vault("unlock", "add", "offline", "--yes", password=PASSWORD, env={"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert kinds(alice) == (["offline", "password"] if is_there else ["password"])
    assert (cut_off(alice, "login", "--offline")[0] == 0) == is_there
    assert alice.vault("login", password=PASSWORD).status == 0


# Without the network


def namespace():
    """Returns the command that runs a program without any network, including loopback."""
    return ["unshare", "-n", "--"] if os.geteuid() == 0 else ["unshare", "-r", "-n", "--"]


def cut_off(person, *arguments, password=PASSWORD):
    """Runs `vault` without any network."""
    command = [*namespace(), *person.command(VAULT, *arguments, "--password-file", "-")]
    done = subprocess.run(
        command, input=password + "\n", env=person.environment(), capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def offline(person, services):
    services.prepare("alice-offline", person, lambda: person.registered("--allow-offline"))
    return person


def test_without_the_network_the_password_opens_the_account(offline):
    status, out, err = cut_off(offline, "login")
    assert status == 0, err
    assert out.startswith("Opened alice without the network. The access token is valid until ")
    status, out, err = cut_off(offline, "token")
    assert status == 0 and re.fullmatch(r"\S+\n", out)
    status, out, err = cut_off(offline, "login", "--offline", "--json")
    assert status == 0 and '"offline" : true' in out
    # With the network again, the login is an ordinary login.
    result = offline.vault("login", "--offline", "--json", password=PASSWORD)
    assert result.status == 0 and result.json["offline"] is False


def test_status_tells_whether_it_is_offline_and_for_how_long(offline):
    state = offline.vault("status", "--json").json
    assert state["is_offline"] is False
    online, end = (datetime.fromisoformat(state[name]) for name in ("last_online_at", "opens_offline_until"))
    assert end - online == timedelta(days=14)
    assert cut_off(offline, "login")[0] == 0
    assert offline.vault("status", "--json").json["is_offline"] is True
    assert "opened without the network since then" in offline.vault("status").out
    assert offline.vault("login", password=PASSWORD).status == 0
    assert offline.vault("status", "--json").json["is_offline"] is False
    assert offline.vault("unlock", "remove", "offline", "--yes").status == 0
    assert "does not open without the network" in offline.vault("status").out


def test_without_the_network_the_pin_gives_way_to_the_password(offline):
    assert add_pin(offline).status == 0
    terminal = offline.keep(Terminal(namespace() + [VAULT, "login"], offline.environment(TERM="xterm")))
    terminal.expect("does not answer. Next: the password.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "Opened alice without the network." in terminal.shown and "PIN of alice: " not in terminal.shown


def test_an_account_without_a_password_says_what_opens_it(person):
    code = CODE.search(person.register("--recovery-code").out)[1]
    assert person.vault("unlock", "remove", "password", "--yes").status == 0
    terminal = person.terminal("login")
    assert terminal.end() == 78
    assert "alice has no password. Use: --recovery-code" in terminal.shown
    assert person.vault("token", password=PASSWORD).status == 78
    assert person.vault("login", "--recovery-code", password=code).status == 0


def test_any_way_in_logs_out_everywhere(with_pin):
    assert with_pin.vault("unlock", "remove", "password", "--yes").status == 0
    assert with_pin.vault("logout", "--everywhere", "--pin", password=PIN).status == 0
    assert with_pin.vault("login", "--pin", password=PIN).status == 83


def test_any_way_in_revokes_when_an_account_is_deleted(with_pin):
    result = with_pin.vault("delete", "--yes", "--pin", "--json", password=PIN)
    assert result.status == 0 and result.json == {"deleted": True, "revoked": True}


@pytest.mark.parametrize("words", [[], ["thing"]])
def test_without_a_known_kind_the_kinds_are_listed(person, words):
    result = person.vault("unlock", "add", *words)
    assert result.status == 64, result
    assert "What to add: pin, recovery, offline" in result.err


def test_when_a_kind_is_typed_as_messages_show_it_then_it_is_understood(with_pin):
    assert with_pin.vault("unlock", "rename", "PIN", "my Pin").status == 0
    assert with_pin.vault("unlock", "remove", "my Pin", "--yes").status == 0
    file = with_pin.password_file("7391", "new-pin")
    for kind in ("PIN", "Pin"):
        added = with_pin.vault("unlock", "add", kind, "--new-pin-file", file, "--json", password=PASSWORD)
        assert added.status == 0 and added.json["added"] == "pin", added
    for kind in ("recovery code", "Recovery-Code", "RECOVERY"):
        assert with_pin.vault("unlock", "add", kind, password=PASSWORD).status == 0
    assert with_pin.vault("unlock", "remove", "Recovery code", "--yes").status == 0
    assert with_pin.vault("unlock", "remove", "PIN", "--yes").status == 0
    assert kinds(with_pin) == ["password"]


def test_a_label_cannot_be_a_kind(with_pin):
    for label in ("password", "PIN", "Recovery code"):
        assert with_pin.vault("unlock", "rename", "pin", label).status == 64
    assert add_pin(with_pin, "7391").status == 0
    labelled = with_pin.vault("unlock", "add", "pin", "--label", "mine", password=PASSWORD)
    assert labelled.status == 64 and "vault unlock rename" in labelled.err


def test_the_time_without_the_network_is_limited(offline):
    status, _, err = cut_off(offline, "login", "--offline-max-age", "0")
    assert status == 83 and "too long ago" in err
    for command in (["unlock", "add", "recovery"], ["passwd", "--new-password-file", offline.password_file()]):
        limited = offline.vault(*command, "--offline", "--offline-max-age", "0", password=PASSWORD)
        assert limited.status == 83 and "offline-max-age DAYS" in limited.err, limited
    assert offline.vault("config", "set", "offline-max-age", "0").status == 0
    assert cut_off(offline, "login")[0] == 83
    assert cut_off(offline, "login", "--offline-max-age", "1")[0] == 0
    assert offline.vault("config", "set", "offline-max-age", "soon").status == 78


def test_without_the_network_a_wrong_password_is_slowed_down(offline):
    # A guess takes time, so the first waits may end before the next guess.
    for _ in range(10):
        status, _, err = cut_off(offline, "login", password="not the one")
        if status == 75:
            break
        assert status == 77, err
    assert status == 75 and "Too many wrong guesses. Try again in" in err


def test_who_did_not_allow_it_needs_the_network(alice):
    status, _, err = cut_off(alice, "login")
    assert status == 69 and "key service" in err
    assert cut_off(alice, "login", "--offline")[0] == 78


def test_it_is_added_only_when_it_is_wanted(alice):
    result = alice.vault("unlock", "add", "offline", password=PASSWORD)
    assert result.status == 78 and "--yes" in result.err
    assert kinds(alice) == ["password"]
    # If the password was given, the command asks nothing, even at a terminal.
    terminal = alice.terminal("unlock", "add", "offline", "--password-file", alice.password_file())
    assert terminal.end() == 78 and "[y/N]" not in terminal.shown
    terminal = alice.terminal("unlock", "add", "offline")
    terminal.expect("Add this offline unlock method? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert "try passwords without limit" in terminal.shown
    assert alice.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    assert kinds(alice) == ["offline", "password"]
    assert cut_off(alice, "login")[0] == 0


def test_registering_asks_before_it_allows_that(person):
    terminal = person.terminal("register", "--no-browser", "--allow-offline")
    terminal.expect("Add this offline unlock method? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert "http" not in terminal.shown, "nobody has gone to the browser yet"


def test_a_new_password_is_the_one_without_the_network_too(offline):
    new = offline.password_file(OTHER_PASSWORD, "new")
    assert offline.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert cut_off(offline, "login", "--offline")[0] == 77
    assert cut_off(offline, "login", "--offline", password=OTHER_PASSWORD)[0] == 0
