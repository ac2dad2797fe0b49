"""When a command asks for a secret: only once, again after a slip, and never in vain."""

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, run

HINT = "To be asked only once: vault login"
PIN = "2846"
WRONG = "not the password"


def sessions(person):
    return [session["name"] for session in agent_status(person)["sessions"]]


def type_at(terminal, prompt, *lines):
    for line in lines:
        terminal.expect(prompt)
        terminal.type(line)


# The first question of the day


@pytest.mark.parametrize("command", [["token"], ["exec", "--", "true"], ["helper", "curl"], ["userinfo"]], ids=" ".join)
def test_when_the_setting_says_so_then_the_first_question_opens_a_session(anna, command):
    assert anna.vault("config", "set", "open-session", "yes").status == 0
    terminal = anna.terminal(*command)
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert sessions(anna) == ["alice"] and HINT not in terminal.shown
    assert anna.vault("token").status == 0


def test_without_the_setting_the_person_reads_how_to_be_asked_once(anna):
    terminal = anna.terminal("token")
    type_at(terminal, "Password of alice: ", PASSWORD)
    terminal.expect(HINT)
    assert terminal.end() == 0
    assert sessions(anna) == []
    assert anna.vault("token").status == 78
    anna.registered("--no-agent", "--alias", "bob", user="bob")
    terminal = anna.terminal("token", "--user", "bob")
    type_at(terminal, "Password of bob: ", PASSWORD)
    terminal.expect(HINT + " --user bob")
    assert terminal.end() == 0
    assert anna.vault("config", "set", "open-session", "no").status == 0
    terminal = anna.terminal("token", "--user", "bob")
    type_at(terminal, "Password of bob: ", PASSWORD)
    assert terminal.end() == 0
    assert HINT not in terminal.shown


def test_what_asked_nobody_or_failed_opens_no_session(anna):
    anna.settings["CREDENTIAL_VAULT_OPEN_SESSION"] = "yes"
    assert anna.vault("token", password=PASSWORD).status == 0
    for arguments, status in [(["token", "--no-agent"], 0), (["logout", "--everywhere"], 0), (["token"], 83)]:
        terminal = anna.terminal(*arguments)
        if status == 0:
            type_at(terminal, "Password of alice: ", PASSWORD)
        assert terminal.end() == status
        assert sessions(anna) == []


def test_the_limits_of_the_settings_hold_for_such_a_session(anna):
    anna.settings |= {"CREDENTIAL_VAULT_OPEN_SESSION": "yes", "CREDENTIAL_VAULT_IDLE_TIMEOUT": "3"}
    terminal = anna.terminal("token")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    (session,) = agent_status(anna)["sessions"]
    assert session["idle_left"] <= 180


# The account


@pytest.fixture
def two(anna):
    """Two accounts, alice and bob. None is open."""
    return anna.registered("--no-agent", "--alias", "bob", user="bob")


def user_of(person, *arguments, **options):
    result = person.vault("status", "--json", *arguments, **options)
    assert result.status == 0, result
    return result.json["account"]["preferred_username"]


def test_a_command_without_a_name_tells_the_names(two):
    result = two.vault("token")
    assert result.status == 66
    assert result.err == "vault: There are 2 accounts here: alice, bob. Choose one: --user alice\n"
    error = two.vault("token", "--json").error
    assert error["code"] == "accountAmbiguous"
    assert [account.get("alias") for account in error["accounts"]] == [None, "bob"]
    assert all(account["issuer"] and account["subject"] for account in error["accounts"])


def test_the_setting_names_the_account(two):
    for name in ("alice", "bob"):
        assert two.vault("login", "--user", name, password=PASSWORD).status == 0
    tokens = {name: two.vault("token", "--user", name).out for name in ("alice", "bob")}
    for name, other in (("alice", "bob"), ("bob", "alice")):
        assert two.vault("config", "set", "user", name).status == 0
        # The small program reads the setting, too.
        assert two.vault("token").out == tokens[name] and user_of(two) == name
        assert two.vault("token", "--user", other).out == tokens[other]
        variable = {"CREDENTIAL_VAULT_USER": other}
        assert two.vault("token", env=variable).out == tokens[other] and user_of(two, env=variable) == other
    assert two.vault("config", "set", "user", "carol").status == 0
    result = two.vault("status")
    assert result.status == 66 and 'no account "carol"' in result.err and "vault config set user NAME" in result.err
    assert two.vault("config", "set", "user", "").status == 0
    assert two.vault("status").status == 66


def test_the_only_open_account_is_meant(two):
    assert two.vault("login", "--user", "bob", password=PASSWORD).status == 0
    assert user_of(two) == "bob"
    assert two.vault("token").out == two.vault("token", "--user", "bob").out
    assert two.vault("item", "set", "note", input=b"Room 4", stdin=None).status == 0
    # Here the person may mean the other account.
    for command in (["login"], ["delete", "--yes"], ["unlock", "remove", "password", "--yes"]):
        refused = two.vault(*command, password=PASSWORD) if command == ["login"] else two.vault(*command)
        assert refused.status == 66 and "alice, bob" in refused.err, refused
    assert two.vault("login", "--user", "alice", password=PASSWORD).status == 0
    assert two.vault("token").status == 66, "both are open"
    assert two.vault("lock", "--user", "alice").status == 0
    assert two.vault("lock").out.startswith("Locked bob.")
    assert two.vault("token").status == 66


# A slip


