"""The agent locks its sessions when the screen is locked, and before the machine sleeps."""

import socket

import pytest
from support.agent import agent_status
from support.libraries import WithoutLibrary
from support.logind import MockLogind
from support.person import PASSWORD
from support.waiting import wait_until

NOTHING = "The sessions do not lock with the screen or before sleep."


@pytest.fixture
def logind(anna, children, tmp_path_factory):
    logind = MockLogind(tmp_path_factory.mktemp("b"))
    children.append(logind)
    anna.settings["DBUS_SYSTEM_BUS_ADDRESS"] = logind.address
    assert anna.vault("login", password=PASSWORD).status == 0
    # The agent holds back the machine's sleep, so it already listens.
    logind.run("await_delays 1")
    return logind


def test_it_says_what_it_listens_to(anna, logind):
    (check,) = [check for check in anna.vault("doctor", "--json").json if check["name"] == "screen lock"]
    assert check["outcome"] == "ok"
    assert "The sessions also lock on: screen lock, sleep (logind).\n" in anna.vault("agent", "status").out
    assert agent_status(anna)["listening"] == ["The sessions also lock on: screen lock, sleep (logind)."]


def test_a_locked_screen_locks_the_sessions(anna, logind):
    assert anna.vault("token").status == 0
    logind.run("lock auto")
    wait_until(lambda: agent_status(anna)["sessions"] == [], "the lock")
    assert anna.vault("token").status == 78  # no terminal for a question
    logind.run("unlock auto")
    # The person has to log in again.
    assert anna.vault("token").status == 78
    assert anna.vault("agent", "unlock", password=PASSWORD).out == "Opened alice.\n"
    assert anna.vault("token").status == 0


@pytest.mark.parametrize("event", ["lock auto", "sleep true"])
def test_when_the_desktop_reports_no_unlocking_then_the_next_event_locks_too(anna, logind, event):
    logind.run("lock auto")
    wait_until(lambda: agent_status(anna)["sessions"] == [], "the lock")
    # The person unlocks the screen, and logind does not hear of it.
    assert anna.vault("agent", "unlock", password=PASSWORD).out == "Opened alice.\n"
    logind.run(event)
    wait_until(lambda: agent_status(anna)["sessions"] == [], "the second lock")


def test_the_machine_sleeps_when_the_sessions_are_locked_and_not_before(anna, logind):
    logind.run("sleep true")
    # From now on, nothing holds back the sleep.
    logind.run("await_delays 0")
    assert agent_status(anna)["sessions"] == []
    logind.run("sleep false")
    logind.run("await_delays 1")
    assert anna.vault("token").status == 78


def test_without_a_message_bus_it_says_so(anna, tmp_path):
    anna.settings["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={tmp_path}/no-bus"
    assert anna.vault("login", password=PASSWORD).status == 0
    assert f"{NOTHING} The message bus cannot be reached" in anna.vault("agent", "status").out
    (check,) = [check for check in anna.vault("doctor", "--json").json if check["name"] == "screen lock"]
    assert check["outcome"] == "warn" and f"{NOTHING} The message bus cannot be reached" in check["finding"]


def test_when_the_bus_never_answers_then_the_agent_does(anna, tmp_path_factory):
    path = tmp_path_factory.mktemp("b") / "bus"
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(path))
        # Nobody calls accept(), so the kernel accepts the connections and no program answers.
        bus.listen(100)
        anna.settings["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={path}"
        login = anna.vault("login", password=PASSWORD)
        assert login.status == 0 and login.err == ""
        assert anna.vault("token").status == 0
        status = anna.vault("agent", "status")
        assert status.status == 0 and f"{NOTHING} The message bus does not answer.\n" in status.out
        assert anna.vault("lock").status == 0


def test_when_libsystemd_is_missing_then_each_command_says_so(anna, logind, tmp_path):
    assert anna.vault("agent", "stop").status == 0
    anna.disk = WithoutLibrary(tmp_path, "libsystemd.so.0")
    login = anna.vault("login", password=PASSWORD)
    assert login.status == 0 and login.err == f"vault: {NOTHING} Install the package libsystemd0.\n"
    assert f"{NOTHING} The library libsystemd.so.0 is missing.\n" in anna.vault("agent", "status").out
    (check,) = [check for check in anna.vault("doctor", "--json").json if check["name"] == "screen lock"]
    assert check == {
        "name": "screen lock", "outcome": "warn", "finding": f"{NOTHING} The library libsystemd.so.0 is missing.",
        "advice": "Install the package libsystemd0."}
    assert anna.vault("token").status == 0
