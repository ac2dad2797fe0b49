"""Sessions that stay open between commands, as a person sees them."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest
from support.agent import agent_process, agent_status, socket_of
from support.person import OTHER_PASSWORD, PASSWORD
from support.programs import VAULT, run
from support.waiting import wait_until


def test_after_a_login_nothing_is_asked(anna):
    result = anna.vault("login", password=PASSWORD)
    assert result.status == 0, result
    token = anna.vault("token")
    assert (token.status, token.err) == (0, ""), token
    assert anna.vault("token", "--user", "alice").out == token.out
    assert "email: alice@example.com" in anna.vault("userinfo").out
    assert json.loads(anna.vault("token", "--json").out)["access_token"] + "\n" == token.out


def test_a_new_token_comes_without_a_password(anna):
    assert anna.vault("login", password=PASSWORD).status == 0
    first = anna.vault("token").out
    second = anna.vault("token", "--refresh")
    assert second.status == 0 and second.out != first
    # The small program sees the new one at once.
    assert anna.vault("token").out == second.out


def test_without_the_agent_the_password_is_needed(anna):
    assert anna.vault("login", "--no-agent", password=PASSWORD).status == 0
    assert anna.vault("agent", "status").out == "No agent runs. To log in, and start it: vault login\n"
    assert anna.vault("token").status == 78


def test_the_setting_off_keeps_nothing_open(anna):
    result = anna.vault("login", password=PASSWORD, env={"CREDENTIAL_VAULT_AGENT": "off"})
    assert result.status == 0, result
    assert anna.vault("agent", "status").out.startswith("No agent runs.")


# Row: other users of the machine
def test_the_socket_is_the_persons_own(anna, runtime):
    anna.vault("login", password=PASSWORD)
    path = socket_of(runtime)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("command", [("lock",), ("agent", "lock"), ("logout",)])
def test_locking_drops_the_session(anna, command):
    anna.vault("login", password=PASSWORD)
    assert anna.vault(*command).status == 0
    result = anna.vault("token")
    assert result.status == 78 and result.err.endswith("session at a terminal: vault login --user alice\n"), result
    assert agent_status(anna)["sessions"] == []
    assert anna.vault("token", password=PASSWORD).status == 0


def test_a_locked_session_is_opened_by_its_own_password_only(anna):
    anna.vault("login", password=PASSWORD)
    anna.vault("agent", "lock")
    assert anna.vault("agent", "unlock", password="wrong").status == 77
    assert anna.vault("token").status == 78
    result = anna.vault("agent", "unlock", password=PASSWORD)
    assert (result.status, result.out) == (0, "Opened alice.\n"), result
    assert anna.vault("token").status == 0


def test_when_unlock_names_an_account_then_only_this_one_opens(anna):
    anna.registered("--no-agent", "--alias", "bob", user="bob")
    for name in ("alice", "bob"):
        assert anna.vault("login", "--user", name, password=PASSWORD).status == 0
    anna.vault("agent", "lock")
    result = anna.vault("agent", "unlock", "--user", "bob", password=PASSWORD)
    assert (result.status, result.out) == (0, "Opened bob.\n"), result
    again = anna.vault("agent", "unlock", "--user", "bob", password=PASSWORD)
    assert (again.status, again.out) == (0, "bob is open already.\n"), again
    assert len(agent_status(anna)["locked"]) == 1


def test_a_locked_session_is_shown_by_its_name(anna):
    anna.vault("login", password=PASSWORD)
    anna.vault("lock")
    assert "Locked: alice. To open again: vault agent unlock\n" in anna.vault("agent", "status").out


def test_an_account_that_does_not_open_keeps_no_other_closed(anna):
    anna.registered("--no-agent", user="bob")
    for name in ("alice", "bob"):
        assert anna.vault("login", "--user", f"{name}@example.com", password=PASSWORD).status == 0
    anna.vault("agent", "lock")
    terminal = anna.terminal("agent", "unlock")
    for left in ("2 guesses are left", "1 guess is left"):
        terminal.expect("Password of ")
        terminal.type(f"not the password, {left}")
        terminal.expect(f"Wrong password. {left}.")
    terminal.expect("Password of ")
    terminal.type(PASSWORD)
    terminal.expect("Opened ")
    assert terminal.end() == 77
    status = agent_status(anna)
    assert (len(status["sessions"]), len(status["locked"])) == (1, 1)
    # The program tries a given password on one account only.
    anna.vault("agent", "lock")
    result = anna.vault("agent", "unlock", password="not the password")
    assert result.status == 77 and result.err.count("Wrong password") == 1, result


def test_without_a_runtime_folder_it_says_what_the_agent_needs(person):
    person.registered()
    result = person.vault("agent", "status", env={"XDG_RUNTIME_DIR": ""})
    assert result.status == 0 and result.out.startswith("No agent can run here. It needs XDG_RUNTIME_DIR"), result


def test_without_a_runtime_folder_a_login_says_that_no_session_stays_open(alice):
    note = "the session does not stay open, so each command asks again. The agent needs XDG_RUNTIME_DIR"

    def shown(*options, command="login", **env):
        terminal = alice.terminal(command, "--password-file", alice.password_file(), *options, env=env)
        if command == "register":
            terminal.browse()
        assert terminal.end() == 0, terminal.shown
        return " ".join(terminal.shown.split())

    assert note in shown() and "Signed in as alice" in shown()
    assert note in shown("--no-browser", command="register")
    for silent in (shown("--no-agent"), shown("--json"), shown(CREDENTIAL_VAULT_AGENT="off")):
        assert note not in silent, silent
    assert alice.vault("login", password=PASSWORD).err == "", "a script knows where it runs"


def test_an_open_session_saves_what_registering_again_would_lose(anna, tmp_path):
    anna.vault("login", password=PASSWORD)
    anna.vault("item", "set", "note", input=b"Room 4", stdin=None)
    for _ in range(3):
        assert anna.vault("login", "--no-agent", password="not the password").status == 77
    terminal = anna.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("empty to choose a new password): ")
    terminal.type(PASSWORD)
    terminal.expect("The key service has locked this password.")
    terminal.expect("To keep the items, answer no. Then copy each one: vault item get NAME --user alice")
    terminal.expect("A new password deletes: note. Continue? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    # An open session alone makes no new unlock method.
    pin = anna.password_file("284617", "pin")
    assert anna.vault("unlock", "add", "pin", "--new-pin-file", pin).status == 78
    assert anna.vault("item", "get", "note").out == "Room 4"


def test_after_registering_nothing_is_asked(anna):
    result = anna.register(user="bob")
    assert result.status == 0 and "Next: vault token --user bob\n" in result.err, result
    assert anna.vault("token", "--user", "bob").status == 0
    result = anna.register("--no-agent", user="bob")
    assert "Next: vault login --user bob\n" in result.err, result


def test_an_agent_with_nothing_in_it_takes_no_password(anna):
    assert anna.vault("agent", "start").status == 0
    result = anna.vault("agent", "unlock", password=PASSWORD)
    assert (result.status, result.out) == (0, "No session is locked. To log in: vault login\n"), result
    result = anna.vault("agent", "unlock", "--user", "alice")
    assert (result.status, result.out) == (0, "No session of alice is locked. To log in: vault login --user alice\n"), result
    assert anna.vault("agent", "unlock", "--json").json == {"opened": []}


def test_when_nothing_is_locked_then_unlock_names_a_login_that_works(anna):
    anna.registered("--no-agent", "--alias", "bob", user="bob")
    for prepare in (lambda: None, lambda: anna.vault("agent", "start")):
        prepare()
        result = anna.vault("agent", "unlock")
        assert (result.status, result.err) == (0, ""), result
        assert result.out == "No session is locked. To log in, for example: vault login --user alice\n"
    assert anna.vault("login", "--user", "alice", password=PASSWORD).status == 0
    result = anna.vault("agent", "unlock")
    assert result.out == "No session is locked. To see the open sessions: vault agent status\n", result


def test_when_no_session_was_open_then_agent_lock_says_so(anna):
    assert anna.vault("agent", "start").status == 0
    result = anna.vault("agent", "lock")
    assert (result.status, result.out) == (0, "No session was open.\n"), result
    anna.vault("login", password=PASSWORD)
    assert anna.vault("agent", "lock").out == "Locked all sessions. To open them again: vault agent unlock\n"


def test_a_killed_agent_loses_nothing(anna):
    anna.vault("login", password=PASSWORD)
    before = anna.stored_for_good()
    os.kill(agent_process(anna), signal.SIGKILL)
    wait_until(lambda: anna.vault("agent", "status").out.startswith("No agent runs."), "the agent's end")
    assert anna.stored_for_good() == before
    assert anna.vault("token").status == 78
    assert anna.vault("login", password=PASSWORD).status == 0
    assert anna.vault("token").status == 0


def test_several_people_at_once(anna):
    anna.registered("--no-agent", user="bob")
    for name in ("alice", "bob"):
        assert anna.vault("login", "--user", f"{name}@example.com", password=PASSWORD).status == 0
    tokens = {anna.vault("token", "--user", f"{name}@example.com").out for name in ("alice", "bob")}
    assert len(tokens) == 2
    # No caller gets another account's token by accident.
    assert anna.vault("token").status == 66
    result = anna.vault("login", "--exclusive", "--user", "bob@example.com", password=PASSWORD)
    assert result.status == 0 and "Locked alice.\n" in result.err, result
    assert [session["name"] for session in agent_status(anna)["sessions"]] == ["bob"]
    # Only one account is to be open.
    assert anna.vault("agent", "unlock").out.startswith("No session is locked.")
    again = anna.vault("login", "--exclusive", "--user", "bob@example.com", password=PASSWORD)
    assert again.status == 0 and "Locked" not in again.err, again


def test_a_name_that_moves_to_another_account_is_noticed(anna):
    anna.registered("--no-agent", user="bob")
    for name in ("alice", "bob"):
        anna.vault("login", "--user", f"{name}@example.com", password=PASSWORD)
    # On the second request, the agent answers from memory.
    alice = {anna.vault("token", "--user", "alice@example.com").out for _ in range(2)}
    assert len(alice) == 1
    assert anna.vault("delete", "--user", "alice@example.com", "--yes").status == 0
    assert anna.vault("token", "--user", "alice@example.com").status == 66
    # Now there is only one account.
    assert anna.vault("token").out not in alice


def test_the_list_of_accounts_is_the_same_with_and_without_the_agent(anna):
    without = anna.vault("users").out
    anna.vault("login", password=PASSWORD)
    assert anna.vault("users").out == without
    assert anna.vault("users", "--json").status == 0


def test_limits_are_shown(anna):
    anna.vault("login", "--idle-timeout", "5", "--session-lifetime", "2", password=PASSWORD)
    [session] = agent_status(anna)["sessions"]
    assert 290 < session["idle_left"] <= 300
    assert 7190 < session["lifetime_left"] <= 7200
    assert "locks in 5 min if not used; locks in 2 h 0 min in any case" in anna.vault("agent", "status").out


def test_an_empty_limit_is_not_no_limit(anna):
    # For example, a script whose variable is not set.
    for option in ("--idle-timeout", "--session-lifetime"):
        result = anna.vault("login", option, "", password=PASSWORD)
        assert result.status == 64 and "is a number of" in result.err


def test_a_way_in_is_added_with_the_password(anna):
    anna.vault("login", password=PASSWORD)
    pin = anna.folder / "pin"
    pin.write_text("8264\n")
    assert anna.vault("unlock", "add", "pin", "--new-pin-file", pin).status == 78
    result = anna.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD)
    assert result.status == 0, result
    anna.vault("lock")
    assert anna.vault("login", "--pin", password="8264").status == 0


def test_the_agent_ends_with_its_runtime_folder_in_another_place(anna, runtime):
    """A second agent for the same place is refused. An agent for another place is not."""
    anna.vault("login", password=PASSWORD)
    second = anna.vault("agent", "start", "--foreground")
    assert second.status == 75 and "runs already" in second.err


def test_a_folder_that_others_can_use_is_refused(anna, runtime):
    (runtime / "credential-vault").mkdir(mode=0o755)
    os.chmod(runtime / "credential-vault", 0o755)
    result = anna.vault("login", password=PASSWORD)
    assert result.status == 0 and "chmod 700" in result.err, result
    assert anna.vault("token").status == 78


def test_an_agent_of_another_version_is_told(anna, runtime):
    """A client of another version gets a clear message."""
    anna.vault("login", password=PASSWORD)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(socket_of(runtime)))
    connection.sendall(b"\0\0\0\2\x09\x03")
    answer = connection.recv(4096)
    # A client that knows the detail adds the command.
    assert b"version" in answer and b"End the agent" in answer and b"agentOfOtherVersion" in answer


def test_clients_that_hang_do_not_disturb(anna, runtime):
    anna.vault("login", password=PASSWORD)
    clients = []
    for number in range(500):
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(socket_of(runtime)))
        client.sendall(b"\0\0\0\x40\1\1"[: number % 7])
        clients.append(client)
    assert anna.vault("token").status == 0
    for client in clients:
        client.close()


def resident(process, kind):
    """Resident memory in KiB. `RssAnon` is the process's own memory, and `RssFile` is pages of programs and
    libraries."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(kind))


