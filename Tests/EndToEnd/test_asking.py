"""When a command asks for a secret: only once, again after a slip, and never in vain."""

import shutil
import signal

import pytest
from support.agent import agent_status
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import KEY_SERVICE, run

HINT = "To be asked only once: vault login"
PIN = "2846"
WRONG, ALSO_WRONG = "not the password", "not that one"


def sessions(person):
    return [session["name"] for session in agent_status(person)["sessions"]]


def type_at(terminal, prompt, *lines):
    for line in lines:
        terminal.expect(prompt)
        terminal.type(line)


def test_when_nothing_is_typed_at_the_last_guess_then_vault_names_the_next_step(alice):
    for _ in range(2):
        assert alice.vault("login", password=WRONG).status == 77
    terminal = alice.terminal("login")
    terminal.expect("This is the last guess. Another wrong password locks it.")
    type_at(terminal, "Password of alice: ", "")
    terminal.expect("The password is empty. No guess was used. Type the command again.")
    terminal.expect("To see the unlock methods: vault unlock list")
    assert terminal.end() == 77
    assert alice.vault("login", password=PASSWORD).status == 0


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


@pytest.mark.parametrize("cause", ["no token", "refused"])
def test_when_a_login_cannot_work_then_the_person_does_not_read_of_it(anna, cause):
    assert anna.vault("item", "set", "note", "--password-file", anna.password_file(), input=b"x", stdin=None).status == 0
    if cause == "no token":
        assert anna.vault("logout", "--everywhere", password=PASSWORD).status == 0
    else:
        anna.sql("UPDATE account SET refused_at = created_at")
    terminal = anna.terminal("item", "get", "note")
    type_at(terminal, "[y/N] ", "y")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0 and HINT not in terminal.shown


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


@pytest.mark.parametrize("lock", [["lock"], ["agent", "lock"], ["agent", "stop"]], ids=" ".join)
def test_a_lock_after_the_question_keeps_the_session_closed(anna, lock):
    anna.settings["CREDENTIAL_VAULT_OPEN_SESSION"] = "yes"
    terminal = anna.terminal("item", "set", "note")
    type_at(terminal, "Password of alice: ", PASSWORD)
    terminal.expect("Value of note: ")
    assert anna.vault(*lock).status == 0
    if lock[-1] == "stop":
        assert anna.vault("agent", "start").status == 0
    terminal.type("Room 4")
    assert terminal.end() == 0
    assert "The agent locked all sessions during the login." in terminal.shown
    assert sessions(anna) == [] and anna.vault("token").status == 78


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
    assert result.err == (
        "vault: There are 2 accounts here: alice, bob. Choose one: --user alice."
        " To choose one for all commands: vault config set user alice\n")
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
    assert two.vault("config", "set", "user", "").status == 0
    assert two.vault("status").status == 66


def test_the_setting_names_only_an_account_that_is_here(two):
    result = two.vault("config", "set", "user", "carol")
    assert result.status == 66 and result.err == (
        'vault: There is no account "carol" here, so nothing was changed. Accounts: alice, bob.\n'), result
    assert two.vault("config", "get", "user").status == 78


def test_when_the_setting_names_no_account_then_the_message_says_where_it_is(person):
    # Before the first registration, any name is possible.
    assert person.vault("config", "set", "user", "carol").status == 0
    person.registered()
    result = person.vault("status")
    assert result.status == 66 and 'no account "carol"' in result.err, result
    assert "vault config set user NAME. To remove it: vault config unset user" in result.err
    result = person.vault("status", env={"CREDENTIAL_VAULT_USER": "dora"})
    assert 'no account "dora"' in result.err and "To remove it: unset CREDENTIAL_VAULT_USER" in result.err, result
    assert person.vault("config", "unset", "user").status == 0
    assert person.vault("status").status == 0


