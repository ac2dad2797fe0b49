"""The end of an agent that renews a token, or that has the only copy of a token."""

import re
import shutil
import signal
import socket

import pytest
from support.agent import agent_process, agent_status, socket_of
from support.person import PASSWORD
from support.waiting import TIMEOUT, wait_until

EVENTS = ("INSERT", "UPDATE")
STORING = re.compile("storing the renewed token before stopping")


def refuse_tokens(person):
    """Makes the store refuse refresh tokens, as if the disk were full. The store still accepts everything else."""
    for event in EVENTS:
        person.sql(f"CREATE TRIGGER full_{event} BEFORE {event} ON item WHEN NEW.name = 'vault/refresh-token'"
                   " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")


def take_tokens(person):
    for event in EVENTS:
        person.sql(f"DROP TRIGGER full_{event}")


def is_still_logged_in(person):
    """Whether the stored token is still valid. The provider ends a login when it sees an old token again."""
    return person.vault("token", "--no-agent", "--refresh", password=PASSWORD).status == 0


@pytest.fixture
def agent(anna):
    """An agent in the foreground that shows its messages and holds alice's session."""
    program = anna.start("agent", "start", "--foreground")
    wait_until(lambda: agent_status(anna)["running"], "the agent")
    assert anna.vault("login", password=PASSWORD).status == 0
    return program


@pytest.fixture
def unstored(anna, agent):
    """Waits until the agent has renewed the token and failed to store it."""
    refuse_tokens(anna)
    result = anna.vault("token", "--refresh")
    assert result.status == 74 and "could not be stored" in result.err, result
    return agent


def test_an_agent_with_the_only_copy_of_a_token_does_not_end(anna, unstored):
    result = anna.vault("agent", "stop")
    assert (result.status, result.out) == (74, ""), result
    assert "cannot store the renewed token of alice" in result.err and "vault agent stop --force" in result.err
    assert anna.vault("agent", "stop", "--json").error["code"] == "storeUnreadable"
    assert agent_process(anna) == unstored.pid and agent_status(anna)["sessions"] == []
    take_tokens(anna)
    assert anna.vault("agent", "stop").out == "The agent has ended.\n"
    unstored.process.wait(10)
    assert is_still_logged_in(anna)


def test_force_ends_it_and_says_what_is_lost(anna, unstored):
    result = anna.vault("agent", "stop", "--force")
    assert (result.status, result.out) == (0, "The agent has ended.\n"), result
    assert "The renewed token of alice could not be stored and is lost." in result.err
    assert "register again: vault register" in result.err
    unstored.process.wait(10)
    take_tokens(anna)
    assert anna.vault("token", "--no-agent", "--refresh", password=PASSWORD).status == 81


def test_a_signal_ends_it_and_says_what_is_lost(anna, unstored):
    unstored.signal(signal.SIGTERM)
    result = unstored.wait()
    assert result.status == -signal.SIGTERM, result
    assert "The renewed token of alice could not be stored and is lost." in result.err


def test_a_signal_first_stores_what_can_be_stored(anna, unstored):
    take_tokens(anna)
    unstored.signal(signal.SIGTERM)
    result = unstored.wait()
    assert result.status == -signal.SIGTERM and "lost." not in result.err, result
    assert is_still_logged_in(anna)


def test_the_next_login_goes_on_with_it(anna, unstored):
    assert anna.vault("lock").status == 0
    assert anna.vault("agent", "unlock", password=PASSWORD).status == 0
    take_tokens(anna)
    assert anna.vault("token", "--refresh").status == 0


def test_out_of_reach_it_waits_until_the_token_is_stored(anna, unstored, runtime):
    """The runtime folder is removed after the person logs out of the machine. The agent could inform nobody then."""
    watch = socket.socket(socket.AF_UNIX)
    watch.settimeout(TIMEOUT)
    watch.connect(str(socket_of(runtime)))
    watch.sendall(b"\0\0\0\3\1\x0c\0")  # watches all sessions
    assert b"locked" not in watch.recv(4096)
    shutil.rmtree(runtime / "credential-vault")
    told = b""
    while b"locked" not in told:
        told += watch.recv(4096)
    assert unstored.process.poll() is None
    take_tokens(anna)
    assert unstored.wait().status == 0
    assert is_still_logged_in(anna)


def stored_token(person):
    return person.sql("SELECT sealed FROM item WHERE name = 'vault/refresh-token'")


@pytest.fixture
def renewing(anna, runtime, own_services, key_service):
    """An agent that renews a token. The provider has the request and does not answer."""
    assert anna.vault("delete", "--yes").status == 0
    anna.settings = own_services.environment | {
        "CREDENTIAL_VAULT_KEY_SERVICE": key_service.url, "XDG_RUNTIME_DIR": str(runtime)}
    anna.registered("--no-agent")
    agent = anna.start("agent", "start", "--foreground")
    wait_until(lambda: agent_status(anna)["running"], "the agent")
    assert anna.vault("login", password=PASSWORD).status == 0
    agent.before = stored_token(anna)
    own_services.program.signal(signal.SIGSTOP)
    anna.start("token", "--refresh")
    wait_until(lambda: anna.vault("status", "--json").json.get("refresh_interrupted_at"), "the refresh to begin")
    yield agent
    own_services.program.signal(signal.SIGCONT)


@pytest.mark.parametrize("way", ["signal", "stop"])
def test_a_renewal_under_way_is_finished_first(anna, renewing, own_services, way):
    if way == "signal":
        renewing.signal(signal.SIGTERM)
        renewing.wait_for(STORING, "err")
    else:
        stop = anna.start("agent", "stop")
        wait_until(lambda: not agent_status(anna)["sessions"], "the lock")
    assert renewing.process.poll() is None
    own_services.program.signal(signal.SIGCONT)
    assert renewing.wait().status == (-signal.SIGTERM if way == "signal" else 0)
    if way == "stop":
        assert stop.wait().out == "The agent has ended.\n"
    assert stored_token(anna) != renewing.before
    assert not anna.vault("status", "--json").json.get("refresh_interrupted_at")
    assert is_still_logged_in(anna)


def test_a_second_signal_ends_it_at_once(anna, renewing):
    renewing.signal(signal.SIGTERM)
    renewing.wait_for(STORING, "err")
    renewing.signal(signal.SIGTERM)
    # The provider still does not answer.
    assert renewing.wait().status == -signal.SIGTERM
    assert stored_token(anna) == renewing.before
