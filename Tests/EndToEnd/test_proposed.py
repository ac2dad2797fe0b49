"""The commands that vault proposes work as they stand."""

import signal

import pytest
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.programs import KEY_SERVICE, run

PIN = "2846"


def locked_out(person):
    """Locks the password and the PIN of alice."""
    named = ("--user", "alice")
    file = person.password_file(PIN, "pin")
    assert person.vault("unlock", "add", "pin", *named, "--new-pin-file", file, password=PASSWORD).status == 0
    for _ in range(3):
        assert person.vault("login", *named, password=OTHER_PASSWORD).status == 77
        assert person.vault("login", *named, "--pin", password="9999").status == 77
    return person


@pytest.fixture
def alone(person, key_service):
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    return person.registered("--no-agent", "--alias", "alice")


@pytest.fixture
def two(alone):
    return alone.registered("--no-agent", "--alias", "bob", user="bob")


def key_ids(key_service):
    return [key["id"] for key in run([KEY_SERVICE, "keys", "list", "--json", "--data", key_service.data]).json]


def test_with_two_accounts_proposed_commands_name_the_account(two):
    wrong = [two.vault("login", "--user", "bob", password=OTHER_PASSWORD) for _ in range(3)][-1]
    assert wrong.err.endswith("To register again: vault register\n"), wrong
    missing = two.vault("login", "--user", "alice", "--pin", password=PIN)
    assert missing.err.endswith("To add one: vault unlock add pin --user alice\n"), missing
    assert two.vault("unlock", "remove", "pin", "--user", "alice", "--yes").err.endswith(
        "See: vault unlock list --user alice\n")
    made = two.vault("unlock", "add", "recovery", "--user", "alice", password=PASSWORD)
    assert "vault passwd --recovery-code --user alice" in made.out + made.err, made


def test_with_one_account_proposed_commands_name_none(alone):
    missing = alone.vault("login", "--pin", password=PIN)
    assert missing.err.endswith("To add one: vault unlock add pin\n"), missing


def test_when_issuer_hides_the_other_account_then_the_command_still_names_one(alone, services, own_services):
    alone.registered("--no-agent", "--alias", "bob", "--issuer", own_services.issuer, user="bob")
    missing = alone.vault("login", "--issuer", services.issuer, "--pin", password=PIN)
    assert missing.err.endswith("To add one: vault unlock add pin --user alice\n"), missing


def test_when_the_settings_lack_the_provider_then_the_proposed_registration_has_it(alone, services, key_service):
    assert alone.vault("logout", "--everywhere", password=PASSWORD).status == 0
    named = ("CREDENTIAL_VAULT_ISSUER", "CREDENTIAL_VAULT_CLIENT_ID", "CREDENTIAL_VAULT_KEY_SERVICE")
    assert alone.vault("login", password=PASSWORD).err.endswith(" Type: vault register\n")
    for name in named:
        del alone.settings[name]
    command = f"vault register --issuer {services.issuer} --client-id vault-cli --key-service {key_service.url}"
    for result in (alone.vault("login", password=PASSWORD), alone.vault("status")):
        words = "".join((result.out + result.err).split())
        assert command.replace(" ", "") in words, result
    # It works as it stands.
    assert alone.register(*command.split()[2:]).status == 0


def test_without_settings_the_first_command_is_setup(tmp_path, children):
    nobody = Person(tmp_path, {}, children)
    for command in (["status"], ["login"], ["export", "--to", tmp_path / "backup", "--passphrase-file", "-"]):
        result = nobody.vault(*command)
        assert result.status == 66, result
        assert result.err == "vault: There is no account here yet. To set up this machine: vault setup\n"
    assert nobody.vault("users").err == "No accounts here yet. To set up this machine: vault setup\n"


def test_with_settings_the_first_command_is_register(person):
    assert person.vault("status").err == "vault: There is no account here yet. Register one: vault register\n"


def test_when_there_is_no_account_then_the_agent_proposes_no_login(person, runtime, tmp_path, children):
    none = "There is no account here yet."
    folder = {"XDG_RUNTIME_DIR": str(runtime)}
    (tmp_path / "n").mkdir()
    for nobody, step in ((person, "Register one: vault register\n"),
                         (Person(tmp_path / "n", {}, children), "To set up this machine: vault setup\n")):
        status = nobody.vault("agent", "status", env=folder)
        assert (status.status, status.out) == (0, f"No agent runs. {none} {step}"), status
        unlock = nobody.vault("agent", "unlock", env=folder)
        assert (unlock.status, unlock.err) == (66, f"vault: {none} {step}"), unlock


def test_when_everything_is_locked_then_adding_a_pin_does_not_propose_itself(alone, key_service):
    locked_out(alone)
    terminal = alone.terminal("unlock", "add", "pin")
    # No secret could help, so none is asked for.
    assert terminal.end() == 80
    assert "still locked" in terminal.shown and "vault unlock add pin" not in terminal.shown
    assert any(f"vault-key-service keys unlock {key}" in terminal.shown for key in key_ids(key_service))


def test_when_everything_is_locked_then_register_says_how_to_unlock(alone, key_service):
    assert alone.vault("item", "set", "note", "--password-file", alone.password_file(), input=b"x", stdin=None).status == 0
    locked_out(alone)
    terminal = alone.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("empty for another unlock method): ")
    terminal.type(PASSWORD)
    terminal.expect("The key service has locked this password.")
    terminal.expect("empty to choose a new password): ")
    terminal.type("")
    terminal.expect("you can also answer no, and have the key unlocked.")
    terminal.expect("A new password deletes: note")
    terminal.expect("[y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    # The list of devices does not have this machine, so no sign-in helps.
    assert "vault unlock reset" not in terminal.shown
    assert all(f"vault-key-service keys unlock {key}" in terminal.shown for key in key_ids(key_service))


def test_when_an_account_opens_then_no_sign_in_is_shown(alone, key_service):
    terminal = alone.terminal(shell='printf x | "$VAULT" item set note')
    terminal.expect("Password of alice: ")
    key_service.program.signal(signal.SIGSTOP)
    try:
        terminal.type(PASSWORD)
        terminal.expect("Opening alice")
    finally:
        key_service.program.signal(signal.SIGCONT)
    assert terminal.end() == 0
    assert "Signing in" not in terminal.shown
