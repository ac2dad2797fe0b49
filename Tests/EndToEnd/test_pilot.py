"""The pilot in one command, and the page of the handbook that does the same on real machines."""

import os
import re
from pathlib import Path

import pytest
from support.documents import blocks
from support.programs import BINARIES, ROOT, run

PAGE = ROOT / "Sources/KeyServiceServer/KeyServiceServer.docc/KeyServicePilot.md"
SCRIPT = ROOT / "Examples/pilot/run.sh"


@pytest.fixture(scope="module")
def pilot():
    """The output of the script. It needs root."""
    as_root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    result = run([*as_root, "env", f"VAULT_BINARIES={BINARIES}", SCRIPT], timeout=600)
    assert result.status == 0, result.out + result.err
    return result


def after(pilot, command):
    """What the command showed, which is named with its machine. If it was typed several times: each answer."""
    steps = re.split(r"^(?=\w+\$ )", pilot.out, flags=re.M)
    answers = [step.partition("\n")[2] for step in steps if step.startswith(command)]
    assert answers, f"{command} is not in {pilot.out}"
    return answers


def test_alice_logs_in_at_both_desks_through_all_that_happens(pilot):
    assert [len(after(pilot, f"desk{number}$ vault login")) for number in (1, 2)] == [3, 5]
    # Once at desk 1, before it was revoked.
    assert pilot.out.count("Signed in as alice.") == 1 + 5


def test_a_revoked_desk_stays_revoked_after_the_restore(pilot):
    first, *refused = after(pilot, "desk1$ vault login")
    assert first.startswith("Signed in as alice.")
    assert [answer.splitlines()[0] for answer in refused] == ["status 80"] * 2
    assert pilot.err.count("This device was revoked") == 2


def test_the_operator_sees_that_each_step_is_done(pilot):
    assert after(pilot, "keys2$ curl")[0].startswith('{"status":"ready"}')
    (sealed,) = after(pilot, "keys1$ vault-key-service rotate-master-key")
    assert "Sealed 4 keys under the master key" in sealed and "No key in the database needs" in sealed
    (accepted,) = after(pilot, "keys1$ vault-key-service accept-rollback")
    assert accepted.startswith("Accepted.")
    assert pilot.out.endswith("Nothing of the pilot is left on this machine.\n")


def test_nothing_of_the_pilot_is_left(pilot):
    assert "/srv/.programs" not in Path("/proc/mounts").read_text()
    assert "10.20.0.10" not in Path("/etc/hosts").read_text()


# What only a script types, in place of a person's answers, and what a person types to become another user.
ANSWERS = re.compile(r" --(no-browser|yes|(new-pin|password)-file \w+)| 2> log$|^sudo (-u postgres )?")


def comparable(command):
    return re.sub(r"\b[0-9a-f]{8}\b", "ID", ANSWERS.sub("", re.sub(r" \\\n +", " ", command)))


def test_the_page_has_the_commands_that_the_pilot_runs(pilot):
    ran = {comparable(command) for command in re.findall(r"^\w+\$ (.*)$", pilot.out, re.M)}
    run_by_pilot = [
        block for block in blocks(PAGE, "console")
        if block.reason == "Examples/pilot/run.sh runs these commands"]
    typed = [comparable(command) for block in run_by_pilot for command, _ in block.steps]
    assert len(typed) > 30 and set(typed) <= ran, set(typed) - ran
    # Nothing of the pilot is missing on the page, except what a package does on a real machine.
    by_package = re.compile(r"initdb |postgres |scp .* login:$")
    assert not {command for command in ran - set(typed) if not by_package.match(command)}
