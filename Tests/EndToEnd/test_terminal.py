"""The command at a terminal: prompts, echo, Ctrl-C and Ctrl-D."""

import re
import signal
import sqlite3
import termios
from contextlib import closing
from pathlib import Path

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT
from support.terminal import Terminal
from support.waiting import wait_until


def test_the_password_is_asked_for_without_echo(alice):
    terminal = alice.terminal("login")
    terminal.expect("Password of alice: ")
    assert terminal.original_mode[3] & termios.ECHO and not terminal.echoes
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown
    assert PASSWORD not in terminal.shown
    assert terminal.mode == terminal.original_mode


def test_it_asks_on_the_terminal_when_everything_is_redirected(alice):
    out, err = alice.folder / "out", alice.folder / "err"
    terminal = alice.terminal(shell=f'exec "$VAULT" token </dev/null >"{out}" 2>"{err}"')
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert re.fullmatch(r"\S+\n", out.read_text())
    assert err.read_text() == ""
    assert PASSWORD not in terminal.shown


@pytest.mark.parametrize(
    "arguments, prompt",
    [
        (["login"], "Password of alice: "), (["token"], "Password of alice: "),
        (["passwd"], "Current password of alice: "), (["logout", "--everywhere"], "Password of alice: "),
        (["delete"], "[y/N] "),
    ], ids=lambda value: value[0] if isinstance(value, list) else "")
@pytest.mark.parametrize("key", ["c", "d"])
def test_ctrl_c_and_ctrl_d_at_a_prompt_cancel(alice, arguments, prompt, key):
    # A logout removes the access token before it asks.
    stored = alice.stored_for_good if arguments[0] == "logout" else alice.stored
    before = stored()
    terminal = alice.terminal(*arguments)
    terminal.expect(prompt)
    terminal.press(key)
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode
    says_what_stays = arguments == ["delete"] and key == "d"
    assert ("Nothing was deleted." if says_what_stays else "ancelled") in terminal.shown
    assert stored() == before


def test_sigterm_at_a_prompt_restores_the_terminal(alice):
    terminal = alice.terminal("login")
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.child.kill(signal.SIGTERM)
    assert terminal.end() == -signal.SIGTERM
    assert terminal.mode == terminal.original_mode


def test_no_key_can_leave_the_shell_without_echo(alice):
    terminal = alice.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.press("\\")  # arrives as a character, which Ctrl-U then removes
    terminal.press("u")
    terminal.type(PASSWORD)
    assert terminal.end() == 0


