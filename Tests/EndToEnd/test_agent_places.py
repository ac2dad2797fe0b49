"""The agent and its surroundings: other spellings of the store's folder, a moved store, and a socket from systemd."""

import shutil
import socket
import threading

from support.agent import agent_process, socket_of
from support.person import PASSWORD
from support.waiting import wait_until


def test_every_spelling_of_the_folder_leads_to_the_same_agent(anna, tmp_path):
    anna.vault("login", password=PASSWORD)
    link = tmp_path / "link"
    link.symlink_to(anna.home.parent)
    token = anna.vault("token").out
    for spelling in (f"{anna.home}/", f"{anna.home}/../{anna.home.name}", link / anna.home.name):
        assert anna.vault("token", env={"CREDENTIAL_VAULT_HOME": spelling}).out == token
    assert anna.vault("lock", env={"CREDENTIAL_VAULT_HOME": link / anna.home.name}).status == 0
    assert anna.vault("token").out == ""


def test_no_token_comes_from_a_store_that_was_moved_away(anna, tmp_path):
    anna.vault("login", password=PASSWORD)
    token = anna.vault("token").out
    assert token
    anna.home.rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", anna.home)
    result = anna.vault("token")
    assert result.status != 0 and token not in result.out, result
    # The copied refresh token is valid, because the agent renewed nothing in the old place.
    assert anna.vault("token", "--no-agent", "--refresh", password=PASSWORD).status == 0


def test_an_agent_that_ends_while_it_is_asked_does_not_keep_people_out(anna, runtime):
    anna.vault("login", password=PASSWORD)
    path = socket_of(runtime)
    anna.vault("agent", "stop")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def close_each():
        client, _ = listener.accept()
        client.recv(4096)
        listener.close()
        path.unlink()
        client.close()

    ending = threading.Thread(target=close_each, daemon=True)
    ending.start()
    result = anna.vault("login", password=PASSWORD)
    ending.join()
    assert result.status == 0, result
    # The command has started another agent.
    assert anna.vault("token").status == 0


def test_a_second_agent_does_not_take_a_socket_that_somebody_listens_at(anna, runtime):
    anna.vault("login", password=PASSWORD)
    process = agent_process(anna)
    # The first agent has no lock, just like an agent with a socket from systemd.
    socket_of(runtime).with_suffix(".sock.lock").unlink()
    assert anna.vault("agent", "start").status == 0
    assert agent_process(anna) == process
    wait_until(lambda: anna.vault("token").status == 0, "the token")
