"""Removed unlock methods are dead: an older copy of the store does not open with the old secret."""

import signal

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.thief import guess, thief_of

PIN = "2846"


def add_pin(person, pin=PIN):
    new = person.password_file(pin, "new-pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD).status == 0


def change_password(person, password=OTHER_PASSWORD):
    return person.vault("passwd", "--new-password-file", person.password_file(password, "new"), password=PASSWORD)


CHANGES = {
    "passwd": (lambda person: change_password(person), (), PASSWORD),
    "another PIN": (lambda person: add_pin(person, "7391"), ("--pin",), PIN),
    "unlock remove": (lambda person: person.vault("unlock", "remove", "pin", "--yes"), ("--pin",), PIN),
    "delete": (lambda person: person.vault("delete", "--yes", password=PASSWORD), (), PASSWORD),
    "delete without a password": (lambda person: person.vault("delete", "--yes"), ("--pin",), PIN),
    "register again": (lambda person: person.register("--yes", password=OTHER_PASSWORD), (), PASSWORD),
}


# Row: the disk, after the key was ended
@pytest.mark.parametrize("change, options, secret", CHANGES.values(), ids=CHANGES.keys())
def test_an_old_secret_opens_no_copy(alice, change, options, secret):
    add_pin(alice)
    thief, early = thief_of(alice), thief_of(alice, "early-thief")
    assert guess(early, *options, secret=secret) is None
    result = change(alice)
    assert result is None or (result.status, result.err.count("could not")) == (0, 0), result
    assert guess(thief, *options, secret=secret) == "keyMissing"


def test_a_used_recovery_code_opens_no_copy(alice):
    code = alice.vault("unlock", "add", "recovery", "--json", password=PASSWORD).json["recovery_code"]
    thief = thief_of(alice)
    new = alice.vault("login", "--recovery-code", "--json", password=code).json["recovery_code"]
    assert guess(thief, "--recovery-code", secret=code) in ("keyMissing", "configurationInvalid")
    result = thief.vault("login", "--recovery-code", "--json", password=code)
    assert result.error["code"] == "keyMissing"
    assert alice.vault("login", "--recovery-code", password=new).status == 0


@pytest.fixture
def with_own_service(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered()
    add_pin(person)
    return person


@pytest.mark.parametrize("later", [["login"], ["doctor"]], ids=" ".join)
def test_what_could_not_be_ended_is_said_and_ended_later(with_own_service, key_service, later):
    alice, thief = with_own_service, thief_of(with_own_service)
    early = thief_of(alice, "early-thief")
    key_service.kill()
    removed = alice.vault("unlock", "remove", "pin", "--yes")
    assert removed.status == 0 and "does not open alice any more" in removed.out
    assert removed.err == (
        "vault: The key service could not end the key of the old PIN."
        " The next login tries again. To try now: vault doctor\n")
    check = next(check for check in alice.vault("doctor", "--json").json if check["name"] == "old keys")
    assert check["outcome"] == "warn" and check["finding"].endswith("still opens with its old secret.")
    key_service.start()
    assert guess(early, "--pin", secret=PIN) is None
    if later == ["doctor"]:
        check = next(check for check in alice.vault("doctor", "--json").json if check["name"] == "old keys")
        assert check == {"name": "old keys", "outcome": "ok", "finding": "1 old key was ended at the key service just now."}
    else:
        result = alice.vault(*later, password=PASSWORD)
        assert (result.status, result.err) == (0, "")
    assert guess(thief, "--pin", secret=PIN) == "keyMissing"
    assert alice.vault("login", password=PASSWORD).status == 0


def test_with_json_it_is_said_in_the_result(with_own_service, key_service):
    key_service.kill()
    removed = with_own_service.vault("unlock", "remove", "pin", "--yes", "--json")
    (told,) = removed.json["keys_not_ended"]
    assert told["unlock_method"] == "pin" and told["key_id"] in key_service.live_keys() and removed.err == ""


STAYS = (
    "vault: The key service could not end the key of the {}. The next login or registration with this key service"
    " tries again. Until then, an old copy of the store still opens with the {}. To try now: vault doctor")


def test_when_the_key_service_is_down_then_delete_says_what_stays(with_own_service, key_service):
    alice, thief = with_own_service, thief_of(with_own_service)
    assert alice.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    key_service.kill()
    terminal = alice.terminal("delete")
    terminal.expect("If you delete alice now, its keys stay at the key service, and its refresh token is not revoked.")
    terminal.expect("answer no, and try again when the key service answers.")
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 0
    for name in ("password", "PIN"):
        assert STAYS.format(name, name) in terminal.shown, terminal.shown
    assert "The key of the recovery code was not ended, because no secret opened the account." in terminal.shown
    assert "the old password" not in terminal.shown and "vault login" not in terminal.shown
    key_service.start()
    checks = alice.vault("doctor", "--json").json
    check = next(check for check in checks if check["name"] == "old keys")
    assert check["outcome"] == "ok" and check["finding"] == "2 old keys were ended at the key service just now."
    assert guess(thief, "--pin", secret=PIN) == "keyMissing"


def test_when_the_key_service_hangs_then_delete_says_what_stays(with_own_service, key_service):
    before = with_own_service.stored()
    key_service.program.signal(signal.SIGSTOP)
    try:
        terminal = with_own_service.terminal("delete", env={"CREDENTIAL_VAULT_KEY_SERVICE_TIMEOUT": "3"})
        terminal.expect("[y/N] ")
        assert "If you delete alice now, its keys stay at the key service" in terminal.shown, terminal.shown
        terminal.type("n")
        assert terminal.end() == 82 and with_own_service.stored() == before
    finally:
        key_service.program.signal(signal.SIGCONT)


def test_when_the_person_waits_for_the_key_service_then_nothing_stays(with_own_service, key_service):
    alice = with_own_service
    before = alice.stored()
    key_service.kill()
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("n")
    assert terminal.end() == 82 and alice.stored() == before
    key_service.start()
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    assert "stay at the key service" not in terminal.shown
    terminal.type("y")
    terminal.expect("PIN of alice, to revoke its token")
    terminal.type(PIN)
    assert terminal.end() == 0
    assert key_service.live_keys() == set()


def test_when_an_account_was_deleted_then_the_next_registration_ends_its_keys(with_own_service, key_service):
    key_service.kill()
    assert with_own_service.vault("delete", "--yes").status == 0
    key_service.start()
    assert len(key_service.live_keys()) == 2
    with_own_service.registered(user="bob")
    assert len(key_service.live_keys()) == 1


def test_when_no_command_here_can_end_a_key_then_delete_names_what_does(with_own_service, key_service):
    alice = with_own_service
    assert alice.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert alice.vault("unlock", "remove", "recovery", "--yes").status == 0

    def check():
        return next(check for check in alice.vault("doctor", "--json").json if check["name"] == "old keys")

    # Only the vault key opens the signature that ends the key of a recovery code.
    assert check()["advice"].startswith("To end the keys of alice: vault login --user "), check()
    (kept,) = alice.sql("SELECT name, value FROM record WHERE name = 'retired-keys'")
    deleted = alice.vault("delete", "--yes")
    (key,) = key_service.live_keys()
    command = f"vault-key-service keys revoke {key} (add the server's --data or --config)"
    assert deleted.status == 0 and "The key of the recovery code was not ended" in deleted.err, deleted
    told = f"For the operator of the key service: {command}. Write this down, because vault shows it only now."
    assert told in deleted.err, deleted
    # Nothing here can do more, so nobody is warned again.
    assert check()["outcome"] == "ok", check()
    # Another program listed the key just before.
    alice.sql("INSERT INTO record (name, value) VALUES (?, ?)", *kept)
    assert f"only the operator can end its keys: {command}" in check()["advice"], check()


def test_when_delete_opens_the_account_then_keys_of_removed_methods_end(with_own_service, key_service):
    alice = with_own_service
    assert alice.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert alice.vault("unlock", "remove", "recovery", "--yes").status == 0
    deleted = alice.vault("delete", "--yes", password=PASSWORD)
    assert deleted.status == 0 and "not ended" not in deleted.err, deleted
    assert key_service.live_keys() == set()
