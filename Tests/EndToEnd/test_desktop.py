"""Opening an account with the keyring of the desktop: a real GNOME Keyring, on a session bus of the test's own."""

import pytest
from support.keyring import DesktopLogin, MockSecrets
from support.person import OTHER_PASSWORD, PASSWORD

LOCKED = "vault: The desktop keyring is locked. Next: the password."
GONE = "vault: The desktop keyring is not there. Next: the password."


@pytest.fixture
def desktop(alice, children, tmp_path_factory):
    """The login of alice to her desktop."""
    children.append(desktop := DesktopLogin(tmp_path_factory.mktemp("d")))
    alice.settings |= desktop.settings
    return desktop


@pytest.fixture
def with_desktop(alice, desktop):
    """The desktop opens the account of alice."""
    added = alice.vault("unlock", "add", "desktop", "--yes", password=PASSWORD)
    assert (added.status, added.out) == (
        0, "The desktop keyring now opens alice without a question: vault login\n"), added
    return alice


def kinds(person):
    return sorted(way["kind"] for way in person.vault("unlock", "list", "--json").json)


def state(person):
    (state,) = [way["hardware"] for way in person.vault("unlock", "list", "--json").json if way["kind"] == "desktop"]
    return state


def asks_for_the_password(person, reason, *arguments):
    """Whether a login at a terminal gives this reason, and then opens the account with the password."""
    terminal = person.terminal("login", *arguments)
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    return terminal.end() == 0 and reason in terminal.shown


def test_the_desktop_opens_the_account_without_a_question(with_desktop, desktop):
    for command in (["login"], ["login", "--desktop"], ["token"]):
        result = with_desktop.vault(*command)
        assert (result.status, result.err) == (0, ""), result
    assert with_desktop.vault("item", "list").status == 0
    terminal = with_desktop.terminal("login")
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown and "Password" not in terminal.shown
    (way,) = [way for way in with_desktop.vault("unlock", "list", "--json").json if way["kind"] == "desktop"]
    assert (way["state"], way["hardware"], way["key_service_protocol"]) == ("usable", "ready", 2)
    # It outlives the login to the desktop.
    desktop.log_out()
    desktop.log_in()
    assert with_desktop.vault("token").status == 0
    # A given secret is the password, whatever else is there.
    assert with_desktop.vault("login", password=OTHER_PASSWORD).status == 77


def test_the_keyring_shows_what_the_secret_is_for(with_desktop, desktop):
    (item,) = desktop.items()
    assert '"Credential Vault"' in desktop.shown(item)
    assert '"xdg:schema" "credential-vault.unlock-method"' in desktop.shown(item)


def test_it_is_added_only_after_a_yes(alice, desktop):
    without = alice.vault("unlock", "add", "desktop", password=PASSWORD)
    assert without.status == 78 and "--yes" in without.err
    terminal = alice.terminal("unlock", "add", "desktop")
    terminal.expect("Let it open alice? [y/N] ")
    assert "for anybody who is logged in to the desktop" in terminal.shown
    terminal.type("n")
    assert terminal.end() == 82
    assert kinds(alice) == ["password"] and desktop.items() == []
    terminal = alice.terminal("unlock", "add", "desktop")
    terminal.expect("Let it open alice? [y/N] ")
    terminal.type("y")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert kinds(alice) == ["desktop", "password"] and len(desktop.items()) == 1


def test_a_locked_keyring_gives_way_to_the_password(with_desktop, desktop):
    desktop.lock()
    assert state(with_desktop) == "locked"
    assert asks_for_the_password(with_desktop, LOCKED)
    assert with_desktop.vault("token").status == 78, "nobody can be asked"
    # The keyring has no display for its window.
    named = with_desktop.vault("login", "--desktop", "--json")
    assert (named.status, named.error["code"]) == (84, "hardwareLocked"), named
    assert with_desktop.vault("login", password=PASSWORD).status == 0
    assert desktop.is_locked()


