"""Another user of the machine reads a sign-in's address in the process list, but cannot finish the sign-in."""

import os
import re
import shutil

import pytest
from support.person import PASSWORD, URL
from support.programs import VAULT_DEV, Program, run
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can act as another user")

STRANGER = 54321
AS_STRANGER = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]


def start(person):
    program = person.start("register", "--no-browser", "--password-file", person.password_file())
    return program, program.wait_for(URL, "err")[1]


def port(url):
    return int(re.search(r"redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)", url)[1])


def test_a_stranger_signs_in_and_gets_nowhere(person):
    program, url = start(person)
    stolen = run([*AS_STRANGER, VAULT_DEV, "browse", url, "--user", "bob"])
    assert stolen.status != 0, stolen
    assert program.process.poll() is None
    assert run([VAULT_DEV, "browse", url, "--user", "alice"]).status == 0
    result = program.wait()
    assert result.status == 0, result
    assert f"another user (uid {STRANGER})" in result.err and "--device" in result.err
    assert [user["preferred_username"] for user in person.vault("users", "--json").json] == ["alice"]


@pytest.mark.parametrize("address", ["127.0.0.1", "[::ffff:127.0.0.1]"])
def test_a_stranger_s_request_is_not_answered(person, address):
    program, url = start(person)
    own = f"127.0.0.1:{port(url)}"
    curl = ["curl", "-s", "-i", "-m", "20", "-H", f"Host: {own}", f"http://{address}:{port(url)}/elsewhere"]
    stolen = run([*AS_STRANGER, *curl])
    assert (stolen.status != 0, stolen.out) == (True, "")
    # The person's own request gets an answer.
    assert "404" in run(curl).out
    program.kill()


def test_many_connections_of_a_stranger_do_not_keep_the_person_out(person):
    program, url = start(person)
    flood = f"""
import socket, time
held = []
for _ in range(300):
    try:
        held.append(socket.create_connection(("127.0.0.1", {port(url)}), 5))
    except OSError:
        pass
print("done", flush=True)
time.sleep(600)
"""
    stranger = person.keep(Program([*AS_STRANGER, "/usr/bin/python3", "-c", flood], person.folder))
    stranger.wait_for(re.compile("done"))
    # While vault still accepts the stranger's connections, it may also close the one of the browser. A person then
    # loads the page again.
    wait_until(lambda: run([VAULT_DEV, "browse", url, "--user", "alice"]).status == 0, "the sign-in")
    assert program.wait().status == 0
    stranger.kill()


def test_who_signed_in_is_said_before_the_password_is_asked_for(person):
    terminal = person.terminal("register", "--no-browser")
    terminal.browse("bob")
    terminal.expect("New password")
    assert re.search(r"Signed in as Bob[^<\n]* <bob@example.com>\.", terminal.shown), terminal.shown
    for prompt in ("", "again: "):
        terminal.expect(prompt)
        terminal.type(PASSWORD)
    assert terminal.end() == 0