def test_many_requests_leave_the_memory_where_it_was(anna):
    anna.vault("login", password=PASSWORD)
    process = agent_process(anna)
    for _ in range(100):
        anna.vault("token")
    before = resident(process, "RssAnon")
    for _ in range(400):
        assert anna.vault("token").status == 0
    assert resident(process, "RssAnon") < before + 2048


def test_an_agent_with_nothing_to_do_gives_memory_back(anna):
    anna.vault("login", password=PASSWORD)
    process = agent_process(anna)
    # A login uses most of the program, and everything that Swift and Foundation load: dozens of megabytes.
    wait_until(lambda: resident(process, "RssFile") < 10_000, "the agent to give its program's memory back")
    token = anna.vault("token").out
    assert anna.vault("token", "--refresh").out not in ("", token)
    assert anna.vault("login", password=PASSWORD).status == 0
    assert agent_process(anna) == process


def test_no_secret_reaches_the_agents_arguments_or_environment(anna):
    anna.vault("login", password=PASSWORD)
    token = anna.vault("token").out.strip()
    folder = f"/proc/{agent_process(anna)}"
    for name in ("cmdline", "environ"):
        with open(f"{folder}/{name}", "rb") as file:
            content = file.read()
        assert token.encode() not in content and PASSWORD.encode() not in content


