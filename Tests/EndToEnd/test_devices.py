"""The list of devices, as a person with several machines uses it: `vault devices`, and the claims of each login."""

import json
import socket
import sqlite3

import pytest
from support.django_provider import CLIENT
from support.glewlwyd import CLIENT as GLEWLWYD_CLIENT
from support.oprf import Guess, OPRFKey
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.programs import KEY_SERVICE, run
from support.recorder import Recorder
from support.services import DevelopmentServices, KeyService
from support.thief import thief_of
from support.waiting import wait_until
from test_hardware import SoftwareTPM, add
from test_oprf_key_service import code
from test_owned_devices import service  # noqa: F401 (a fixture)

PIN = "2846"
ON = {"CREDENTIAL_VAULT_DEVICES": "on"}


class Machine(Person):
    """A machine of a person, with a store of its own."""

    def devices(self, **options):
        result = self.vault("devices", "--json", password=PASSWORD, **options)
        assert result.status == 0, result
        return result.json

    def this_device(self):
        (device,) = [device for device in self.devices() if device["this_device"]]
        return device

    def add_pin(self, **options):
        file = self.password_file(PIN, "pin")
        result = self.vault("unlock", "add", "pin", "--new-pin-file", file, **options)
        assert result.status == 0, result
        return self


@pytest.fixture
def machine(tmp_path, django, service, children):  # noqa: F811
    """Makes registered machines of alice."""

    def make(name, url=None, **options):
        folder = tmp_path / name
        folder.mkdir()
        settings = {"CREDENTIAL_VAULT_ISSUER": django.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT,
                    "CREDENTIAL_VAULT_KEY_SERVICE": url or service.url,
                    # The tokens of this provider are opaque.
                    "CREDENTIAL_VAULT_KEY_SERVICE_AUDIENCE": "any"}
        return Machine(folder, settings, children).registered(visit=django.visit, **options)

    return make


@pytest.fixture
def recorder(service, children):  # noqa: F811
    recorder = Recorder(service.url)
    children.append(recorder)
    return recorder


@pytest.fixture
def without_lists(tmp_path, children):
    """A recorder before a key service that keeps no lists."""
    folder = tmp_path / "without-lists"
    folder.mkdir()
    keys = KeyService(folder)
    recorder = Recorder(keys.url)
    children += [keys, recorder]
    return recorder


def kinds(device):
    return sorted(key.get("kind", "unknown") for key in device["keys"])


def test_a_lost_laptop_is_revoked_from_another_machine(machine):
    laptop, desk = machine("laptop").add_pin(password=PASSWORD), machine("desk")
    (own,) = laptop.devices()
    assert own["this_device"] and own["name"] == socket.gethostname() and kinds(own) == ["password", "pin"]
    lost, here = desk.devices()
    assert (lost["id"], lost["this_device"], lost.get("name")) == (own["id"], False, None)
    assert kinds(lost) == ["unknown", "unknown"] and kinds(here) == ["password"] and here["this_device"]
    table = desk.vault("devices", "list", password=PASSWORD).out.splitlines()
    assert table[0].split() == ["ID", "NAME", "KEYS", "OF", "MADE", "LAST", "USED", "LOCKED"]
    assert table[1].startswith(f"{lost['id'][:8]}  unknown device") and "(this device)" in table[2]
    refused = desk.vault("devices", "revoke", lost["id"][:8], password=PASSWORD)
    assert refused.status == 78 and "--yes" in refused.err
    result = desk.vault("devices", "revoke", lost["id"][:8], "--yes", password=PASSWORD)
    assert result.status == 0 and result.out.startswith(f"Revoked the unknown device {lost['id'][:8]}."), result
    for options, secret in (([], PASSWORD), (["--pin"], PIN)):
        refused = laptop.vault("login", *options, password=secret)
        assert refused.status == 80 and "This device was revoked" in refused.err, refused
    assert [device["id"] for device in desk.devices()] == [here["id"]]
    assert desk.vault("login", password=PASSWORD).status == 0
    gone = desk.vault("devices", "revoke", lost["id"][:8], "--yes", "--json", password=PASSWORD)
    assert (gone.status, gone.error["code"]) == (66, "deviceNotFound")


