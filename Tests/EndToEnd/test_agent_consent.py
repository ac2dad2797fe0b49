"""`vault agent start --confirm`: the agent asks the person before another process uses a session."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from support.agent import agent_process
from support.own_user import USER, OwnUser
from support.person import PASSWORD, Person
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


def token_by_a_shell(alice, shell="/bin/sh", times=1):
    """Runs a command in a new shell, which is a different program from the tests' own."""
    script = "; ".join(['"$0" token || exit $?'] * times)
    return subprocess.run(
        alice.command(shell, "-c", f"{script}; exit 0", VAULT), env=alice.environment(), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, start_new_session=True)


def test_when_a_script_asks_twice_then_the_person_is_asked_once(alice, window):
    # The scripted person has no second answer, so a second question would fail.
    window.answer(True)
    first = token_by_a_shell(alice, times=2)
    assert first.returncode == 0 and first.stdout.count("\n") == 2, first
    (told,) = window.log
    assert told["SETDESC"].startswith("May /") and told["SETDESC"].endswith(" use the session of alice?"), told
    # Another program causes another question.
    window.answer(NOT_CONFIRMED)
    assert alice.vault("token").status == 82
    assert "CONFIRM" in window.log[0]


def test_when_another_script_has_the_same_interpreter_then_it_needs_its_own_yes(alice, window):
    window.answer(True)
    assert token_by_a_shell(alice).returncode == 0
    window.answer(NOT_CONFIRMED)
    other = token_by_a_shell(alice)
    assert (other.returncode, other.stdout) == (82, ""), other
    assert len(window.log) == 1


def test_a_no_gives_nothing(alice, window):
    window.answer(NOT_CONFIRMED, True)
    refused = token_by_a_shell(alice)
    assert refused.returncode == 82 and refused.stdout == "", refused
    # The next request causes a question again.
    assert token_by_a_shell(alice).returncode == 0


@pytest.fixture
def someone(services, children):
    """A person who is not root, with a folder and an agent that asks. Root could read every process."""
    folder = Path(tempfile.mkdtemp(prefix="someone-"))
    user = OwnUser()
    person = Person(folder, services.environment, children).registered("--no-agent")
    runtime = folder / "r"
    runtime.mkdir(mode=0o700)
    person.disk, person.window = user, Window(person)
    person.settings |= {
        "DISPLAY": ":77", "WAYLAND_DISPLAY": "", "CREDENTIAL_VAULT_PINENTRY": person.window.program,
        "TEST_PINENTRY": person.window.folder, "XDG_RUNTIME_DIR": runtime, "HOME": folder}
    user.own(folder)
    for command, password in ((["agent", "start", "--confirm"], None), (["login"], PASSWORD)):
        result = person.vault(*command, password=password)
        assert (result.status, "stay open" in result.err) == (0, False), result
    yield person
    person.vault("agent", "stop", "--force")
    shutil.rmtree(folder)


def test_the_person_is_asked_for_each_program_also_without_being_root(someone):
    def answer(*answers):
        someone.window.answer(*answers)
        someone.disk.own(someone.window.folder)

    if someone.disk.is_root:
        assert os.stat(f"/proc/{agent_process(someone)}").st_uid in (0, USER)  # root if it hides itself
    answer(NOT_CONFIRMED)
    refused = token_by_a_shell(someone)
    assert (refused.returncode, refused.stdout) == (82, ""), refused
    shell = os.path.realpath("/bin/sh")
    assert [told["SETDESC"] for told in someone.window.log] == [f"May {shell} use the session of alice?"]
    answer(True)
    # The script has no second answer, so a second question would fail.
    first = token_by_a_shell(someone, times=2)
    assert first.returncode == 0 and first.stdout.count("\n") == 2, first
    assert len(someone.window.log) == 1
    # Another program causes another question.
    other = someone.folder / "other-shell"
    shutil.copy(shell, other)
    answer(NOT_CONFIRMED)
    assert token_by_a_shell(someone, other).returncode == 82
    assert [told["SETDESC"] for told in someone.window.log] == [f"May {other} use the session of alice?"]
