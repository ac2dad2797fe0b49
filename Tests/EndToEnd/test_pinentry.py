"""Questions in a pinentry window, if there is a display but no terminal."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT, run
from support.waiting import wait_until
from support.web import Web
from support.window import Window

CANCELLED, FULLY_CANCELLED, NOT_CONFIRMED, NO_TERMINAL = 83886179, 83886278, 83886194, 83918950


@pytest.fixture
def window(alice):
    window = Window(alice)
    alice.settings |= {
        "DISPLAY": ":77", "WAYLAND_DISPLAY": "", "CREDENTIAL_VAULT_PINENTRY": window.program,
        "TEST_PINENTRY": window.folder}
    return window


def test_the_password_is_asked_for_in_a_window(alice, window):
    window.answer(PASSWORD)
    result = alice.vault("login")
    assert result.status == 0 and result.out.startswith("Signed in as alice."), result
    (told,) = window.log
    assert (told["SETTITLE"], told["SETDESC"], told["SETPROMPT"]) == (
        "Credential Vault", "Password of alice", "Password:")
    assert told["OPTION"] == "lc-messages=C.UTF-8" and "GETPIN" in told and "SETERROR" not in told
    assert PASSWORD not in result.out + result.err


@pytest.mark.parametrize("password", ["100% %41 näïve\\ €", " leading and trailing ", "x%0Ay 7" * 9, "".join(f"ü{n}" for n in range(150))],
    ids=["signs", "spaces", "escapes", "long"])
def test_any_password_comes_through(alice, window, password):
    new = alice.password_file(password, "new")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    window.answer(password)
    assert alice.vault("login").status == 0


def test_a_name_comes_through(person):
    person.registered("--alias", "100% née\\n")
    window = Window(person)
    person.settings |= {
        "WAYLAND_DISPLAY": "wayland-7", "DISPLAY": "", "CREDENTIAL_VAULT_PINENTRY": window.program,
        "TEST_PINENTRY": window.folder}
    window.answer("wrong", CANCELLED)
    assert person.vault("login").status == 82
    assert [told["SETDESC"] for told in window.log] == ["Password of 100% née\\n"] * 2
    assert window.log[1]["SETERROR"] == "Wrong password. 2 guesses are left."


@pytest.mark.parametrize("code", [CANCELLED, FULLY_CANCELLED])
def test_closing_the_window_cancels(alice, window, code):
    before = alice.stored()
    window.answer(code)
    result = alice.vault("login")
    assert (result.status, result.err) == (82, "vault: Cancelled.\n")
    assert alice.stored() == before


@pytest.mark.parametrize("answer", [
    "garbage", "no-line", "endless", "not-text", "empty-line", "error", "huge", "die", "rough-greeting", NO_TERMINAL])
def test_a_broken_program_is_told(alice, window, answer):
    window.answer(answer)
    if answer == "empty-line":
        window.program.write_text("#!/bin/sh\nexit 0\n")
    result = alice.vault("login")
    assert result.status == 78 and "cannot ask" in result.err and "vault config set pinentry" in result.err, result
    assert len(result.err) < 400


def test_a_missing_program_is_told(alice, window):
    for path in ("/no/such/program", "no-such-program", "/etc/passwd", "/"):
        result = alice.vault("login", env={"CREDENTIAL_VAULT_PINENTRY": path})
        assert result.status == 78 and f"The program {path} cannot be started." in result.err


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 82), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_both(alice, window, number, status):
    window.answer("hang")
    program = alice.start("login")
    numbers = window.folder / "numbers"
    wait_until(lambda: numbers.exists() and numbers.read_text(), "the window")
    children = [Path("/proc", word) for word in numbers.read_text().split()]
    program.signal(number)
    assert program.wait().status == status
    wait_until(lambda: not any(is_alive(child) for child in children), "the end of the window and what it started")


def is_alive(process):
    try:
        return not re.search(r"^State:\s+Z", (process / "status").read_text(), re.M)
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_program_knows_nothing_of_vaults_connections(alice, window):
    """The program gets the usual handling of signals, too."""
    window.program.write_text(
        '#!/bin/sh\nls -l /proc/self/fd > "$TEST_PINENTRY/files"\ngrep -E "Sig(Ign|Blk)" /proc/self/status > "$TEST_PINENTRY/signals"\n')
    assert alice.vault("login").status == 78
    files = (window.folder / "files").read_text()
    assert not re.search(r" [3-9] -> (?!/proc)", files) and files.count("socket:") == 1, files
    # glibc's posix_spawn lets a program ignore the two signals that glibc itself uses.
    signals = [int(word, 16) & ~(0b11 << 31) for word in (window.folder / "signals").read_text().split()[1::2]]
    assert signals == [0, 0]


def test_a_terminal_comes_first(alice, window):
    terminal = alice.terminal("login")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert window.log == []


def test_a_password_that_is_given_comes_first(alice, window):
    assert alice.vault("login", password=PASSWORD).status == 0
    assert window.log == []


def test_without_a_display_nothing_opens(alice, window):
    result = alice.vault("login", env={"DISPLAY": ""})
    assert result.status == 78 and "There is no terminal" in result.err
    assert window.log == []


def test_the_program_is_that_of_the_settings_or_of_the_path(alice, window):
    alice.settings.pop("CREDENTIAL_VAULT_PINENTRY")
    path = f"{window.folder}:{os.environ['PATH']}"
    window.answer(PASSWORD)
    assert alice.vault("login", env={"PATH": path}).status == 0 and window.log
    checks = {check["name"]: check for check in alice.vault("doctor", "--json", env={"PATH": path}).json}
    assert checks["terminal"]["finding"] == f"There is none. {window.program} asks for the password."
    assert alice.vault("config", "set", "pinentry", window.program).status == 0
    window.answer(PASSWORD)
    assert alice.vault("login").status == 0 and window.log
    assert alice.vault("login", env={"PATH": "/nowhere", "CREDENTIAL_VAULT_PINENTRY": ""}).status == 78


def test_a_new_password_is_judged_in_the_window(alice, window):
    window.answer(PASSWORD, "short", OTHER_PASSWORD, "not the same", OTHER_PASSWORD, OTHER_PASSWORD)
    result = alice.vault("passwd")
    assert result.status == 0, result
    told = window.log
    assert [run["SETDESC"] for run in told] == [
        "Current password of alice", *["New password (at least 8 characters)"] * 2, "The same again",
        "New password (at least 8 characters)", "The same again"]
    assert "at least 8 characters" in told[2]["SETERROR"] and "hard to guess" in told[3]["SETERROR"]
    assert "not the same" in told[4]["SETERROR"]
    assert alice.vault("login", password=OTHER_PASSWORD).status == 0


@pytest.mark.parametrize("answer", [CANCELLED, NOT_CONFIRMED])
def test_a_question_is_answered_with_no(alice, window, answer):
    window.answer(answer)
    result = alice.vault("delete")
    assert result.status == 82 and "Nothing was deleted." in result.err
    assert window.log[0]["SETDESC"].startswith("Delete alice (") and "CONFIRM" in window.log[0]
    assert len(alice.vault("users", "--json").json) == 1


def test_a_question_is_answered_with_yes(alice, window):
    window.answer(True, "")
    assert alice.vault("delete").status == 0
    assert "to revoke its token" in window.log[1]["SETDESC"]
    assert alice.vault("users", "--json").json == []


@pytest.mark.parametrize("answers", [[CANCELLED], ["wrong", CANCELLED]], ids=["at once", "after a slip"])
def test_closing_the_window_of_delete_deletes_nothing(alice, window, answers):
    window.answer(True, *answers)
    result = alice.vault("delete")
    assert result.status == 82 and "Nothing was deleted." in result.err, result
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("command", [["login"], ["delete"], ["passwd"]], ids=" ".join)
def test_a_window_that_answers_by_itself_spends_one_guess(alice, window, command):
    """A pinentry can store a secret, and give it again without a question."""
    window.answer(*([True] if command == ["delete"] else []), "wrong", "wrong", PASSWORD)
    result = alice.vault(*command)
    assert result.status == 77 and "2 guesses are left" in result.err and "1 guess" not in result.err, result
    assert "1 guess is left" in alice.vault("login", password="another wrong one").err


@pytest.mark.parametrize("answer, status", [("yes", 0), ("no", 82), ("", 82), (CANCELLED, 82)])
def test_a_program_that_takes_escape_for_a_yes_is_asked_for_the_word(alice, window, answer, status):
    """pinentry-fltk 1.2.1 answers CONFIRM with OK when Escape is pressed."""
    window.answer(answer, "")
    assert alice.vault("delete", env={"TEST_PINENTRY_FLAVOR": "fltk"}).status == status
    assert window.log[0]["SETDESC"].endswith("To agree, type yes.") and "CONFIRM" not in window.log[0]
    assert len(alice.vault("users", "--json").json) == (1 if status else 0)


def test_text_cannot_be_asked_for_in_a_window(person):
    window = Window(person)
    person.settings |= {"DISPLAY": ":77", "CREDENTIAL_VAULT_PINENTRY": window.program, "TEST_PINENTRY": window.folder}
    result = person.vault("register", "--method", "password", "--issuer", "http://127.0.0.1:1")
    assert result.status != 0 and "--username" in result.err, result


def test_git_in_an_editor_has_the_password_asked_for(alice, window, children):
    web = Web({"/repository.git/info/refs": b"0" * 40 + b"\trefs/heads/main\n", "/repository.git/HEAD": b"ref: refs/heads/main\n"})
    children.append(web)
    environment = alice.environment(HOME=alice.folder, GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0")
    window.answer(PASSWORD)
    install = [VAULT, "helper", "install", "git", "--host", web.url]
    assert run(install, environment).status == 0
    result = run(["git", "ls-remote", f"{web.url}/repository.git"], environment, timeout=30)
    assert result.status == 0 and "refs/heads/main" in result.out, result
    assert len(window.log) == 1 and len(set(web.passwords)) == 1
    window.answer(CANCELLED)
    result = run(["git", "ls-remote", f"{web.url}/repository.git"], environment, timeout=30)
    assert result.status == 128 and "Cancelled." in result.err


def test_a_helper_that_may_not_use_the_terminal_uses_the_window(alice, window):
    window.answer(PASSWORD)
    information = json.dumps({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "spec": {"interactive": False}})
    terminal = alice.terminal("helper", "kubectl", env={"KUBERNETES_EXEC_INFO": information})
    assert terminal.end() == 0
    assert '"token":' in terminal.shown and len(window.log) == 1