# Row: the method `offline`, hardware with `--opens-offline`
@pytest.mark.parametrize("how", ["login", "renewal"])
def test_a_revoked_machine_loses_its_offline_way_when_it_is_online(machine, how):
    laptop, desk = machine("laptop").add_pin(password=PASSWORD), machine("desk")
    assert laptop.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    lost = laptop.this_device()["id"]
    assert laptop.vault("login", "--offline", password=PASSWORD).status == 0
    assert desk.vault("devices", "revoke", lost, "--yes", password=PASSWORD).status == 0
    online = ["login"] if how == "login" else ["token", "--refresh", "--offline"]
    refused = laptop.vault(*online, password=PASSWORD)
    assert refused.status == 80 and "This device was revoked" in refused.err, refused
    refused = laptop.vault("login", "--offline", password=PASSWORD)
    assert refused.status == 80 and "This device was revoked" in refused.err, refused
    states = {row["kind"]: row["state"] for row in json.loads(laptop.vault("unlock", "list", "--json").out)}
    assert states["password"] == "revoked" and "offline" not in states, states
    assert "revoked" in laptop.vault("status").out


@pytest.mark.parametrize("change", ["passwd", "rekey", "unlock add", "register"])
def test_when_a_listed_machine_makes_new_keys_then_its_revocation_ends_them_too(machine, django, change):
    laptop, desk = machine("laptop"), machine("desk")
    lost, new = laptop.this_device()["id"], laptop.password_file(OTHER_PASSWORD, "new")
    # The list needs a valid token, which is renewed.
    laptop.sql("DELETE FROM item WHERE name = 'vault/access-token'")
    secret, options = OTHER_PASSWORD, []
    if change == "passwd":
        assert laptop.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    elif change == "rekey":
        assert laptop.vault("rekey", "--yes", password=PASSWORD).status == 0
        secret = PASSWORD
    elif change == "unlock add":
        laptop.add_pin(password=PASSWORD)
        secret, options = PIN, ["--pin"]
    else:
        laptop.registered("--yes", password=OTHER_PASSWORD, visit=django.visit)
    listed = [device for device in desk.devices() if not device["this_device"]]
    assert [len(device["keys"]) for device in listed] == [2 if change == "unlock add" else 1]
    assert change == "register" or listed[0]["id"] == lost
    assert desk.vault("devices", "revoke", listed[0]["id"], "--yes", password=PASSWORD).status == 0
    refused = laptop.vault("login", *options, password=secret)
    assert refused.status == 80 and "This device was revoked" in refused.err, refused


@pytest.fixture
def open_laptop(machine, runtime):
    """A machine whose agent holds a session."""
    laptop = machine("laptop")
    laptop.settings["XDG_RUNTIME_DIR"] = str(runtime)
    assert laptop.vault("login", password=PASSWORD).status == 0
    yield laptop
    laptop.vault("agent", "stop", "--force")


def test_an_open_session_of_a_revoked_machine_makes_no_new_unlock_method(machine, open_laptop):
    laptop, desk = open_laptop, machine("desk")
    lost, new = laptop.this_device()["id"], laptop.password_file(PIN, "pin")
    assert desk.vault("devices", "revoke", lost, "--yes", password=PASSWORD).status == 0
    refused = laptop.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD)
    assert refused.status == 80 and "This device was revoked" in refused.err, refused
    assert laptop.vault("agent", "status", "--json").json["sessions"] == []
    assert [row["kind"] for row in json.loads(laptop.vault("unlock", "list", "--json").out)] == ["password"]