def test_systemd_can_hand_over_the_socket(anna, runtime):
    path = runtime / "credential-vault"
    path.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    home = str(anna.home)
    value = 0xCBF29CE484222325
    for byte in home.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    listener.bind(str(path / f"agent-{value:016x}.sock"))
    listener.listen()

    def become():
        os.dup2(listener.fileno(), 3)
        os.environ["LISTEN_PID"] = str(os.getpid())

    script = "import os,sys; os.dup2(int(sys.argv[1]),3); os.environ.update(LISTEN_FDS='1',LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2],sys.argv[2:])"
    process = subprocess.Popen(
        ["python3", "-c", script, str(listener.fileno()), VAULT, "agent", "start", "--foreground"],
        env=anna.environment(), pass_fds=[listener.fileno(), 3] if listener.fileno() != 3 else [3],
    )
    try:
        listener.close()
        assert anna.vault("login", password=PASSWORD).status == 0
        assert anna.vault("token").status == 0
        assert agent_process(anna) == process.pid
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("place", ["XDG_DATA_HOME", "HOME", "config", "relative"])
def test_a_token_of_another_store_is_never_printed(anna, place, tmp_path):
    """The small program asks only the agent of the store that its settings name."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    usual = tmp_path / "usual"
    usual.mkdir()
    shutil.copytree(anna.home, usual / "credential-vault")
    environment = {"XDG_DATA_HOME": str(usual), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "c1")}

    def run(*arguments, password=None, cwd=None, **more):
        full = {**anna.environment(), **environment, **more}
        del full["CREDENTIAL_VAULT_HOME"]
        full.update({name: value for name, value in more.items() if name == "CREDENTIAL_VAULT_HOME"})
        words = [VAULT, *arguments, *(["--password-file", "-"] if password else [])]
        return subprocess.run(words, env=full, input=password, capture_output=True, text=True, cwd=cwd)

    try:
        assert run("login", password=PASSWORD).returncode == 0
        assert run("token").returncode == 0
        if place == "XDG_DATA_HOME":
            result = run("token", XDG_DATA_HOME=str(other))
        elif place == "HOME":
            result = run("token", HOME=str(other), XDG_DATA_HOME="")
        elif place == "config":
            folder = tmp_path / "c2" / "credential-vault"
            folder.mkdir(parents=True)
            (folder / "config.json").write_text(json.dumps({"home": str(other)}))
            result = run("token", XDG_CONFIG_HOME=str(tmp_path / "c2"))
        else:
            result = run("token", cwd=other, CREDENTIAL_VAULT_HOME="here")
        assert (result.returncode, result.stdout) == (66, ""), result
    finally:
        run("agent", "stop")


def test_a_client_that_locks_and_goes_away_has_locked(anna, runtime):
    anna.vault("login", password=PASSWORD)
    process = agent_process(anna)
    os.kill(process, signal.SIGSTOP)
    try:
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(socket_of(runtime)))
        client.sendall(b"\0\0\0\4\1\x0b\0\0")  # all sessions
        client.close()
    finally:
        os.kill(process, signal.SIGCONT)
    wait_until(lambda: agent_status(anna)["sessions"] == [], "the lock")


def test_an_agent_that_does_not_answer_is_told(anna):
    anna.vault("login", password=PASSWORD)
    process = agent_process(anna)
    os.kill(process, signal.SIGSTOP)
    try:
        for command in (["logout"], ["token"], ["exec", "--", "true"]):
            result = anna.vault(*command)
            assert result.status == 75 and "does not answer" in result.err, (command, result)
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("command", [["lock"], ["lock", "--user", "bob"], ["agent", "lock"]], ids=" ".join)
def test_when_the_agent_hangs_then_a_lock_waits_for_it_only_once(anna, command):
    anna.registered("--no-agent", "--alias", "bob", user="bob")
    anna.vault("login", "--user", "bob", password=PASSWORD)
    process = agent_process(anna)
    os.kill(process, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        result = anna.vault(*command)
        assert result.status == 75 and "does not answer" in result.err, result
        assert time.monotonic() - begin < 9.5
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("command", [["logout"], ["logout", "--everywhere"], ["delete", "--yes"]], ids=" ".join)
def test_when_the_agent_hangs_then_the_access_token_is_gone(anna, command):
    anna.vault("login", password=PASSWORD)
    tokens = "SELECT count(*) FROM item WHERE name = 'vault/access-token'"
    assert anna.sql(tokens) == [(1,)]
    process = agent_process(anna)
    os.kill(process, signal.SIGSTOP)
    try:
        result = anna.vault(*command)
        assert result.status == 75 and "does not answer" in result.err, result
        assert anna.sql(tokens) == [(0,)]
    finally:
        os.kill(process, signal.SIGCONT)


def test_when_the_secret_is_wrong_then_logout_everywhere_closes_nothing(anna):
    anna.vault("login", password=PASSWORD)
    result = anna.vault("logout", "--everywhere", password=OTHER_PASSWORD)
    assert result.status == 77 and "2 guesses are left." in result.err, result
    assert "Nothing was closed. To log out on this machine only: vault logout --user alice" in result.err
    assert len(agent_status(anna)["sessions"]) == 1 and anna.vault("token", "--refresh").status == 0


def test_when_a_session_is_open_then_logout_everywhere_asks_nothing(anna, services):
    anna.vault("login", password=PASSWORD)
    result = anna.vault("logout", "--everywhere", "--browser", "--no-browser", "--json")
    assert result.status == 0 and result.json["revoked"] is True, result
    assert "id_token_hint=ey" in result.err
    assert agent_status(anna)["sessions"] == [] and agent_status(anna)["locked"] == []
    assert anna.vault("login", password=PASSWORD).status == 83


def test_when_a_session_is_open_then_logout_in_the_browser_ends_it(anna):
    anna.vault("login", password=PASSWORD)
    result = anna.vault("logout", "--browser", "--no-browser")
    assert result.status == 0 and "id_token_hint=ey" in result.err, result
    assert agent_status(anna)["sessions"] == [] and agent_status(anna)["locked"] == []
    assert anna.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("command", ["token", "users"])
def test_when_the_output_is_full_then_the_quick_answer_is_an_error(anna, command):
    anna.vault("login", password=PASSWORD)
    result = run(["bash", "-c", '"$0" "$1" > /dev/full', VAULT, command], anna.environment())
    assert result.status == 74, result
    assert result.err == "vault: The output could not be written: No space left on device.\n"


@pytest.mark.parametrize("command", ["token", "users"])
def test_when_the_reader_has_gone_then_the_quick_answer_is_quiet(anna, command):
    anna.vault("login", password=PASSWORD)
    script = 'exec 3> >(true); wait $!; "$0" "$1" >&3'
    result = run(["bash", "-c", script, VAULT, command], anna.environment())
    assert (result.status, result.err) == (0, ""), result


def test_stopping_waits_for_a_renewed_token(anna, runtime, services):
    """The agent is stopped repeatedly during renewals, and no token is lost."""
    for _ in range(8):
        assert anna.vault("login", password=PASSWORD).status == 0
        renewal = anna.start("token", "--refresh")
        stop = anna.start("agent", "stop")
        renewal.wait()
        assert stop.wait().status == 0
    assert anna.vault("login", password=PASSWORD).status == 0


def test_the_agent_keeps_no_file_of_the_shell_open(anna, tmp_path):
    lock = tmp_path / "lock"
    shell = f'exec 9>{lock}; flock 9; "$0" agent start; exec 9>&-; flock --nonblock {lock} true'
    result = subprocess.run(["bash", "-c", shell, VAULT], env=anna.environment(), capture_output=True, text=True)
    assert result.returncode == 0, result
