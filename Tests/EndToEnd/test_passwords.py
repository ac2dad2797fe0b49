"""Sources of passwords, and places where a password never appears."""

import os
import re
import signal
from pathlib import Path

import pytest
from support.person import OTHER_PASSWORD, PASSWORD, URL
from support.programs import VAULT, VAULT_DEV, Program, run
from support.waiting import wait_until


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("ending, works", [(b"", True), (b"\n", True), (b"\r\n", True), (b"\n\n", False)])
@pytest.mark.parametrize("way", ["file", "stdin", "descriptor"])
def test_one_newline_at_the_end_is_not_part_of_the_password(alice, way, ending, works):
    file = write(alice.folder / "secret", PASSWORD.encode() + ending)
    if way == "file":
        result = alice.vault("login", "--password-file", file)
    elif way == "stdin":
        result = alice.vault("login", "--password-file", "-", stdin=open(file, "rb"))
    else:
        result = run(["bash", "-c", 'exec "$0" login --password-fd 3 3<"$1"', VAULT, file], alice.environment())
    assert result.status == (0 if works else 77), result


def test_a_password_may_be_given_through_a_pipe(alice):
    program = 'exec "$0" login --password-fd 3 3< <(printf "%s\\n" ' + f'"{PASSWORD}")'
    assert run(["bash", "-c", program, VAULT], alice.environment()).status == 0


def test_with_a_given_password_no_terminal_is_needed_and_nothing_is_asked(alice):
    # Program.start and run create a new session, which has no /dev/tty.
    assert alice.vault("login", password=PASSWORD).status == 0
    result = alice.vault("login")
    assert result.status == 78
    assert "--password-file" in result.err


def test_a_password_file_that_is_not_there(alice):
    result = alice.vault("login", "--password-file", alice.folder / "nothing")
    assert result.status == 78
    assert "nothing" in result.err


def test_an_empty_password_costs_no_guess(alice):
    alice.vault("login", password="")
    assert alice.vault("login", "--json", password="wrong one").error["guesses_remaining"] == 2


def test_a_control_character_costs_no_guess_and_nobody_chooses(alice):
    result = alice.vault("login", password="tangerine\x1b[A")
    assert (result.status, result.err) == (
        77, "vault: The password has a forbidden character, such as a control character.\n")
    assert alice.vault("login", "--json", password="wrong one").error["guesses_remaining"] == 2


def test_a_new_password_with_a_control_character_is_refused_once(alice):
    new = alice.password_file("walrus\x1b[Aviolin", "new")
    result = alice.vault("passwd", "--new-password-file", new, password=PASSWORD)
    assert result.status == 77 and result.err.count("Choose another") == 1, result


def test_a_closed_descriptor(alice):
    result = alice.vault("login", "--password-fd", "9")
    assert result.status == 78


@pytest.mark.parametrize("weak, reason", [
    ("short", "at least 8 characters"), ("12345678", "run of neighbouring"), ("aaaaaaaa", "repeats itself"),
    ("Password123!", "tried first"), ("alice@example.com", "own name"),
])
def test_a_weak_password_is_refused_with_the_reason(person, weak, reason):
    result = person.register(password=weak)
    assert result.status == 77
    assert reason in result.err
    assert weak not in result.err.replace("<alice@example.com>", "")  # the person who signed in
    assert person.vault("users", "--json").json == []


def test_both_ways_at_once_are_wrong_usage(alice):
    result = alice.vault("login", "--password-file", "-", "--password-fd", "3")
    assert result.status == 64


def test_the_same_password_in_another_unicode_form(person):
    person.registered(password="cafe\u0301-umbrella")
    assert person.vault("login", password="caf\u00e9-umbrella").status == 0


def test_passwd_without_a_terminal(alice):
    result = alice.vault("passwd", password=PASSWORD)
    assert result.status == 78 and "--new-password-file" in result.err
    new = alice.password_file(OTHER_PASSWORD, "new")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert alice.vault("login", password=PASSWORD).status == 77
    assert alice.vault("login", password=OTHER_PASSWORD).status == 0


def test_no_secret_in_the_arguments_or_the_environment(person):
    """While vault runs it holds the password, but other processes cannot see it."""
    program = person.start("register", "--no-browser", "--password-file", person.password_file())
    url = program.wait_for(URL, "err")[1]
    process = Path(f"/proc/{program.pid}")
    assert PASSWORD.encode() not in (process / "cmdline").read_bytes()
    try:
        assert PASSWORD.encode() not in (process / "environ").read_bytes()
    except PermissionError:
        assert os.geteuid() != 0  # even its own user cannot look into it
    assert run([VAULT_DEV, "browse", url]).status == 0
    assert program.wait().status == 0


def test_the_environment_is_no_way_to_give_a_password(alice):
    result = alice.vault("login", env={
        "CREDENTIAL_VAULT_PASSWORD": PASSWORD, "CREDENTIAL_VAULT_PASSWORD_FILE": str(alice.password_file())})
    assert result.status == 78


def test_a_crash_shows_nothing_of_the_memory(alice):
    """A crash writes no core dump. It also writes no report of the Swift runtime, which would show memory."""
    fifo, folder = alice.folder / "fifo", alice.folder / "cores"
    os.mkfifo(fifo)
    folder.mkdir()
    shell = 'ulimit -c unlimited; cd "$1"; exec "$0" login --password-fd 3 3<"$2"'
    program = alice.keep(Program(["bash", "-c", shell, VAULT, folder, fifo], alice.folder, alice.environment()))
    with open(fifo, "wb"):  # opens when the shell opens it; then the program waits for the password
        limits = Path(f"/proc/{program.pid}/limits")
        wait_until(lambda: re.search(r"Max core file size\s+0\s", limits.read_text()), "core dumps to be forbidden")
        program.signal(signal.SIGABRT)
        assert program.wait().status == -signal.SIGABRT
    assert list(folder.iterdir()) == []
    assert program.out + program.err == ""