def test_a_login_that_learns_of_the_revocation_ends_the_open_session(machine, open_laptop):
    laptop, desk = open_laptop, machine("desk")
    lost = laptop.this_device()["id"]
    assert desk.vault("devices", "revoke", lost, "--yes", password=PASSWORD).status == 0
    assert len(laptop.vault("agent", "status", "--json").json["sessions"]) == 1
    refused = laptop.vault("login", password=PASSWORD)
    assert refused.status == 80 and "This device was revoked" in refused.err, refused
    assert laptop.vault("agent", "status", "--json").json["sessions"] == []


def test_an_open_session_makes_no_new_way_in_without_a_secret(open_laptop):
    new = open_laptop.password_file(PIN, "pin")
    asked = open_laptop.vault("unlock", "add", "pin", "--new-pin-file", new)
    assert asked.status == 78 and "no terminal" in asked.err, asked
    wrong = open_laptop.vault("unlock", "add", "pin", "--new-pin-file", new, password=OTHER_PASSWORD)
    assert wrong.status == 77, wrong
    terminal = open_laptop.terminal("unlock", "add", "pin", "--new-pin-file", new)
    terminal.expect("Password of ")
    terminal.type(PASSWORD)
    terminal.expect("PIN added.")
    assert terminal.end() == 0


@pytest.fixture
def strict(service):  # noqa: F811
    """A key service that ends the keys that nobody claims."""
    return end_unclaimed_keys(service)


def end_unclaimed_keys(service):
    service.kill()
    service.options = tuple(option for option in service.options if option != "--keep-unclaimed-keys")
    service.start()
    return service


def make_older(service, hours):
    """Makes all keys older than they are, and starts the service, which then looks for old keys."""
    service.kill()
    (path,) = service.folder.rglob("keys.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE key_record SET created_at = created_at - ?", (hours * 3600,))
    database.close()
    service.start()


def test_when_no_token_may_be_sent_then_vault_registers_nobody(tmp_path, django, strict, children):
    settings = {"CREDENTIAL_VAULT_ISSUER": django.issuer, "CREDENTIAL_VAULT_CLIENT_ID": CLIENT,
                "CREDENTIAL_VAULT_KEY_SERVICE": strict.url}
    result = Machine(tmp_path, settings, children).vault("register", "--no-browser", password=PASSWORD)
    assert result.status == 78, result
    typed, meaning = "To list it: vault config set devices on.", "This sends an access token to the key service."
    assert f"{typed} {meaning}" in result.err, result
    assert states(strict) == []


def test_when_no_token_may_be_sent_then_unlock_add_asks_for_no_secret(machine, service):  # noqa: F811
    desk = machine("desk")
    end_unclaimed_keys(service)
    terminal = desk.terminal("unlock", "add", "pin")
    assert terminal.end() == 78, terminal.shown
    assert "To list it: vault config set devices on." in terminal.shown and "Password" not in terminal.shown
    # These need no new key.
    assert desk.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0


def test_when_a_day_has_gone_then_only_unclaimed_keys_have_ended(machine, strict):
    desk = machine("desk", env=ON)
    desk.settings |= ON
    desk.add_pin(password=PASSWORD)
    assert desk.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    new = desk.password_file(OTHER_PASSWORD, "new")
    assert desk.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    # Somebody with another program makes a key, and puts it on no list.
    hidden = OPRFKey(strict.url).make()
    assert hidden.session.get(hidden.base, timeout=10).json()["claim_within"] == 86400
    assert hidden.created["claim_within"] == 86400
    make_older(strict, 23)
    assert hidden.log_in()
    make_older(strict, 2)
    wait_until(lambda: states(strict) == ["ended"] * 2 + ["live"] * 3, "the end of the hidden key")
    assert code(hidden.evaluate(Guess(b"right"))) == (410, "ended")
    assert desk.vault("login", password=OTHER_PASSWORD).status == 0
    assert desk.vault("login", "--pin", password=PIN).status == 0


def test_the_beginning_of_an_id_must_be_long_enough(machine):
    desk = machine("desk")
    refused = desk.vault("devices", "revoke", desk.this_device()["id"][:3], "--yes", password=PASSWORD)
    assert refused.status == 64 and "at least 4 digits" in refused.err, refused


