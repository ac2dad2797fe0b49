"""An account without a key service: one person on one machine. No setting names a key service."""

import hashlib
import re
import signal

import pytest
from support.keys import check_only_the_used_keys_live, kill_at, used
from support.machine import Machine
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.services import DevelopmentServices
from support.thief import thief_of
from test_hardware import PIN, WRONG, tpm  # noqa: F401 (a fixture)

FACT = "Guesses are not counted by a service."
MOVE = "vault key-services set URL"
# The costs of the password alone: 4 passes over 256 MiB.
DEAR = {"CREDENTIAL_VAULT_CHEAP_ARGON2": "0"}


@pytest.fixture
def alone(person):
    """A person whose settings name no key service."""
    del person.settings["CREDENTIAL_VAULT_KEY_SERVICE"]
    return person


@pytest.fixture
def alice(alone):
    """A person with one account, which only the password opens."""
    return alone.registered("--no-key-service", "--password-only")


def put(person, text, password=PASSWORD):
    file = person.password_file(password, "put")
    result = person.vault("item", "set", "note", "--password-file", file, input=text.encode(), stdin=None)
    assert result.status == 0, result


def get(person, password=PASSWORD):
    return person.vault("item", "get", "note", "--json", password=password).json["text"]


def move(person, url, *options, password=PASSWORD, **more):
    return person.vault("key-services", "set", url, *options, password=password, **more)


def check(person, name):
    return next((found for found in person.vault("doctor", "--json").json if found["name"] == name), None)


def set_key_service(person, url):
    """Changes the key service in the store, with the right checksum, as somebody who can write the disk does."""
    ((issuer, subject, client, secret),) = person.sql("SELECT issuer, subject, client_id, device_secret FROM account")
    fields = [field.encode() if isinstance(field, str) else field for field in (issuer, subject, client, url, secret)]
    message = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
    checksum = hashlib.blake2b(message, digest_size=32).digest()
    person.sql("UPDATE account SET key_service_url = ?, checksum = ?", url, checksum)


# Register and log in


def test_the_password_alone_opens_the_account(alice):
    put(alice, "Room 4: bandage")
    login = alice.vault("login", password=PASSWORD)
    assert login.status == 0 and login.out.startswith("Signed in as alice."), login
    assert alice.vault("token", password=PASSWORD).status == 0
    wrong = alice.vault("login", "--json", password=OTHER_PASSWORD)
    assert (wrong.status, wrong.error["code"]) == (77, "wrongSecret")
    assert wrong.error.get("guesses_remaining") is None
    assert get(alice) == "Room 4: bandage"
    new = alice.password_file(OTHER_PASSWORD, "new")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert alice.vault("login", password=PASSWORD).status == 77
    assert get(alice, OTHER_PASSWORD) == "Room 4: bandage"
    assert alice.sql("SELECT kind, key_id, protocol FROM keyslot") == [("password", "", None)]


# Row: the disk, and the password alone opens the account
def test_each_guess_costs_much(alone):
    alone.registered("--no-key-service", "--password-only", env=DEAR)
    costs = alone.sql("SELECT argon2_passes, argon2_memory_kib, argon2_lanes FROM keyslot")
    assert costs == [(4, 256 * 1024, 4)]


def test_registering_says_what_it_costs(alone):
    result = alone.register("--no-key-service", "--password-only")
    assert result.status == 0, result
    assert f"{FACT} A thief who has this machine's disk can try passwords without limit." in result.err
    assert MOVE in result.err


def test_78_a_missing_setting_is_no_choice(alone):
    result = alone.register()
    assert result.status == 78 and "vault register --no-key-service" in result.err, result
    assert "http" not in result.err
    assert alone.vault("users", "--json").json == []


@pytest.mark.parametrize("options", [
    ["--password-only"], ["--tpm2"], ["--fido2"], ["--no-key-service", "--password-only", "--fido2"],
    ["--no-key-service", "--recovery-code"], ["--no-key-service", "--allow-offline"],
    ["--no-key-service", "--key-service", "https://keys.example.com"],
], ids=" ".join)
def test_64_options_that_contradict_each_other(alone, options):
    assert alone.vault("register", *options, password=PASSWORD).status == 64


