"""`vault agent start --confirm`: the person is asked before another program uses a session."""

import subprocess

import pytest
from support.person import PASSWORD
from support.programs import VAULT
from support.window import Window

NOT_CONFIRMED = 83886194


@pytest.fixture
def window(alice, tmp_path_factory):
    runtime = tmp_path_factory.mktemp("r")
    runtime.chmod(0o700)
    window = Window(alice)
    alice.settings |= {
        "DISPLAY": ":77", "WAYLAND_DISPLAY": "", "CREDENTIAL_VAULT_PINENTRY": window.program,
        "TEST_PINENTRY": window.folder, "XDG_RUNTIME_DIR": runtime}
    assert alice.vault("agent", "start", "--confirm").status == 0
    assert alice.vault("login", password=PASSWORD).status == 0
    yield window
    alice.vault("agent", "stop")


def token_by_a_shell(alice):
    """What a shell of the person gets, which is another program than the one of the tests."""
    return subprocess.run(
        ["/bin/sh", "-c", '"$0" token; exit $?', VAULT], env=alice.environment(), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, start_new_session=True)


def test_the_person_is_asked_once_for_each_program(alice, window):
    window.answer(True)
    first = token_by_a_shell(alice)
    assert first.returncode == 0 and first.stdout.count("\n") == 1, first
    (told,) = window.log
    assert told["SETDESC"].startswith("May /") and told["SETDESC"].endswith(" use the session of alice?"), told
    # There is no second answer in the script: a second question would fail.
    assert token_by_a_shell(alice).stdout == first.stdout
    # Another program is another question.
    window.answer(NOT_CONFIRMED)
    assert alice.vault("token").status == 82
    assert "CONFIRM" in window.log[0]


def test_a_no_gives_nothing(alice, window):
    window.answer(NOT_CONFIRMED, True)
    refused = token_by_a_shell(alice)
    assert refused.returncode == 82 and refused.stdout == "", refused
    # The next time the person is asked again.
    assert token_by_a_shell(alice).returncode == 0
