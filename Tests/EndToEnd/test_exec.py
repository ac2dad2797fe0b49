"""`vault exec` replaces vault with a command that has the access token in its environment."""

import json
import os
import re
import resource
import signal
import subprocess
import sys

import pytest
from support.person import PASSWORD
from support.programs import VAULT, run

# Prints everything that a command inherits from the program that started it.
PROBE = """
import ctypes, json, os, signal
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
limits = open("/proc/self/limits").read()
print(json.dumps({
    "ignored": status["SigIgn"], "blocked": status["SigBlk"], "pending": status["ShdPnd"], "threads": status["Threads"],
    "group": os.getpgid(0) == os.getpid(), "session": os.getsid(0) == os.getpid(), "umask": status["Umask"],
    "dumpable": ctypes.CDLL(None).prctl(3), "limits": limits, "folder": os.getcwd(),
    "files": sorted(os.readlink(f"/proc/self/fd/{name}").split(":")[0] for name in os.listdir("/proc/self/fd")
                    if os.path.exists(f"/proc/self/fd/{name}")),
    "environment": dict(os.environ), "arguments": open("/proc/self/cmdline").read()}))
"""


def executed(person, *command, options=(), **more):
    return person.vault("exec", "--password-file", person.password_file(), *options, "--", *command, **more)


def test_the_command_finds_a_valid_token_and_its_arguments(alice):
    token = alice.vault("token", password=PASSWORD).out.strip()
    result = executed(alice, "sh", "-c", 'printf "%s|" "$ACCESS_TOKEN" "$@"', "sh", "a b", "--user", "-h", "")
    assert (result.status, result.out, result.err) == (0, f"{token}|a b|--user|-h||", "")
    named = executed(alice, "sh", "-c", 'printf "%s|%s" "$API" "$ACCESS_TOKEN"', options=("--env", "API"))
    assert named.out == f"{token}|"


def test_the_command_finds_what_it_would_find_without_vault(alice, tmp_path):
    """Signals, limits, files, environment: the command inherits nothing from vault."""
    with open(tmp_path / "open", "w") as file:
        def prepare():
            signal.signal(signal.SIGQUIT, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
            resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))
            os.umask(0o027)

        # Without this capability even root cannot raise a limit again.
        limited = ["setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource"]
        limited = limited if os.geteuid() == 0 else []
        probe = [sys.executable, "-I", "-c", PROBE]
        command = [VAULT, "exec", "--password-file", alice.password_file(), "--", *probe]
        environment = alice.environment(XDG_RUNTIME_DIR="", PATH=os.environ["PATH"])
        found = []
        for words in ([*limited, *probe], [*limited, *command]):
            result = run(words, environment, preexec_fn=prepare, pass_fds=[file.fileno()], restore_signals=False)
            assert result.status == 0, result
            found.append(json.loads(result.out))
    plain, through_vault = found
    token = through_vault["environment"].pop("ACCESS_TOKEN")
    assert token not in through_vault["arguments"]
    assert through_vault == plain
    assert plain["dumpable"] == 1 and "4096" in plain["limits"] and int(plain["blocked"], 16)


def test_bytes_that_are_no_text_come_through(alice):
    """Variables and arguments of a command may contain bytes that are not UTF-8."""
    command = [VAULT, "exec", "--password-file", alice.password_file(), "--", "sh", "-c", 'printf "%s|%s" "$X" "$1"', "sh"]
    environment = {name.encode(): value.encode() for name, value in alice.environment().items()} | {b"X": b"\xff\xfe"}
    done = subprocess.run([*command, b"\xe4"], env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"\xff\xfe|\xe4"), done


def test_the_command_is_the_process_that_was_started(alice):
    program = alice.start("exec", "--password-file", alice.password_file(), "--", "sh", "-c", "echo $$; exec sleep 60")
    number = program.wait_for(re.compile(r"^(\d+)$", re.M))[1]
    assert int(number) == program.pid
    program.signal(signal.SIGTERM)
    assert program.wait().status == -signal.SIGTERM


@pytest.mark.parametrize("script, status", [
    ("exit 0", 0), ("exit 7", 7), ("exit 77", 77), ("kill -KILL $$", -9), ("kill -INT $$", -2)])
def test_the_exit_status_is_the_commands_own(alice, script, status):
    assert executed(alice, "sh", "-c", script).status == status


