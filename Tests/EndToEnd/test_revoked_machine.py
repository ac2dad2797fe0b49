"""A machine that its owner revoked: everything there says so, before anybody types a secret or opens a browser."""

import re

import pytest
from support.person import OTHER_PASSWORD, PASSWORD, URL
from support.programs import ROOT
from test_devices import PIN, Machine

PILOT_PAGE = ROOT / "Sources/KeyServiceServer/KeyServiceServer.docc/KeyServicePilot.md"
NOTHING_OPENS = "This machine was revoked, so no unlock method works here any more. The stored items are lost."
REGISTER = "To register again: vault register"


@pytest.fixture
def machine(tmp_path, services, children):
    """Makes registered machines of alice."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        return Machine(folder, services.environment, children).registered()

    return make


@pytest.fixture
def laptop(machine):
    """A machine on the list, with a password, a PIN and a recovery code."""
    laptop = machine("laptop").add_pin(password=PASSWORD)
    assert laptop.vault("unlock", "add", "recovery", password=PASSWORD).status == 0
    assert laptop.this_device()
    return laptop


def revoke(lost, by):
    id = lost.this_device()["id"]
    result = by.vault("devices", "revoke", id, "--yes", password=PASSWORD)
    assert result.status == 0, result
    return result


def states(machine):
    return {way["state"] for way in machine.vault("unlock", "list", "--json").json}


def requires_no_secret(machine):
    """Checks that everything on the machine says that it was revoked."""
    assert states(machine) == {"revoked"}
    assert f"{NOTHING_OPENS} {REGISTER}\n" in machine.vault("unlock", "list").out
    doctor = machine.vault("doctor")
    assert doctor.status == 1 and NOTHING_OPENS in doctor.out and REGISTER in doctor.out, doctor
    for command in (["login"], ["login", "--recovery-code"], ["login", "--pin"], ["passwd"], ["devices", "list"],
                    ["export", "--to", machine.folder / "new.cvb"]):
        terminal = machine.terminal(*command)
        assert terminal.end() == 80, (command, terminal.shown)
        assert "This device was revoked, so no unlock method opens the account here any more." in terminal.shown
        assert REGISTER in terminal.shown and "of alice: " not in terminal.shown, terminal.shown
        assert "Passphrase" not in terminal.shown
    reset = machine.vault("unlock", "reset", "--no-browser")
    assert reset.status == 80 and not URL.search(reset.err) and REGISTER in reset.err, reset
    assert "operator" not in reset.err
    for command in ("lock", "logout"):
        closed = machine.vault(command)
        assert closed.status == 0 and REGISTER in closed.out and "vault login" not in closed.out, closed


def test_when_a_machine_revokes_itself_then_everything_there_says_so(laptop):
    result = revoke(laptop, by=laptop)
    assert f"nothing opens alice on this machine any more. {REGISTER}" in result.err, result
    requires_no_secret(laptop)


def test_when_one_answer_says_revoked_then_all_unlock_methods_are(laptop, machine):
    revoke(laptop, by=machine("desk"))
    assert states(laptop) == {"usable"}, "nobody has asked yet"
    refused = laptop.vault("login", password=PASSWORD)
    assert refused.status == 80 and REGISTER in refused.err, refused
    requires_no_secret(laptop)


def test_when_a_desk_is_lost_then_the_commands_answer_as_on_the_page_of_the_pilot(laptop, machine):
    id, desk = laptop.this_device()["id"], machine("desk")
    assert desk.vault("devices", "rename", "desk 1", "--device", id, password=PASSWORD).status == 0
    revoked = desk.terminal("devices", "revoke", id[:8])
    revoked.expect("Password of alice: ")
    revoked.type(PASSWORD)
    revoked.expect("Revoke desk 1? [y/N] ")
    revoked.type("y")
    assert revoked.end() == 0, revoked.shown
    refused = laptop.terminal("login")
    refused.expect("PIN of alice: ")
    refused.type(PIN)
    assert refused.end() == 80, refused.shown
    page, shown = PILOT_PAGE.read_text(), (revoked.shown + refused.shown).replace("\r", "").splitlines()
    answers = re.compile(r"^(?:Revoked? desk 1|vault: an open session|PIN of|vault: This device).*", re.M)
    assert len(answers.findall(page)) == 5
    for line in answers.findall(page):
        assert any(there.strip() == line for there in shown), (line, shown)


def test_when_a_locked_machine_was_revoked_then_reset_opens_no_browser(laptop, machine):
    while laptop.vault("login", password=OTHER_PASSWORD).status == 77:
        pass
    # With the PIN: the password is locked.
    listed = laptop.vault("devices", "--json", "--pin", password=PIN).json
    [id] = [device["id"] for device in listed if device["this_device"]]
    assert machine("desk").vault("devices", "revoke", id, "--yes", password=PASSWORD).status == 0
    reset = laptop.vault("unlock", "reset", "--no-browser")
    assert reset.status == 80 and not URL.search(reset.err) and REGISTER in reset.err, reset
    requires_no_secret(laptop)


def test_when_a_revoked_machine_registers_then_no_old_secret_is_asked_for(laptop):
    revoke(laptop, by=laptop)
    terminal = laptop.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("alice is already registered here. This device was revoked, so no unlock method opens the account")
    terminal.expect("A new password deletes: ")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect("New password")
    terminal.type(OTHER_PASSWORD)
    terminal.expect("The same again: ")
    terminal.type(OTHER_PASSWORD)
    assert terminal.end() == 0, terminal.shown
    assert "for another unlock method" not in terminal.shown, terminal.shown
    assert laptop.vault("login", password=OTHER_PASSWORD).status == 0


def test_when_a_revoked_machine_stops_at_register_then_no_logout_is_proposed(laptop):
    revoke(laptop, by=laptop)
    terminal = laptop.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("[y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert "use the account pages of " in terminal.shown and "logout --everywhere" not in terminal.shown
