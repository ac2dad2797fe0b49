"""Which unlock method a command asks for first, and what it says about one that is locked."""

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, run
from test_unlock import PIN, add_pin, lock_password, with_pin  # noqa: F401 (a fixture)

PASSPHRASE = "seven owls on a wire at dusk"
WAY = "To open the account in another way: add --pin"
PASSWORD_WORKS = "The password of alice still works: "


@pytest.fixture
def locked(with_pin):  # noqa: F811
    """A person with a PIN, whose password is locked."""
    lock_password(with_pin)
    return with_pin


def passphrase(person):
    return ["--passphrase-file", person.password_file(PASSPHRASE, "passphrase")]


def backup(person):
    file = person.folder / "backup"
    result = person.vault("export", "--to", file, *passphrase(person), "--pin", password=PIN)
    assert result.status == 0, result
    return file


COMMANDS = {
    "export": lambda person: ["export", "--to", person.folder / "second", *passphrase(person)],
    "import": lambda person: ["import", backup(person), *passphrase(person), "--keep"],
    "passwd": lambda person: ["passwd", "--new-password-file", person.password_file(OTHER_PASSWORD, "new")],
    "unlock add": lambda person: ["unlock", "add", "recovery"],
    "delete": lambda person: ["delete"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_when_the_password_is_locked_then_the_pin_is_asked_for(locked, command):
    terminal = locked.terminal(*COMMANDS[command](locked))
    if command == "delete":
        terminal.expect("[y/N] ")
        terminal.type("y")
        terminal.expect("PIN of alice, to revoke its token (empty: do not revoke): ")
    else:
        if command in ("passwd", "unlock add"):
            terminal.expect("The password is still locked. Next: the PIN.")
        terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    assert terminal.end() == 0, terminal.shown
    assert "assword of alice: " not in terminal.shown and "not revoked" not in terminal.shown


@pytest.mark.parametrize("command", ["export", "import"])
def test_when_a_command_only_opens_then_the_pin_comes_first(with_pin, command):  # noqa: F811
    terminal = with_pin.terminal(*COMMANDS[command](with_pin))
    terminal.expect("PIN of alice: ")
    terminal.type("")
    terminal.expect("No PIN. Next: the password.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0, terminal.shown


@pytest.mark.parametrize("command, prompt", [("passwd", "Current password of alice: "), ("unlock add", "Password of alice: ")])
def test_when_a_command_changes_the_methods_then_the_password_comes_first(with_pin, command, prompt):  # noqa: F811
    terminal = with_pin.terminal(*COMMANDS[command](with_pin))
    terminal.expect(prompt)
    terminal.type("")
    terminal.expect("No password. Next: the PIN.")
    terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    assert terminal.end() == 0, terminal.shown


def test_when_delete_gets_no_secret_then_the_token_is_not_revoked(with_pin):  # noqa: F811
    terminal = with_pin.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect("(empty: another unlock method): ")
    terminal.type("")
    terminal.expect("Password of alice, to revoke its token (empty: do not revoke): ")
    terminal.type("")
    assert terminal.end() == 0
    assert "not revoked at the identity provider: no password was given." in terminal.shown


def test_when_nothing_typed_means_no_revocation_then_delete_promises_no_other_method(alice):
    for _ in range(2):
        assert alice.vault("login", "--no-agent", password=OTHER_PASSWORD).status == 77
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect("This is the last guess. Another wrong password locks it.")
    terminal.expect("Password of alice, to revoke its token (empty: do not revoke): ")
    terminal.press("c")
    assert terminal.end() == 82 and "press Enter" not in terminal.shown, terminal.shown


@pytest.mark.parametrize("command", ["export", "passwd", "unlock add"])
def test_when_a_given_password_is_locked_then_the_error_names_the_option(locked, command):
    result = locked.vault(*COMMANDS[command](locked), password=PASSWORD)
    assert result.status == 80 and result.err.endswith(f"{WAY}\n"), result


def test_when_a_guess_locks_the_password_then_the_error_names_the_option(with_pin):  # noqa: F811
    for _ in range(3):
        result = with_pin.vault("login", password=OTHER_PASSWORD)
    assert result.status == 77 and result.err.endswith(f"{WAY}\n"), result


def test_when_one_method_stays_then_a_locked_password_names_the_option(locked):
    said = refusal(locked, "rekey")
    way = "To open the account in another way: vault rekey --pin"
    assert said.endswith(f"The password of alice is still locked. {way}"), said


def test_when_the_pin_is_refused_then_the_commands_that_go_on_are_named(with_pin):  # noqa: F811
    terminal = with_pin.terminal("login", "--pin")
    for pin in ("7193", "7194"):
        terminal.expect("PIN of alice: ")
        terminal.type(pin)
    terminal.expect("vault: Wrong PIN. 1 guess is left. vault does not use it by itself. To use this guess: vault login --pin.")
    terminal.expect(f" {PASSWORD_WORKS}vault login --password\r\n")
    assert terminal.end() == 77
    terminal = with_pin.terminal("login", "--pin")
    terminal.expect("PIN of alice: ")
    terminal.type("7195")
    terminal.expect("The key is locked now.")
    terminal.expect(f" {PASSWORD_WORKS}vault login --password\r\n")
    assert terminal.end() == 77
    said = refusal(with_pin, "token", "--pin", "--user", "alice")
    assert said.endswith(f"{PASSWORD_WORKS}vault token --user alice --password"), said
    terminal = with_pin.terminal("login", "--password")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0, terminal.shown


def test_when_a_given_pin_is_locked_then_its_option_is_replaced(with_pin):  # noqa: F811
    for _ in range(3):
        result = with_pin.vault("login", "--pin", password="7193")
    assert result.status == 77 and result.err.endswith(f"{PASSWORD_WORKS}use --password instead of --pin\n"), result


def test_when_help_names_the_recovery_code_then_it_says_which_commands_take_it(person):
    assert "(login, passwd and unlock add only)" in " ".join(person.vault("export", "--help").out.split())


def test_when_all_was_locked_then_the_pin_that_the_operator_unlocked_opens(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    assert add_pin(person.registered()).status == 0
    lock_password(person)
    for _ in range(3):
        assert person.vault("login", "--pin", password="7193").status == 77
    unlock_pin(person, key_service)
    terminal = person.terminal("login")
    terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    assert terminal.end() == 0, terminal.shown
    assert "locked" not in terminal.shown, "the key service said that it is open"


@pytest.fixture
def locked_pin(person, key_service):
    """A person whose PIN is locked, and whose password works."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    assert add_pin(person.registered()).status == 0
    for _ in range(3):
        assert person.vault("login", "--pin", password="7193").status == 77
    return person


def unlock_pin(person, key_service):
    """Does what the operator of the key service does."""
    [key] = [way["key_id"] for way in person.vault("unlock", "list", "--json").json if way["kind"] == "pin"]
    assert run([KEY_SERVICE, "keys", "unlock", key, "--data", key_service.data]).status == 0


def pin_state(person):
    [state] = [way["state"] for way in person.vault("unlock", "list", "--json").json if way["kind"] == "pin"]
    return state


def test_when_the_operator_unlocks_the_pin_then_login_asks_for_it_again(locked_pin, key_service):
    unlock_pin(locked_pin, key_service)
    terminal = locked_pin.terminal("login")
    terminal.expect("PIN of alice: ")
    assert pin_state(locked_pin) == "usable"
    assert all(key["wrongGuesses"] == 0 for key in key_service.keys().values()), "it cost a guess"
    terminal.type("7194")
    terminal.expect("Wrong PIN. 2 guesses are left.")
    terminal.expect("PIN of alice: ")
    terminal.type(PIN)
    assert terminal.end() == 0, terminal.shown
    assert "locked" not in terminal.shown and "assword of alice" not in terminal.shown


def test_when_the_pin_stays_locked_then_login_says_so(locked_pin):
    terminal = locked_pin.terminal("login")
    terminal.expect("The PIN is still locked. To make a new one: vault unlock add pin. Next: the password.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0, terminal.shown


def test_when_a_named_pin_stays_locked_then_no_command_asks_for_it(locked_pin):
    for words in (["login"], ["passwd"], ["devices", "list"], ["export", "--to", f"{locked_pin.folder}/new.cvb"]):
        said = refusal(locked_pin, *words, "--pin")
        command = " ".join(["vault", *words, "--password"])
        assert said.endswith(f"vault: The PIN of alice is still locked. {PASSWORD_WORKS}{command}"), said


def test_when_the_operator_unlocks_a_named_pin_then_login_asks_for_it(locked_pin, key_service):
    unlock_pin(locked_pin, key_service)
    terminal = locked_pin.terminal("login", "--pin")
    terminal.expect("PIN of alice: ")
    assert all(key["wrongGuesses"] == 0 for key in key_service.keys().values()), "it cost a guess"
    terminal.type(PIN)
    assert terminal.end() == 0 and "locked" not in terminal.shown, terminal.shown


def test_when_a_named_pin_stays_locked_then_delete_keeps_the_account(locked_pin):
    terminal = locked_pin.terminal("delete", "--pin")
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 80, terminal.shown
    assert f"The PIN of alice is still locked. {PASSWORD_WORKS}vault delete --password. " in terminal.shown
    assert "The account was not deleted." in terminal.shown and "PIN of alice," not in terminal.shown
    assert len(locked_pin.vault("users", "--json").json) == 1


def test_when_the_key_service_is_down_then_a_locked_pin_stays_passed_over(locked_pin, key_service):
    allowed = locked_pin.vault("unlock", "add", "offline", "--yes", password=PASSWORD)
    assert allowed.status == 0, allowed
    unlock_pin(locked_pin, key_service)
    key_service.kill()
    terminal = locked_pin.terminal("login")
    terminal.expect("The PIN was locked when vault last asked, at ")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0, terminal.shown
    assert pin_state(locked_pin) == "locked"


@pytest.fixture
def locked_out(locked_pin):
    """A person whose PIN and password are locked."""
    lock_password(locked_pin)
    return locked_pin


def refusal(person, *command):
    """What a command says at a terminal that asks for nothing."""
    terminal = person.terminal(*command)
    assert terminal.end() == 80, terminal.shown
    assert "of alice: " not in terminal.shown and "register" not in terminal.shown, terminal.shown
    return " ".join(terminal.shown.split())


@pytest.mark.parametrize("command", [["login"], ["passwd"], ["devices", "list"]], ids=" ".join)
def test_when_all_is_locked_then_the_operators_command_is_named(locked_out, key_service, command):
    said = refusal(locked_out, *command)
    assert "The password and the PIN of alice are still locked. Only the operator of " in said, said
    for key in key_service.keys():
        assert f"vault-key-service keys unlock {key} " in said, said
    assert "unlock reset" not in said and "devices" not in said


def test_when_all_is_locked_then_a_named_pin_names_the_operators_command(locked_out):
    [key] = [way["key_id"] for way in locked_out.vault("unlock", "list", "--json").json if way["kind"] == "pin"]
    said = refusal(locked_out, "login", "--pin")
    assert "The PIN of alice is still locked. Only the operator of " in said, said
    assert f"vault-key-service keys unlock {key} " in said and "&&" not in said, said


def test_when_all_is_locked_then_the_recovery_code_that_is_left_is_named(locked_pin):
    code = locked_pin.vault("unlock", "add", "recovery", "--json", password=PASSWORD).json["recovery_code"]
    lock_password(locked_pin)
    said = refusal(locked_pin, "login")
    assert said.endswith("are still locked. With the recovery code: vault login --recovery-code"), said
    said = refusal(locked_pin, "passwd")
    assert said.endswith("With the recovery code: vault passwd --recovery-code"), said
    assert locked_pin.vault("login", "--recovery-code", password=code).status == 0


def test_when_all_is_locked_then_the_offline_method_that_is_left_is_named(locked_pin):
    assert locked_pin.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    lock_password(locked_pin)
    said = refusal(locked_pin, "login")
    assert said.endswith("With the password, without the key service: vault login --offline"), said
    assert locked_pin.vault("login", "--offline", password=PASSWORD).status == 0


def test_when_all_is_locked_then_delete_asks_for_no_secret(locked_out):
    terminal = locked_out.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    assert terminal.end() == 0, terminal.shown
    assert "The password and the PIN of alice are still locked." in terminal.shown and "of alice, to" not in terminal.shown