def test_for_a_person_the_only_open_account_is_meant(two):
    assert two.vault("login", "--user", "bob", password=PASSWORD).status == 0
    assert user_of(two) == "bob"
    assert two.vault("item", "set", "note", "--user", "bob", input=b"Room 4", stdin=None).status == 0
    assert two.vault("item", "list").out == "note\n"
    for command, shown in (
        (["token"], two.vault("token", "--user", "bob").out.strip()), (["item", "get", "note", "--yes"], "Room 4"),
        (["exec", "--", "echo", "done"], "done"), (["userinfo"], "bob@example.com"),
    ):
        terminal = two.terminal(*command)
        assert terminal.end() == 0 and shown in terminal.shown, terminal.shown
    assert two.vault("login", "--user", "alice", password=PASSWORD).status == 0
    terminal = two.terminal("token")
    assert terminal.end() == 66, "both are open"
    result = two.vault("lock")
    assert (result.status, result.err) == (
        66, "vault: There are 2 accounts here: alice, bob. To lock one: vault lock --user alice. To lock all: vault agent lock\n")
    result = two.vault("logout")
    assert (result.status, result.err) == (
        66, "vault: There are 2 accounts here: alice, bob. To log out of one: vault logout --user alice. To lock all: vault agent lock\n")
    result = two.vault("logout", "--everywhere")
    assert (result.status, result.err) == (
        66, "vault: There are 2 accounts here: alice, bob. To log out of one: vault logout --everywhere --user alice\n")
    assert two.vault("lock", "--user", "alice").status == 0
    assert two.vault("lock").out.startswith("Locked bob.")
    assert two.vault("lock", "--user", "bob").out.startswith("bob is locked already.")


def test_when_no_account_is_open_then_lock_needs_no_name(two):
    for prepare in (lambda: None, lambda: two.vault("agent", "start")):
        prepare()
        result = two.vault("lock")
        assert (result.status, result.out) == (0, "All accounts are locked already.\n"), result
        assert two.vault("lock", "--json").json == {"locked": None}


def test_a_script_gets_nothing_of_an_account_that_only_happens_to_be_open(two):
    """The script was made for alice, when there was no other account."""
    assert two.vault("login", "--user", "bob", password=PASSWORD).status == 0
    assert two.vault("item", "set", "note", "--user", "bob", input=b"Room 4", stdin=None).status == 0
    commands = ["token"], ["token", "--json"], ["exec", "--", "env"], ["item", "get", "note"], ["userinfo"]
    for command in commands:
        result = two.vault(*command)
        assert (result.status, result.out) == (66, ""), result


@pytest.mark.parametrize("command", [
    ["helper", "curl"], ["helper", "kubectl"], ["item", "set", "note"],
    ["item", "rm", "note"], ["rekey", "--yes"], ["devices", "revoke", "3f2a9c01", "--yes"], ["login"], ["passwd"],
    ["delete", "--yes"], ["unlock", "add", "pin"], ["unlock", "remove", "password", "--yes"],
    ["logout", "--everywhere"],
], ids=lambda command: " ".join(command[:2]))
def test_helpers_and_what_opens_or_changes_an_account_need_its_name(two, command):
    assert two.vault("login", "--user", "bob", password=PASSWORD).status == 0
    terminal = two.terminal(*command)
    assert terminal.end() == 66 and "alice, bob" in terminal.shown, terminal.shown
    assert sessions(two) == ["bob"] and len(two.vault("users", "--json").json) == 2


# A slip