def test_without_a_tpm_the_other_choices_are_named(alone):
    result = alone.register("--no-key-service", env={"CREDENTIAL_VAULT_TPM2": "swtpm:host=127.0.0.1,port=1"})
    assert result.status in (78, 84) and "--password-only" in result.err and "--pkcs11" in result.err, result
    assert "http" not in result.err


def test_without_the_network_the_account_opens(tmp_path, children):
    services = DevelopmentServices(tmp_path)
    children.append(services)
    person = Person(tmp_path, services.environment, children)
    del person.settings["CREDENTIAL_VAULT_KEY_SERVICE"]
    person.registered("--no-key-service", "--password-only")
    put(person, "Room 4: bandage")
    services.kill()
    login = person.vault("login", password=PASSWORD)
    assert login.status == 0 and login.out.startswith("Opened alice without the network."), login
    assert get(person) == "Room 4: bandage"


# Row: this machine, and its TPM opens the account
def test_the_tpm_counts_wrong_pins(alone, tpm):  # noqa: F811 (a fixture)
    result = alone.register("--no-key-service", "--tpm2", tpm.address, password=PIN)
    assert result.status == 0 and f"{FACT} The TPM counts wrong PINs." in result.err, result
    hardware = ("login", "--tpm2", tpm.address)
    assert alone.vault(*hardware, password=PIN).status == 0
    assert alone.vault(*hardware, password=WRONG).status == 77
    assert alone.sql("SELECT kind, key_id FROM keyslot") == [("tpm2", "")]
    without = alone.vault("passwd", "--tpm2", tpm.address, password=PIN)
    assert without.status == 78 and "To add one: vault unlock add offline" in without.err, without
    tpm.lock()
    locked = alone.vault(*hardware, password=PIN)
    assert locked.status == 84, locked


def test_a_tpm_whose_count_can_be_reset_opens_nothing(alone, tpm):  # noqa: F811 (a fixture)
    tpm.drop_lockout_password()
    result = alone.register("--no-key-service", "--tpm2", tpm.address, password=PIN)
    assert result.status == 78 and "cannot open the account without the key service" in result.err, result
    assert "http" not in result.err


# What is said, and what is refused


def test_status_and_doctor_say_that_nobody_counts(alice):
    status = alice.vault("status")
    assert f"none. {FACT}" in status.out and "opens without the network, for any number of days" in status.out
    assert "key_service" not in alice.vault("status", "--json").json["account"]
    found = check(alice, "guesses")
    assert (found["outcome"], found["finding"]) == ("warn", f"{FACT} Accounts: alice.")
    assert MOVE in found["advice"]
    assert check(alice, "key service")["outcome"] == "ok"


def test_with_a_key_service_nothing_of_that_is_said(person):
    person.registered()
    assert FACT not in person.vault("status").out
    assert check(person, "guesses") is None


@pytest.mark.parametrize("command, feature", [
    (["unlock", "add", "pin"], "A PIN"), (["unlock", "add", "recovery"], "A recovery code"),
    (["unlock", "add", "desktop", "--yes"], "A desktop keyring"), (["devices"], "The list of devices"),
    (["devices", "revoke", "3f2a9c01", "--yes"], "The list of devices"), (["rekey", "--yes"], "A new vault key"),
    (["passwd", "--drop-other-methods"], "A new vault key"),
])
def test_78_what_needs_a_key_service_is_refused_by_name(alice, command, feature):
    before = alice.stored()
    result = alice.vault(*command, password=PASSWORD)
    assert (result.status, result.out) == (78, ""), result
    assert f"{feature} needs a key service, and alice has none." in result.err
    assert f"{MOVE} --user alice" in result.err
    assert alice.stored() == before


def test_78_no_sign_in_unlocks_anything(alice):
    result = alice.vault("unlock", "reset")
    assert result.status == 78 and "Unlocking by a sign-in needs a key service" in result.err, result


def test_78_the_last_unlock_method_stays(alice):
    result = alice.vault("unlock", "remove", "password", "--yes")
    assert result.status == 78 and "Nothing else opens alice." in result.err, result
    assert alice.vault("login", password=PASSWORD).status == 0