def test_after_a_wrong_password_it_asks_again(alice):
    terminal = alice.terminal("login")
    type_at(terminal, "Password of alice: ", WRONG)
    terminal.expect("vault: Wrong password. 2 guesses are left.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown


def test_one_command_never_spends_the_last_guess(alice):
    terminal = alice.terminal("token")
    type_at(terminal, "Password of alice: ", WRONG, WRONG)
    terminal.expect("vault: Wrong password. 1 guess is left.")
    assert terminal.end() == 77
    terminal = alice.terminal("login")
    terminal.expect("This is the last guess. Another wrong password locks it.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    terminal = alice.terminal("login")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert "last guess" not in terminal.shown


@pytest.mark.parametrize("command, prompt, after", [
    (["passwd"], "Current password of alice: ", "New password"),
    (["unlock", "add", "pin"], "Password of alice: ", "New PIN"),
    (["export", "--to", "backup.cvb"], "Password of alice: ", "Passphrase for the backup"),
    (["rekey", "--yes"], "Password of alice: ", "alice has a new vault key."),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_every_command_asks_again(alice, command, prompt, after):
    if command[0] == "export":
        command = [*command[:2], alice.folder / command[2]]
    terminal = alice.terminal(*command)
    type_at(terminal, prompt, WRONG, PASSWORD)
    terminal.expect(after)
    assert "Wrong password. 2 guesses are left." in terminal.shown


def test_a_given_password_is_tried_once(alice):
    terminal = alice.terminal("login", "--password-file", alice.password_file(WRONG, "wrong"))
    assert terminal.end() == 77
    assert terminal.shown.count("Wrong password. 2 guesses are left.") == 1


@pytest.mark.parametrize("answer", ["n", "y"])
def test_registering_again_asks_before_it_spends_the_last_guess(alice, answer):
    terminal = alice.terminal("register", "--no-browser")
    terminal.browse()
    type_at(terminal, "empty to choose a new password): ", WRONG, WRONG)
    terminal.expect("This is the last guess. Another wrong password locks it. Use it? [y/N] ")
    terminal.type(answer)
    if answer == "y":
        type_at(terminal, "empty to choose a new password): ", PASSWORD)
    else:
        type_at(terminal, "New password", OTHER_PASSWORD)
        type_at(terminal, "again: ", OTHER_PASSWORD)
    assert terminal.end() == 0
    assert alice.vault("login", password=PASSWORD if answer == "y" else OTHER_PASSWORD).status == 0


# In vain


@pytest.mark.parametrize("command", [["login"], ["token"], ["exec", "--", "true"], ["helper", "curl"]], ids=" ".join)
def test_without_a_refresh_token_nobody_is_asked(alice, command):
    assert alice.vault("logout", "--everywhere", password=PASSWORD).status == 0
    terminal = alice.terminal(*command)
    assert terminal.end() == 83
    assert "has no refresh token" in terminal.shown and "Password of" not in terminal.shown
    assert alice.vault("login", password=WRONG).status == 83, "it costs no guess"


@pytest.fixture
def own(person, key_service):
    """A person with a PIN, whose key service belongs to the test."""
    person.settings["CREDENTIAL_VAULT_KEY_SERVICE"] = key_service.url
    person.registered("--allow-offline")
    new = person.password_file(PIN, "new-pin")
    assert person.vault("unlock", "add", "pin", "--new-pin-file", new, password=PASSWORD).status == 0
    return person


def test_on_a_machine_that_is_known_as_revoked_nobody_is_asked(own, key_service):
    for key in key_service.live_keys():
        assert run([KEY_SERVICE, "keys", "revoke", "--data", key_service.data, key]).status == 0
    for arguments, secret in (([], PASSWORD), (["--pin"], PIN)):
        assert own.vault("login", *arguments, password=secret).status == 80
    for command in (["login"], ["token", "--pin"], ["unlock", "add", "recovery"]):
        terminal = own.terminal(*command)
        assert terminal.end() == 80
        assert "This device was revoked" in terminal.shown and " of alice: " not in terminal.shown


def test_before_a_locked_password_is_asked_for_the_person_is_told(own):
    for _ in range(3):
        assert own.vault("login", password=WRONG).status == 77
    terminal = own.terminal("login", "--password")
    terminal.expect("The password is locked at the key service. If somebody has unlocked it since then, type it.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 80


def test_without_the_key_service_only_what_opens_is_asked_for(own, key_service):
    key_service.kill()
    terminal = own.terminal("login")
    terminal.expect("does not answer. Next: the password.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert "PIN of alice" not in terminal.shown
    for command in (["login", "--pin"], ["unlock", "add", "pin"], ["passwd"], ["rekey"]):
        terminal = own.terminal(*command)
        assert terminal.end() == 69
        assert "does not answer" in terminal.shown and " of alice: " not in terminal.shown


def test_a_path_or_item_that_cannot_be_used_is_told_first(alice):
    for command, says in [
        (["export", "--to", "/nonexistent/backup.cvb"], "its folder does not exist"),
        (["exec", "--item", "missing=SECRET", "--", "true"], "no item called missing"),
        (["passwd", "--new-password-file", "/nonexistent/new"], "cannot be opened"),
        (["login", "--pin"], "alice has no PIN."),
    ]:
        terminal = alice.terminal(*command)
        assert terminal.end() == 78
        assert says in terminal.shown and " of alice: " not in terminal.shown, terminal.shown