def test_after_a_wrong_password_it_asks_again(alice):
    terminal = alice.terminal("login")
    type_at(terminal, "Password of alice: ", WRONG)
    terminal.expect("vault: Wrong password. 2 guesses are left.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown


def test_the_same_wrong_password_is_sent_once(alice):
    terminal = alice.terminal("login")
    type_at(terminal, "Password of alice: ", WRONG, WRONG)
    terminal.expect("This is the same password again, so it was not sent.")
    type_at(terminal, "Password of alice: ", WRONG, PASSWORD)
    assert terminal.end() == 0
    assert terminal.shown.count("2 guesses are left") == 1 and "1 guess" not in terminal.shown


def test_a_script_at_a_terminal_does_not_repeat_itself_without_end(alice):
    terminal = alice.terminal("login")
    type_at(terminal, "Password of alice: ", *[WRONG] * 5)
    assert terminal.end() == 77
    assert "1 guess is left" in alice.vault("login", password=ALSO_WRONG).err


def test_one_command_never_spends_the_last_guess(alice):
    terminal = alice.terminal("token")
    type_at(terminal, "Password of alice: ", WRONG, ALSO_WRONG)
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
    (["export", "--to", "backup.cvb"], "Password of alice: ", "alice: 0 items"),
    (["rekey", "--yes"], "Password of alice: ", "alice has a new vault key."),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_every_command_asks_again(alice, command, prompt, after):
    if command[0] == "export":
        passphrase = alice.password_file("seven owls on a wire at dusk", "passphrase")
        command = [*command[:2], alice.folder / command[2], "--passphrase-file", passphrase]
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
    terminal.expect("This is the same password again, so it was not sent.")
    type_at(terminal, "empty to choose a new password): ", ALSO_WRONG)
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
    assert "no refresh token on this machine. Register again. Type: vault register" in terminal.shown
    assert "Password of" not in terminal.shown
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


def test_when_the_operator_puts_the_keys_back_then_the_person_is_asked_again(own, key_service, tmp_path):
    folders = [(folder, tmp_path / f"saved-{folder.name}") for folder in (key_service.data, key_service.secrets)]
    key_service.kill()
    for folder, saved in folders:
        shutil.copytree(folder, saved)
    key_service.start()
    for key in key_service.live_keys():
        assert run([KEY_SERVICE, "keys", "revoke", "--data", key_service.data, key]).status == 0
    for arguments, secret in (([], PASSWORD), (["--pin"], PIN)):
        assert own.vault("login", *arguments, password=secret).status == 80
    key_service.kill()
    for folder, saved in folders:
        shutil.rmtree(folder)
        shutil.copytree(saved, folder)
    key_service.start()
    for option, prompt, secret in (("--password", "Password of alice: ", PASSWORD), ("--pin", "PIN of alice: ", PIN)):
        terminal = own.terminal("login", option)
        type_at(terminal, prompt, secret)
        assert terminal.end() == 0, terminal.shown


def test_after_a_restore_of_the_keys_the_second_login_warns_of_the_last_guess(own, key_service, tmp_path):
    copy = tmp_path / "copy.sqlite"
    assert run([KEY_SERVICE, "backup", "--data", key_service.data, "--to", copy]).status == 0
    key_service.kill()
    assert run([KEY_SERVICE, "restore", "--data", key_service.data, "--from", copy]).status == 0
    key_service.start()
    # In the first minute, this login makes no new key.
    assert own.vault("login", password=PASSWORD).status == 0
    terminal = own.terminal("login", "--password")
    terminal.expect("This is the last guess. Another wrong password locks it.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0


def test_before_a_locked_password_is_asked_for_the_person_is_told(own, key_service):
    for _ in range(3):
        wrong = own.vault("login", password=WRONG)
        assert wrong.status == 77
    assert "The key is locked now." in wrong.err and "vault-key-service keys unlock" in wrong.err, wrong
    # Without a prepared question, nobody knows whether the key is still locked.
    own.sql("DELETE FROM record WHERE name LIKE '%/own-guesses'")
    terminal = own.terminal("login", "--password")
    terminal.expect("The password was locked when vault last asked, at ")
    terminal.expect(" UTC. If somebody has unlocked it since then, type it.")
    key_service.program.signal(signal.SIGSTOP)
    type_at(terminal, "Password of alice: ", PASSWORD)
    terminal.expect("Opening alice. The key was locked. If that was a moment ago, the answer takes 10 seconds")
    key_service.program.signal(signal.SIGCONT)
    assert terminal.end() == 80


@pytest.mark.parametrize("last, status", [(PASSWORD, 0), ("wrong again, once more", 77)], ids=["right", "wrong"])
def test_without_the_key_service_a_wrong_password_is_asked_for_again(own, key_service, last, status):
    key_service.kill()
    terminal = own.terminal("login", "--password")
    for wrong in (WRONG, "wrong again"):
        type_at(terminal, "Password of alice: ", wrong)
        terminal.expect("vault: Wrong password.")
    type_at(terminal, "Password of alice: ", last)
    assert terminal.end() == status


def test_without_the_key_service_only_what_opens_is_asked_for(own, key_service):
    key_service.kill()
    terminal = own.terminal("login")
    terminal.expect("does not answer. Next: the password.")
    type_at(terminal, "Password of alice: ", PASSWORD)
    assert terminal.end() == 0
    assert "PIN of alice" not in terminal.shown
    for command in (["login", "--pin"], ["unlock", "add", "pin"], ["passwd"], ["rekey"],
                    ["export", "--to", own.folder / "new.cvb"]):
        terminal = own.terminal(*command)
        assert terminal.end() == 69, terminal.shown
        assert "does not answer" in terminal.shown and " of alice: " not in terminal.shown
        assert "Passphrase" not in terminal.shown


def test_a_path_or_item_that_cannot_be_used_is_told_first(alice):
    for command, says, status in [
        (["export", "--to", "/nonexistent/backup.cvb"], "its folder does not exist", 78),
        (["exec", "--item", "missing=SECRET", "--", "true"], "alice has no item missing.", 66),
        (["passwd", "--new-password-file", "/nonexistent/new"], "cannot be opened", 78),
        (["login", "--pin"], "alice has no PIN.", 78),
    ]:
        terminal = alice.terminal(*command)
        assert terminal.end() == status
        assert says in terminal.shown and " of alice: " not in terminal.shown, terminal.shown