def test_without_a_desktop_it_gives_way_to_the_password(with_desktop, desktop, tmp_path):
    desktop.log_out()
    assert state(with_desktop) == "not there"
    assert asks_for_the_password(with_desktop, GONE)
    named = with_desktop.vault("login", "--desktop")
    assert named.status == 84 and "There is no desktop keyring here" in named.err
    with_desktop.settings["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={tmp_path}/nowhere"
    assert asks_for_the_password(with_desktop, GONE)
    assert with_desktop.vault("login", "--desktop").status == 84
    again = with_desktop.vault("unlock", "add", "desktop", "--yes", password=PASSWORD)
    assert again.status == 84 and "There is no desktop keyring here" in again.err


def test_a_secret_that_is_gone_is_made_again(with_desktop, desktop):
    desktop.delete_items()
    assert state(with_desktop) == "not there"
    assert asks_for_the_password(with_desktop, GONE)
    named = with_desktop.vault("login", "--desktop")
    assert named.status == 84 and "does not have the secret of this unlock method" in named.err
    assert with_desktop.vault("unlock", "add", "desktop", "--yes", password=PASSWORD).status == 0
    assert kinds(with_desktop) == ["desktop", "password"] and len(desktop.items()) == 1
    assert with_desktop.vault("login").status == 0


def test_77_somebody_at_the_unlocked_screen_adds_no_unlock_method(with_desktop, desktop):
    new = with_desktop.password_file(OTHER_PASSWORD, "new")
    before = with_desktop.stored()
    for command in (
        ["unlock", "add", "pin", "--new-pin-file", new], ["unlock", "add", "desktop", "--yes"],
        ["passwd", "--new-password-file", new], ["rekey", "--yes"],
    ):
        result = with_desktop.vault(*command, "--desktop")
        assert (result.status, result.out) == (77, ""), result
        assert "does not ask who you are" in result.err
    # Without the option they ask for the password, also while the keyring is unlocked.
    assert with_desktop.vault("unlock", "add", "pin", "--new-pin-file", new).status == 78
    assert with_desktop.stored() == before and len(desktop.items()) == 1


def test_77_registering_again_at_the_unlocked_screen_makes_no_recovery_code(with_desktop):
    terminal = with_desktop.terminal("register", "--no-browser", "--recovery-code")
    terminal.browse()
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("Open the account with the desktop keyring? [y/N] ")
    terminal.type("y")
    assert terminal.end() == 77, terminal.shown
    assert "Registered alice" in terminal.shown and "does not ask who you are" in terminal.shown
    assert kinds(with_desktop) == ["desktop", "password"]


@pytest.mark.parametrize("command", [
    ["unlock", "remove", "desktop", "--yes"], ["rekey", "--yes"], ["passwd", "--drop-other-methods"],
    ["delete", "--yes"],
])
def test_an_ended_unlock_method_leaves_no_secret_in_the_keyring(with_desktop, desktop, command):
    if command[0] == "passwd":
        command = [*command, "--new-password-file", with_desktop.password_file(OTHER_PASSWORD, "new")]
    password = None if command[0] == "unlock" else PASSWORD
    result = with_desktop.vault(*command, password=password)
    assert result.status == 0, result
    assert desktop.items() == []
    assert with_desktop.vault("login").status == (66 if command[0] == "delete" else 78)


def test_registering_again_keeps_everything(with_desktop):
    before = with_desktop.vault("unlock", "list", "--json").json
    terminal = with_desktop.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("Open the account with the desktop keyring? [y/N] ")
    terminal.type("y")
    assert terminal.end() == 0
    after = with_desktop.vault("unlock", "list", "--json").json
    assert [way["id"] for way in after] == [way["id"] for way in before]
    assert with_desktop.vault("login").status == 0


def test_ctrl_c_ends_the_wait_for_the_window(alice, children, tmp_path_factory):
    children.append(mock := MockSecrets(tmp_path_factory.mktemp("d")))
    alice.settings |= mock.settings
    assert alice.vault("unlock", "add", "desktop", "--yes", password=PASSWORD).status == 0
    mock.run("change answer wait")
    mock.run("change locked true")
    terminal = alice.terminal("login", "--desktop")
    terminal.expect("The desktop keyring is locked. Unlock it in its window.")
    mock.run("await_question")
    terminal.press("c")
    assert terminal.end() == 82
    # The person unlocks it in its window.
    mock.run("change answer unlock")
    assert alice.vault("login", "--desktop").status == 0