def has_stopped_child(process):
    (child,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return Path(f"/proc/{child}/stat").read_text().rsplit(") ", 1)[1][0] == "T"


def test_ctrl_z_at_a_prompt_gives_the_shell_its_terminal_back(alice):
    # dash, which does not change the mode of the terminal.
    terminal = alice.keep(Terminal(["/bin/sh", "-i"], alice.environment(TERM="dumb", VAULT=VAULT)))
    terminal.type("PS1='rea''dy> '")
    terminal.expect("ready> ")
    terminal.type('"$VAULT" login')
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.child.send("a beginning")
    terminal.press("z")
    terminal.expect("ready> ")
    assert terminal.mode == terminal.original_mode
    terminal.type("bg")
    terminal.expect("ready> ")
    wait_until(lambda: has_stopped_child(terminal.child.pid), "vault to stop again, because it wants the terminal")
    terminal.type("fg")
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.type(PASSWORD)
    terminal.expect("Signed in as alice.")
    terminal.expect("ready> ")
    assert terminal.mode == terminal.original_mode
    terminal.type("exit")
    assert terminal.end() == 0
    assert "a beginning" not in terminal.shown and PASSWORD not in terminal.shown


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_a_signal_after_ctrl_z_leaves_the_shell_its_echo(alice, name):
    terminal = alice.keep(Terminal(["/bin/sh", "-i"], alice.environment(TERM="dumb", VAULT=VAULT)))
    terminal.type("PS1='rea''dy> '")
    terminal.expect("ready> ")
    terminal.type('"$VAULT" login')
    terminal.expect("Password of alice: ")
    terminal.press("z")
    terminal.expect("ready> ")
    terminal.type(f"kill -{name} %1")
    terminal.expect("ready> ")
    terminal.type('fg; echo "status $?"')
    terminal.expect("status 82" if name == "INT" else f"status {128 + signal.SIGTERM}")
    terminal.expect("ready> ")
    assert terminal.mode == terminal.original_mode


def test_ctrl_z_where_no_shell_could_go_on_asks_again(alice):
    terminal = alice.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.press("z")
    terminal.expect("Password of alice: ")
    assert not terminal.echoes
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert terminal.mode == terminal.original_mode


def test_a_control_character_costs_no_guess(alice):
    terminal = alice.terminal("login")
    for typed in ("\x1b[A", "wrong\x0c", PASSWORD + "\t"):  # three guesses would lock the key
        terminal.expect("Password of alice: ")
        terminal.type(typed)
        terminal.expect("control character")
        terminal.expect("Type the input again.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "Choose another" not in terminal.shown


def test_a_control_character_in_a_new_password_is_typed_again(alice):
    terminal = alice.terminal("passwd")
    terminal.expect("Current password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("New password")
    terminal.type(OTHER_PASSWORD + "\x1b[A")
    terminal.expect("Type the input again.")
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        terminal.type(OTHER_PASSWORD)
    assert terminal.end() == 0
    assert "Choose another" not in terminal.shown
    assert alice.vault("login", password=OTHER_PASSWORD).status == 0


def test_register_asks_twice_and_again_until_both_are_the_same(person):
    terminal = person.terminal("register", "--no-browser")
    terminal.browse()
    for first, second, remark in [
        ("short", None, "at least 8 characters"), ("password1", None, "tried first"),
        ("alice-alice", None, "own name"), (PASSWORD, OTHER_PASSWORD, "not the same"),
        (PASSWORD, PASSWORD, "Registered alice"),
    ]:
        terminal.expect("New password")
        assert not terminal.echoes
        terminal.type(first)
        if second is not None:
            terminal.expect("again: ")
            assert not terminal.echoes
            terminal.type(second)
        terminal.expect(remark)
    assert terminal.end() == 0
    assert terminal.mode == terminal.original_mode
    assert PASSWORD not in terminal.shown and OTHER_PASSWORD not in terminal.shown
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("password, says", [
    ("umbrellas", "This password can be guessed quickly."), ("umbrella-77", "This password is fair."),
    (PASSWORD, "This password is hard to guess."),
])
def test_a_new_password_is_judged_before_it_is_typed_again(alice, password, says):
    terminal = alice.terminal("passwd")
    terminal.expect("Current password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("New password")
    terminal.type(password)
    terminal.expect(says)
    terminal.expect("again: ")
    terminal.type(password)
    assert terminal.end() == 0
    assert password not in terminal.shown


def test_a_password_of_a_file_is_not_judged(alice):
    new = alice.password_file("umbrellas", "new")
    result = alice.vault("passwd", "--new-password-file", new, password=PASSWORD)
    assert (result.status, result.err) == (0, "")


def test_after_many_bad_passwords_the_sign_in_is_not_lost(person):
    terminal = person.terminal("register", "--no-browser")
    terminal.browse()
    for _ in range(3):
        terminal.expect("New password")
        terminal.type("12345678")
        terminal.expect("Choose another one.")
    for _ in range(3):
        terminal.expect("New password")
        terminal.type(PASSWORD)
        terminal.expect("again: ")
        terminal.type(OTHER_PASSWORD)
        terminal.expect("not the same")
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert person.vault("login", password=PASSWORD).status == 0


def test_registering_again_asks_for_the_present_password(alice):
    terminal = alice.terminal("register", "--no-browser", "--alias", "work")
    terminal.browse()
    terminal.expect("registered here. To keep its items")
    terminal.expect("empty to choose a new password): ")
    terminal.type("not the password")
    terminal.expect("Wrong password. 2 guesses are left.")
    terminal.expect("empty to choose a new password): ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert [user["alias"] for user in alice.vault("users", "--json").json] == ["work"]
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("item", [None, "notes"])
def test_registering_again_can_choose_a_new_password(alice, item):
    if item:  # an app's sealed item
        with sqlite3.connect(alice.database) as database:
            database.execute("INSERT INTO item SELECT id, ?, x'00' FROM account", (item,))
    terminal = alice.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("empty to choose a new password): ")
    terminal.type("")
    if item:  # only then the person loses something
        terminal.expect("A new password deletes: notes. Continue? [y/N] ")
        assert terminal.echoes
        terminal.type("y")
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        terminal.type(OTHER_PASSWORD)
    assert terminal.end() == 0
    assert alice.vault("login", password=PASSWORD).status == 77
    assert alice.vault("login", password=OTHER_PASSWORD).status == 0


@pytest.mark.parametrize("answer", ["", "n", "no", "maybe"])
def test_delete_asks_and_the_default_is_no(alice, answer):
    before = alice.stored()
    terminal = alice.terminal("delete")
    terminal.expect("and all its items? [y/N] ")
    terminal.type(answer)
    assert terminal.end() == 82
    assert "Nothing was deleted." in terminal.shown
    assert alice.stored() == before


def test_delete_with_the_password_revokes_the_token(alice):
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect("to revoke its token (empty: do not revoke): ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert "Deleted alice." in terminal.shown and "not revoked" not in terminal.shown
    assert alice.vault("users", "--json").json == []


def test_a_wrong_password_while_deleting_deletes_nothing(alice):
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    for left in ("2 guesses are left", "1 guess is left"):
        terminal.expect("empty: do not revoke): ")
        terminal.type(f"not the password, {left}")
        terminal.expect(f"Wrong password. {left}.")
    assert terminal.end() == 77 and "The account was not deleted." in terminal.shown
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("slips", [[], ["not the password"]], ids=["at once", "after a slip"])
def test_ctrl_d_at_the_password_of_delete_deletes_nothing(alice, slips):
    terminal = alice.terminal("delete")
    terminal.expect("[y/N] ")
    terminal.type("y")
    for slip in slips:
        terminal.expect("empty: do not revoke): ")
        terminal.type(slip)
        terminal.expect("Wrong password. 2 guesses are left.")
    terminal.expect("empty: do not revoke): ")
    terminal.press("d")
    assert terminal.end() == 82 and "Nothing was deleted." in terminal.shown
    assert alice.vault("login", password=PASSWORD).status == 0


def test_passwd_at_the_terminal(alice):
    terminal = alice.terminal("passwd")
    for prompt, answer in [
        ("Current password of alice: ", PASSWORD), ("New password", OTHER_PASSWORD), ("again: ", OTHER_PASSWORD)
    ]:
        terminal.expect(prompt)
        assert not terminal.echoes
        terminal.type(answer)
    assert terminal.end() == 0
    assert PASSWORD not in terminal.shown and OTHER_PASSWORD not in terminal.shown
    assert alice.vault("login", password=OTHER_PASSWORD).status == 0


def test_ctrl_c_while_waiting_for_the_browser(person):
    terminal = person.terminal("register", "--no-browser")
    terminal.address()
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode
    assert re.search(r"^vault: Cancelled\.\r$", terminal.shown, re.M), "the terminal has shown ^C on a line of its own"


def test_ctrl_c_ends_a_call_that_hangs(person, own_services, key_service):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    key_service.program.signal(signal.SIGSTOP)
    terminal = person.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("Opening")  # the spinner, while the request hangs
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode


@pytest.mark.parametrize("end", ["answer", "wrong", "kill"])
def test_a_password_typed_while_the_command_works_is_not_shown(person, own_services, key_service, end):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    key_service.program.signal(signal.SIGSTOP)
    terminal = person.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.type("not the password" if end == "wrong" else PASSWORD)
    terminal.expect("Opening")
    assert not terminal.echoes
    terminal.type("typed too early")
    terminal.press("z")  # would leave the shell without echo
    if end == "kill":
        terminal.child.kill(signal.SIGTERM)
        wait_until(lambda: terminal.echoes, "the terminal to be restored")
    key_service.program.signal(signal.SIGCONT)
    if end == "wrong":
        terminal.expect("2 guesses are left.")
        # The early line is not the next answer: that would have cost a guess.
        terminal.expect("Password of alice: ")
        terminal.type(PASSWORD)
    assert terminal.end() == (-signal.SIGTERM if end == "kill" else 0)
    assert "typed too early" not in terminal.shown
    assert terminal.mode == terminal.original_mode


def test_ctrl_c_while_a_token_is_renewed_waits_until_it_is_stored(person, own_services, key_service):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    own_services.program.signal(signal.SIGSTOP)
    terminal = person.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    wait_until(lambda: "refresh_interrupted_at" in person.vault("status", "--json").json, "the refresh to begin")
    terminal.press("c")
    terminal.expect("storing the renewed token before stopping")
    own_services.program.signal(signal.SIGCONT)
    assert terminal.end() == 82
    # The rotated token was stored. Otherwise the provider would report a reuse.
    assert person.vault("login", password=PASSWORD).status == 0


def test_a_second_ctrl_c_stops_at_once(person, own_services, key_service):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    own_services.program.signal(signal.SIGSTOP)
    terminal = person.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    wait_until(lambda: "refresh_interrupted_at" in person.vault("status", "--json").json, "the refresh to begin")
    terminal.press("c")
    terminal.expect("storing the renewed token before stopping")
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode


@pytest.mark.parametrize("when", ["during the exchange", "between two guesses"])
def test_a_signal_waits_for_a_renewed_token_that_cannot_be_stored_yet(person, own_services, key_service, when):
    person.settings = own_services.environment | {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url}
    person.registered()
    own_services.program.signal(signal.SIGSTOP)
    program = person.start("token", "--refresh", "--password-file", person.password_file())
    wait_until(lambda: "refresh_interrupted_at" in person.vault("status", "--json").json, "the refresh to begin")
    stopping = re.compile("storing the renewed token before stopping")
    with closing(sqlite3.connect(person.database, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        if when == "during the exchange":
            program.signal(signal.SIGTERM)
            program.wait_for(stopping, "err")
        own_services.program.signal(signal.SIGCONT)
        # The program waits 20 seconds for the store to become free.
        program.wait_for(re.compile("trying again in"), "err", timeout=90)
        if when == "between two guesses":
            program.signal(signal.SIGTERM)
            program.wait_for(stopping, "err")
        assert program.process.poll() is None
        database.execute("ROLLBACK")
    result = program.wait()
    assert (result.status, result.out) == (-signal.SIGTERM, "")
    # The rotated token was stored. Otherwise the provider would report a reuse.
    assert person.vault("login", password=PASSWORD).status == 0