def test_names(machine):
    laptop, desk = machine("laptop"), machine("desk")
    laptop_id, desk_id = laptop.this_device()["id"], desk.this_device()["id"]
    assert laptop.vault("devices", "rename", "Anna's laptop", password=PASSWORD).out == "This machine is Anna's laptop now.\n"
    # A new unlock method has the name, too.
    assert kinds(laptop.add_pin(password=PASSWORD).this_device()) == ["password", "pin"]
    assert laptop.this_device()["name"] == "Anna's laptop"
    # Only the laptop can read its name. The desk can give it another one.
    assert [device.get("name") for device in desk.devices()] == [None, socket.gethostname()]
    result = desk.vault("devices", "rename", "old \"laptop\" é", "--device", laptop_id[:8], password=PASSWORD)
    assert result.out == f"The device {laptop_id[:8]} is old \"laptop\" é now.\n", result
    assert [device["name"] for device in desk.devices()] == ["old \"laptop\" é", socket.gethostname()]
    device = laptop.this_device()
    assert (device["id"], device["name"], kinds(device)) == (laptop_id, "Anna's laptop", ["password", "pin"])
    assert desk.this_device()["id"] == desk_id
    for name in ("", "x" * 101, "two\nlines"):
        assert desk.vault("devices", "rename", name, password=PASSWORD).status == 64
    long = desk.vault("devices", "rename", "\N{FAMILY}\N{ZERO WIDTH JOINER}" * 100, password=PASSWORD)
    assert long.status in (64, 78), long
    assert desk.this_device()["name"] == socket.gethostname()


def test_this_machine_is_revoked_only_after_a_question(machine):
    desk = machine("desk")
    id = desk.this_device()["id"][:8]
    for answer, revoked in (("n", False), ("y", True)):
        terminal = desk.terminal("devices", "revoke", id)
        terminal.expect("Password")
        terminal.type(PASSWORD)
        terminal.expect("This is the machine that you use now.")
        terminal.expect("[y/N]")
        terminal.type(answer)
        assert terminal.end() == (0 if revoked else 82)
        assert desk.vault("login", password=PASSWORD).status == (80 if revoked else 0)


def test_without_the_setting_no_access_token_goes_to_the_key_service(machine, recorder):
    desk = machine("desk", recorder.url).add_pin(password=PASSWORD)
    # Somebody who can write the disk cannot say that the person asked for the list.
    desk.sql("INSERT INTO item SELECT id, 'vault/device-label/list', randomblob(80) FROM account")
    token = desk.vault("token", "--refresh", password=PASSWORD).out.strip()
    assert desk.vault("login", "--pin", password=PIN).status == 0
    new = desk.password_file(OTHER_PASSWORD, "new")
    assert desk.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert desk.vault("doctor").status == 0
    assert len(recorder.calls) > 8 and recorder.access_tokens == []
    assert all(token.encode() not in body for body in recorder.bodies)
    # A person who runs the command sends it.
    assert desk.vault("devices", password=OTHER_PASSWORD).status == 0
    assert recorder.access_tokens != []


def test_with_the_setting_each_new_key_is_listed_once(machine, recorder):
    desk = machine("desk", recorder.url, env=ON)
    assert recorder.calls.count("claim") == 1
    for _ in range(2):
        assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    assert recorder.calls.count("claim") == 1
    desk.add_pin(password=PASSWORD, env=ON)
    assert recorder.calls.count("claim") == 2
    assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    assert recorder.calls.count("claim") == 2
    other = machine("laptop")
    assert kinds(other.devices()[0]) == ["unknown", "unknown"]
    assert desk.vault("config", "set", "devices", "perhaps").status == 78


