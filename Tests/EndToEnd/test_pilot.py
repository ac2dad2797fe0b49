"""The pilot in one command, and the page of the handbook that does the same on real machines."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from support.documents import blocks
from support.packages import packed
from support.programs import ROOT, Result, run
from support.turns import folder_of_run, turn
from support.waiting import wait_until

SCRIPT = ROOT / "Examples/pilot/run.sh"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The settings of the script: the packages with the programs of the tests, and the libraries of these programs."""
    target = json.loads(run(["swift", "-print-target-info"]).out)
    return {
        "VAULT_PACKAGES": packed(tmp_path_factory) / "output",
        "VAULT_LIBRARIES": target["paths"]["runtimeLibraryPaths"][0]}


AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]


def command(environment):
    """What starts the script, as root."""
    return [*AS_ROOT, "env", *(f"{name}={value}" for name, value in environment.items()), SCRIPT]


@pytest.fixture(scope="module")
def pilot(environment, tmp_path_factory):
    """The output of the script, which runs once for all processes of the tests."""
    kept = folder_of_run(tmp_path_factory) / "pilot.json"
    with turn("pilot"):
        if not kept.exists():
            result = run(command(environment), timeout=900)
            assert result.status == 0, result.out + result.err
            kept.write_text(json.dumps([result.out, result.err]))
    return Result(0, *json.loads(kept.read_text()))


def after(pilot, command):
    """Returns what each run of a command showed. The command begins with its machine, as in `desk1$ vault login`."""
    steps = re.split(r"^(?=\w+\$ )", pilot.out, flags=re.M)
    answers = [step.partition("\n")[2] for step in steps if step.startswith(command)]
    assert answers, f"{command} is not in {pilot.out}"
    return answers


def test_alice_logs_in_at_both_desks_through_all_that_happens(pilot):
    assert [len(after(pilot, f"desk{number}$ vault login")) for number in (1, 2)] == [4, 6]
    # Twice at desk 1, before it was revoked.
    assert pilot.out.count("Signed in as alice.") == 2 + 6


@pytest.mark.parametrize("desk", ["desk1", "desk2"])
def test_when_the_screen_of_a_desk_is_locked_then_logind_tells_vault(pilot, desk):
    (session,) = after(pilot, f"{desk}$ loginctl user-status")
    assert re.search(r"State: active$", session, re.M) and re.search(r"session-c\d+\.scope", session), session
    # No person of this machine has her number, and could act as alice.
    assert "alice (59999)" in session, session
    assert "systemd --user" in session and "vault agent" in session, session
    (locked,) = after(pilot, f"{desk}$ vault agent status")
    assert "screen lock, sleep (logind)" in locked and "Locked: alice." in locked, locked


def test_a_revoked_desk_stays_revoked_after_the_restore(pilot):
    first, again, *refused = after(pilot, "desk1$ vault login")
    assert first.startswith("Signed in as alice.") and again.startswith("Signed in as alice.")
    assert [answer.splitlines()[0] for answer in refused] == ["status 80"] * 2
    assert pilot.err.count("This device was revoked") == 2


def test_the_operator_sees_that_each_step_is_done(pilot):
    assert after(pilot, "keys2$ curl")[0].startswith('{"status":"ready"}')
    (sealed,) = after(pilot, "keys1$ sudo vault-key-service-operate rotate-master-key")
    assert "Sealed 4 keys under the master key" in sealed and "No key in the database needs" in sealed
    (accepted,) = after(pilot, "keys1$ sudo vault-key-service-operate accept-rollback")
    assert accepted.startswith("Accepted.")
    # After the machine was killed.
    assert after(pilot, "keys1$ curl")[0].startswith('{"status":"ready"}')
    assert pilot.out.endswith("The machines are gone.\n")


# The cgroup of the machines. The number is the process ID of the script.
GROUP = re.compile(r"credential-vault-pilot-(\d+)")


def leftovers(group):
    """What is left of a script on this machine: mounts, network interfaces, processes and their cgroup."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if " /srv" in line]
    interfaces = [name for name in os.listdir("/sys/class/net") if name == "machines" or name.startswith("vb-")]
    processes = run(["pgrep", "--full", "--list-full", group]).out.splitlines()
    # A group may end while this looks at it, which os.walk passes over.
    groups = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if Path(folder).name == group]
    return mounts + interfaces + processes + groups


def test_nothing_of_the_pilot_is_left(pilot):
    group = GROUP.search(pilot.out)[0]
    wait_until(lambda: not leftovers(group), f"the end of {group}")


@pytest.mark.parametrize("stop", ["Ctrl-C", "kill -9"])
def test_when_the_script_is_stopped_then_nothing_of_it_is_left(environment, stop):
    with subprocess.Popen(
            command(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True) as script:
        shown = ""
        while "sudo install" not in shown:
            line = script.stdout.readline()
            assert line, shown
            shown += line
        group, process = GROUP.search(shown).group(0, 1)
        assert leftovers(group), "the machines run"
        signal = ["-INT", f"-{script.pid}"] if stop == "Ctrl-C" else ["-KILL", process]
        assert run([*AS_ROOT, "kill", signal[0], "--", signal[1]]).status == 0
        assert script.wait(timeout=60) != 0
    wait_until(lambda: not leftovers(group), f"the end of {group}")


# What only a script types, in place of a person's answers.
ANSWERS = re.compile(r" --(no-browser|yes|(new-pin|password)-file \w+)| 2> log$")


def comparable(command):
    return re.sub(r"\b[0-9a-f]{8}\b", "ID", ANSWERS.sub("", re.sub(r" \\\n +", " ", command)))


def test_the_page_has_the_commands_that_the_pilot_runs(pilot):
    ran = {comparable(command) for command in re.findall(r"^\w+\$ (.*)$", pilot.out, re.M)}
    # Another page also has some of these commands.
    typed = [
        comparable(command) for page in (ROOT / "Sources").rglob("*.md") for block in blocks(page, "console")
        if block.reason == "Examples/pilot/run.sh runs these commands" for command, _ in block.steps]
    assert len(typed) > 60 and set(typed) <= ran, set(typed) - ran
    # Nothing of the pilot is missing on the page, except the provider's machine and a look at logind.
    only_here = re.compile(r"scp .* login:$|loginctl user-status ")
    assert not {command for command in ran - set(typed) if not only_here.match(command)}