def test_the_terminal_belongs_to_the_command(alice):
    terminal = alice.terminal("exec", "--", "sh", "-c", "stty -a | head -1; echo ready; cat")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    terminal.expect("ready")
    assert terminal.echoes and terminal.mode == terminal.original_mode
    terminal.type("some text")
    terminal.expect("some text")
    terminal.expect("some text")  # the echo, and the output of cat
    terminal.press("c")
    assert terminal.end() == -signal.SIGINT


def test_a_shell_can_stop_and_continue_the_command(alice):
    script = f'set -m; "$VAULT" exec --password-file {alice.password_file()} -- sh -c "kill -STOP \\$\\$; echo again; exit 5"'
    result = run(["bash", "-c", f"{script} & wait $!; jobs; fg; echo status $?"], alice.environment(VAULT=VAULT))
    assert "Stopped" in result.out and "again\nstatus 5\n" in result.out, result


@pytest.mark.parametrize("name, status", [
    ("no-such-command", 127), ("./no-such-command", 127), ("/etc/passwd", 126), ("/", 126), ("", 127)])
def test_a_command_that_cannot_run_is_told_before_anything_is_asked(alice, name, status):
    result = alice.vault("exec", "--", name)
    assert result.status == status and result.out == ""
    assert result.err == f"vault: {name}: {'command not found' if status == 127 else 'permission denied'}\n"
    error = alice.vault("exec", "--json", "--", name)
    assert error.error["code"] == ("commandNotFound" if status == 127 else "commandNotExecutable")


def test_a_command_that_the_system_refuses(alice, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = executed(alice, script)
    assert result.status == 126 and "cannot be run" in result.err
    script.write_text('echo "$1"\n')  # without an interpreter line, so a shell runs it
    assert executed(alice, script, "word").out == "word\n"


@pytest.mark.parametrize("arguments", [
    [], ["true"], ["--env", "A=B", "--", "true"], ["--env", "1A", "--", "true"], ["--env", "", "--", "true"],
    ["--item", "name", "--", "true"], ["--item", "name=", "--", "true"], ["--item", "=NAME", "--", "true"],
    ["--item", "a=X", "--item", "b=X", "--", "true"], ["--item", "a=ACCESS_TOKEN", "--", "true"],
    ["--item", "vault/refresh-token=X", "--", "true"], ["--item", "vault/access-token=X", "--", "true"]])
def test_wrong_usage(alice, arguments):
    assert alice.vault("exec", *arguments).status == 64


def test_nothing_runs_when_the_account_does_not_open(alice, tmp_path):
    made = tmp_path / "made"
    result = alice.vault("exec", "--", "touch", made)
    assert result.status == 78 and "no terminal" in result.err
    result = alice.vault("exec", "--password-file", alice.password_file("not it", "wrong"), "--", "touch", made)
    assert result.status == 77
    result = executed(alice, "touch", made, options=("--item", "nothing=X"))
    assert result.status == 66 and "has no item nothing. See: vault item list" in result.err
    assert not made.exists()


def test_the_command_does_not_find_the_password(alice):
    with open(alice.password_file()) as file:
        number = file.fileno()
        command = ["exec", "--password-fd", number, "--", "sh", "-c", f"cat /proc/self/fd/{number}"]
        result = alice.vault(*command, pass_fds=[number])
    assert result.status == 1 and PASSWORD not in result.out


def test_a_token_that_is_bound_to_a_key_is_explained_at_a_terminal(alice):
    bound = alice.vault("token", "--json", password=PASSWORD).json["token_type"].lower() == "dpop"
    terminal = alice.terminal("exec", "--", "true")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert ("bound to a key (DPoP)" in terminal.shown) == bound


@pytest.mark.skipif("item" not in run([VAULT, "--help"]).out.split(), reason="this vault has no command item")
def test_items_of_an_app_are_put_into_variables(alice):
    password = alice.password_file()
    for name, value in [("text", "käse\n=1"), ("a=b", "other"), ("zero", "a\0b"), ("bytes", b"\xff\xfe")]:
        stored = run([VAULT, "item", "set", name, "--password-file", password], alice.environment(), value)
        assert stored.status == 0, stored
    options = ("--item", "text=TEXT", "--item", "a=b=OTHER")
    result = executed(alice, "sh", "-c", 'printf "%s|" "$TEXT" "$OTHER"', options=options)
    assert (result.status, result.out) == (0, "käse\n=1|other|")
    for name in ("zero", "bytes"):
        result = executed(alice, "true", options=("--item", f"{name}=X"))
        assert result.status == 78 and f"The item {name} is not text." in result.err