def test_a_claim_that_fails_is_sent_again_after_an_hour(machine, recorder, service):  # noqa: F811
    service.kill()
    options = service.options
    # The service trusts another provider.
    service.options = ("--owner-issuer", "http://127.0.0.1:1", "--keep-unclaimed-keys")
    service.start()
    desk = machine("desk", recorder.url, env=ON)
    assert recorder.calls.count("claim") == 1
    for _ in range(3):
        assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    assert recorder.calls.count("claim") == 1
    service.kill()
    service.options = options
    service.start()
    assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    assert recorder.calls.count("claim") == 1
    (name, value), = desk.sql("SELECT name, value FROM record WHERE name LIKE '%/device'")
    record = json.loads(bytes(value))
    record["triedAt"] -= 3600
    desk.sql("UPDATE record SET value = ? WHERE name = ?", json.dumps(record).encode(), name)
    assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    assert recorder.calls.count("claim") == 2
    assert kinds(desk.this_device()) == ["password"]
    assert recorder.calls.count("claim") == 2


def test_a_key_service_without_lists_gets_no_token(machine, without_lists):
    desk = machine("desk", without_lists.url, env=ON)
    assert desk.vault("login", password=PASSWORD, env=ON).status == 0
    result = desk.vault("devices", "--json", password=PASSWORD)
    assert (result.status, result.error["code"]) == (78, "configurationInvalid")
    options = f"adds to vault-key-service serve: --owner-issuer {desk.settings['CREDENTIAL_VAULT_ISSUER']} --public-url {without_lists.url}. Without --keep-unclaimed-keys"
    assert "keeps no lists of devices" in result.error["message"] and options in result.error["message"]
    assert without_lists.access_tokens == []


def test_a_refused_token_says_what_the_operator_can_do(machine, service):  # noqa: F811
    desk = machine("desk")
    service.kill()
    service.options += ("--owner-audience", "https://keys.example.com")
    service.start()
    result = desk.vault("devices", password=PASSWORD)
    assert result.status == 78 and "--owner-audience" in result.err, result