# Row: the right to write the disk, and changes the key service there
def test_65_a_key_service_that_somebody_wrote_opens_nothing(alice, services):
    before = alice.stored()
    set_key_service(alice, services.key_service)
    result = alice.vault("token", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (65, "storeCorrupt"), result
    set_key_service(alice, "")
    assert alice.vault("login", password=PASSWORD).status == 0
    assert len(alice.stored()) == len(before)


def test_65_a_key_service_that_somebody_took_away_opens_nothing(person):
    person.registered("--allow-offline")
    set_key_service(person, "")
    for options in ([], ["--offline"]):
        result = person.vault("token", *options, "--json", password=PASSWORD)
        assert (result.status, result.error["code"]) == (65, "storeCorrupt"), result


# Backups


def test_a_backup_gets_a_key_service_or_none_only_by_choice(alice, tmp_path, services, children):
    put(alice, "Room 4: bandage")
    file, passphrase = tmp_path / "backup", alice.password_file("tangerine-42-umbrella-at-noon", "passphrase")
    exported = alice.vault("export", "--to", file, "--passphrase-file", passphrase, password=PASSWORD)
    assert exported.status == 0, exported
    new = alice.password_file(OTHER_PASSWORD, "new")
    command = ("import", file, "--passphrase-file", passphrase, "--new-password-file", new)
    for name, options in [("without", ["--no-key-service"]), ("with", ["--key-service", services.key_service])]:
        (tmp_path / name).mkdir()
        other = Person(tmp_path / name, alice.settings, children)
        refused = other.vault(*command)
        assert refused.status == 78 and "had no key service" in refused.err, refused
        restored = other.vault(*command, *options)
        assert restored.status == 0, restored
        # The command that the person is told to type.
        assert " ".join(options) in restored.err, restored
        assert get(other, OTHER_PASSWORD) == "Room 4: bandage"
        status = other.vault("status", "--json").json["account"]
        assert status.get("key_service") == (services.key_service if name == "with" else None)


# Moving to a key service


def test_the_account_moves_with_the_same_password(alice, key_service):
    put(alice, "Room 4: bandage")
    moved = move(alice, key_service.url)
    assert moved.status == 0 and f"alice has the key service {key_service.url} now." in moved.out, moved
    assert alice.vault("status", "--json").json["account"]["key_service"] == key_service.url
    assert get(alice) == "Room 4: bandage"
    check_only_the_used_keys_live(alice, key_service)
    # From now on, the service counts.
    for _ in range(3):
        assert alice.vault("login", password=OTHER_PASSWORD).status == 77
    assert alice.vault("login", password=PASSWORD).status == 80
    again = move(alice, key_service.url)
    assert again.status == 78 and again.err.endswith(f"has a key service already: {key_service.url}.\n"), again


def commands(text, file):
    """The commands that move an account with a key service, as a message names them, in their order."""
    steps = r"first save the items: (.*)\. Then: (.*)\. Then: (.*)\. At the end: (vault import FILE)"
    found = re.search(steps, text).groups()
    return [command.replace("FILE", str(file)).split()[1:] for command in found]


@pytest.mark.parametrize("said_by", ["register", "key-services set"])
def test_when_an_account_has_another_key_service_then_the_named_commands_move_it(person, key_service, said_by):
    person.registered()
    put(person, "Room 4: bandage")
    if said_by == "register":
        result = person.register("--key-service", key_service.url)
        # Before the sign-in.
        told, _, signed_in = result.err.partition("authorize?")
        assert result.status == 0 and signed_in, result
        assert f"alice ({person.settings['CREDENTIAL_VAULT_KEY_SERVICE']})" in told
    else:
        result = move(person, key_service.url)
        assert result.status == 78 and "register again" not in result.err, result
        told = result.err
    passphrase = person.password_file(OTHER_PASSWORD, "passphrase")
    secrets = ("--password-file", person.password_file(), "--passphrase-file", passphrase)
    export, delete, register, restore = commands(told, person.folder / "backup")
    assert person.vault(*export, *secrets).status == 0
    assert person.vault(*delete, "--yes", password=PASSWORD).status == 0
    assert person.register(*register[1:]).status == 0
    assert person.vault(*restore, *secrets).status == 0
    assert person.vault("status", "--json").json["account"]["key_service"] == key_service.url
    assert get(person) == "Room 4: bandage"


def test_when_an_account_has_no_key_service_then_register_names_the_move(alice, key_service):
    result = alice.register("--key-service", key_service.url)
    told = result.err.partition("authorize?")[0]
    assert result.status == 0 and f"To move alice to {key_service.url}: {MOVE[:-3]}{key_service.url} --user alice\n" in told


def test_77_a_wrong_password_moves_nothing(alice, key_service):
    before = alice.sql("SELECT key_service_url FROM account"), alice.sql("SELECT id FROM keyslot")
    assert move(alice, key_service.url, password=OTHER_PASSWORD).status == 77
    assert (alice.sql("SELECT key_service_url FROM account"), alice.sql("SELECT id FROM keyslot")) == before
    assert key_service.keys() == {}


def test_69_a_silent_key_service_moves_nothing(alice, key_service):
    key_service.kill()
    assert move(alice, key_service.url).status == 69
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("point, has_moved", [
    ("key-created", False), ("key-confirmed", False), ("keyslot-made", False), ("vault-key-staged", False),
    ("vault-key-verified", False), ("vault-key-half-replaced", False), ("vault-key-replaced", True),
])
def test_a_crash_leaves_the_account_as_before_or_moved(alice, key_service, point, has_moved):
    put(alice, "Room 4: bandage")
    died = move(alice, key_service.url, env=kill_at(point))
    assert (died.status, died.out) == (-signal.SIGKILL, ""), died
    ((url,),) = alice.sql("SELECT key_service_url FROM account")
    assert url == (key_service.url if has_moved else "")
    assert get(alice) == "Room 4: bandage"
    if not has_moved:
        assert move(alice, key_service.url).status == 0
    assert get(alice) == "Room 4: bandage"
    assert len(used(alice)) == 1
    check_only_the_used_keys_live(alice, key_service)


# Row: an old copy, from before the move to a key service
def test_an_old_copy_reads_nothing_that_is_written_later(alice, key_service):
    put(alice, "before")
    thief = thief_of(alice)
    assert move(alice, key_service.url).status == 0
    put(alice, "later")
    assert get(thief) == "before"
    assert get(alice) == "later"


def test_the_tpm_moves_with_the_same_pin(alone, key_service, tpm):  # noqa: F811 (a fixture)
    assert alone.register("--no-key-service", "--tpm2", tpm.address, password=PIN).status == 0
    moved = move(alone, key_service.url, "--tpm2", tpm.address, password=PIN)
    assert moved.status == 0, moved
    assert alone.vault("login", "--tpm2", tpm.address, password=PIN).status == 0
    assert key_service.live_keys() == used(alone) != {""}


# The policy

needs_machine = pytest.mark.skipif(not Machine.is_possible(), reason="a private /etc needs a mount namespace")


@needs_machine
@pytest.mark.parametrize("rules, rule", [
    ({"require_key_service": True}, "require-key-service"), ({"maximum_offline_days": 3}, "maximum-offline-days"),
], ids=["require-key-service", "maximum-offline-days"])
def test_85_the_policy_requires_a_key_service(alice, tmp_path, key_service, children, rules, rule):
    alice.disk = machine = Machine(tmp_path)
    machine.set_policy(**rules)
    result = alice.vault("login", password=PASSWORD)
    assert (result.status, result.out) == (85, ""), result
    assert f"The policy forbids accounts without a key service (the rule {rule} in " in result.err and MOVE in result.err
    assert f"forbids this account ({rule})" in alice.vault("status").out
    (tmp_path / "new").mkdir()
    other = Person(tmp_path / "new", alice.settings, children)
    other.disk = machine
    refused = other.register("--no-key-service", "--password-only")
    assert refused.status == 85 and "http" not in refused.err, refused
    # The way out: the account moves.
    assert move(alice, key_service.url).status == 0
    assert alice.vault("login", password=PASSWORD).status == 0
