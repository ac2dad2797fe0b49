"""Signing in with a browser on another machine. The person pastes its last address."""

import os
import re

import pytest
from support.pages import redirect_of
from support.person import PASSWORD

URL = re.compile(r"^(http://\S+/authorize\S+)\r?$", re.M)


def at_terminal(person, *arguments):
    terminal = person.terminal("register", "--paste", *arguments)
    terminal.expect("Address: ")
    return terminal, URL.search(terminal.shown)[1]


def choose_password(terminal):
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        terminal.type(PASSWORD)
    assert terminal.end() == 0


def test_the_pasted_address_signs_in(person):
    terminal, url = at_terminal(person)
    terminal.type(redirect_of(url))
    choose_password(terminal)
    assert person.vault("login", password=PASSWORD).status == 0


def test_what_is_not_the_address_is_asked_for_again(person):
    other, others_url = at_terminal(person)
    others = redirect_of(others_url)
    terminal, url = at_terminal(person)
    right = redirect_of(url)
    for wrong, remark in [
        ("", "That is not an address."), (url, "That is the address to open."),
        ("http://127.0.0.1:8765/callback", "not the whole address"),
        (right.split("&state")[0], "not the whole address"),
        ("nonsense", "copy the whole address from the browser's address bar"),
        (others, "belongs to another sign-in"),
    ]:
        terminal.type(wrong)
        terminal.expect(remark)
        terminal.expect("Address: ")
    terminal.type(f"  {right} ")
    choose_password(terminal)
    other.press("c")
    assert other.end() == 82


def test_ctrl_c_while_it_asks(person):
    terminal, _ = at_terminal(person)
    terminal.press("c")
    assert terminal.end() == 82
    assert terminal.mode == terminal.original_mode


def test_whoever_denied_pastes_that(person):
    terminal, url = at_terminal(person)
    terminal.type(redirect_of(url, deny=True))
    assert terminal.end() == 82
    assert person.vault("users", "--json").json == []


def test_without_a_terminal_a_line_of_standard_input_is_it(person):
    reading, writing = os.pipe()
    program = person.start(
        "register", "--paste", "--password-file", person.password_file(), stdin=reading)
    os.close(reading)
    with os.fdopen(writing, "w") as line:
        line.write(redirect_of(program.wait_for(URL, "err")[1]) + "\n")
    assert program.wait().status == 0
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("line", [
    "", "http://127.0.0.1:8765/callback\n", "http://127.0.0.1:8765/callback?code=x&state=y\n"])
def test_a_wrong_line_of_standard_input_ends_it(person, line):
    result = person.vault(
        "register", "--paste", "--password-file", person.password_file(), input=line.encode(), stdin=None)
    assert result.status in (1, 78), result
    assert person.vault("users", "--json").json == []


def test_standard_input_cannot_have_both(person):
    result = person.vault("register", "--paste", password=PASSWORD)
    assert result.status == 78 and "Standard input cannot hold both" in result.err
    assert URL.search(result.err) is None