def test_with_the_agent_nothing_is_asked(machine, runtime):
    desk = machine("desk")
    desk.settings["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        assert desk.vault("login", password=PASSWORD).status == 0
        result = desk.vault("devices", "rename", "the desk")
        assert (result.status, result.err) == (0, ""), result
        # A new unlock method needs the password, also with an agent.
        desk.add_pin(password=PASSWORD)
        (device,) = desk.vault("devices", "--json").json
        assert (device["name"], kinds(device)) == ("the desk", ["password", "pin"])
        # From now on, new keys are listed.
        assert desk.sql("SELECT count(*) FROM item WHERE name = 'vault/device-label/list'") == [(1,)]
        result = desk.vault("devices", "revoke", device["id"], "--yes")
        assert result.status == 0 and "password" not in result.err, result
        assert "nothing opens alice on this machine any more" in result.err
        # The session in the agent is locked, too.
        assert desk.vault("token").status != 0
        assert desk.vault("login", password=PASSWORD).status == 80
    finally:
        desk.vault("agent", "stop", "--force")


def test_the_agent_lists_new_keys(machine, recorder, runtime):
    desk = machine("desk", recorder.url, env=ON)
    desk.settings |= {"XDG_RUNTIME_DIR": str(runtime), **ON}
    try:
        assert desk.vault("login", password=PASSWORD).status == 0
        desk.add_pin(password=PASSWORD)
        # The agent sends the claim beside its answer.
        wait_until(lambda: recorder.calls.count("claim") == 2, "the claim of the PIN's key")
    finally:
        desk.vault("agent", "stop", "--force")


def test_a_way_in_that_a_thief_adds_with_a_copy_is_shown_apart(machine):
    desk = machine("desk")
    own = desk.this_device()
    thief = thief_of(desk)
    file = thief.password_file(PIN, "pin")
    assert thief.vault("unlock", "add", "pin", "--new-pin-file", file, password=PASSWORD).status == 0
    assert thief.vault("devices", password=PASSWORD).status == 0
    here, other = desk.devices()
    assert here["id"] == own["id"] and kinds(here) == ["password"]
    assert not other["this_device"] and kinds(other) == ["pin"] and other["id"] != own["id"]
    assert desk.vault("devices", "revoke", other["id"], "--yes", password=PASSWORD).status == 0
    assert thief.vault("login", "--pin", password=PIN).status == 80
    assert desk.vault("login", password=PASSWORD).status == 0


def states(service):  # noqa: F811
    keys = run([KEY_SERVICE, "keys", "list", "--json", "--data", service.data]).json
    return sorted(key["state"] for key in keys)


def test_a_revoked_account_can_be_deleted(machine, service):  # noqa: F811
    laptop, desk = machine("laptop"), machine("desk")
    assert laptop.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    lost = laptop.this_device()["id"]
    assert desk.vault("devices", "revoke", lost, "--yes", password=PASSWORD).status == 0
    assert states(service).count("revoked") == 2
    result = laptop.vault("delete", "--yes", password=PASSWORD)
    assert result.status == 0 and "Deleted" in result.out, result
    assert "This device was revoked" in result.err and "Until the key is revoked" in result.err
    assert laptop.vault("users", "--json").json == []
    assert states(service) == ["live", "revoked", "revoked"]


def test_delete_with_the_password_ends_every_key_and_without_it_says_which_stay(
        machine, service, tmp_path, children):  # noqa: F811
    children.append(tpm := SoftwareTPM(tmp_path / "tpm"))
    laptop, desk = machine("laptop").add_pin(password=PASSWORD), machine("desk").add_pin(password=PASSWORD)
    for person in (laptop, desk):
        assert person.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
        assert add(person, "tpm2", tpm.address).status == 0
    result = laptop.vault("delete", "--yes", password=PASSWORD)
    assert (result.status, result.err) == (0, "")
    assert states(service) == ["ended"] * 4 + ["live"] * 4
    result = desk.vault("delete", "--yes")
    assert result.status == 0
    for name in ("recovery code", "TPM"):
        assert f"The key of the {name} was not ended" in result.err, result
    assert states(service) == ["ended"] * 6 + ["live"] * 2


def test_signed_access_tokens_of_glewlwyd(tmp_path, glewlwyd, children):
    keys = KeyService(tmp_path, "--owner-issuer", glewlwyd.issuer, "--keep-unclaimed-keys")
    children.append(keys)
    settings = {"CREDENTIAL_VAULT_ISSUER": glewlwyd.issuer, "CREDENTIAL_VAULT_CLIENT_ID": GLEWLWYD_CLIENT,
                "CREDENTIAL_VAULT_KEY_SERVICE": keys.url, "CREDENTIAL_VAULT_REDIRECT_URI": glewlwyd.redirect_uri,
                # Its tokens name no service.
                "CREDENTIAL_VAULT_KEY_SERVICE_AUDIENCE": "any"}
    for name in ("laptop", "desk"):
        (tmp_path / name).mkdir()
    laptop, desk = (Machine(tmp_path / name, settings, children).registered(visit=glewlwyd.visit)
                    for name in ("laptop", "desk"))
    lost = laptop.this_device()["id"]
    assert {device["id"] for device in desk.devices()} == {lost, desk.this_device()["id"]}
    assert desk.vault("devices", "revoke", lost[:8], "--yes", password=PASSWORD).status == 0
    assert laptop.vault("login", password=PASSWORD).status == 80


def test_the_disk_has_no_name_of_another_machine(machine):
    laptop, desk = machine("laptop"), machine("desk")
    lost = laptop.this_device()["id"]
    assert desk.vault("devices", "rename", "violet laptop", "--device", lost, password=PASSWORD).status == 0
    for folder in (desk.home, desk.folder.parent / "keys"):
        for path in folder.iterdir():
            assert not path.is_file() or b"violet" not in path.read_bytes(), path
    database = sqlite3.connect(desk.database)
    assert database.execute("SELECT count(*) FROM record WHERE name LIKE '%/device'").fetchone() == (1,)
    database.close()
