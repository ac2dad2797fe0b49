"""The agent locks its sessions when the screen is locked, and before the machine sleeps."""

import pytest
from support.agent import agent_status
from support.logind import MockLogind
from support.person import PASSWORD
from support.waiting import wait_until


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
    assert "The sessions do not lock with the screen or before sleep. The message bus cannot be reached" in anna.vault("agent", "status").out
