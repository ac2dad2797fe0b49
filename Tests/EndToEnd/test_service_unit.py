"""The systemd unit of the key service, its settings and its operator's command."""

import json
import os
import re
import stat

import pytest
import requests
from support.confined import ConfinedService, allowed_calls
from support.programs import KEY_SERVICE, ROOT, clean_environment, run

PACKAGING = ROOT / "Packaging"
UNIT = (PACKAGING / "vault-key-service.service").read_text()
SETTINGS = (PACKAGING / "vault-key-service.json").read_text()
STATE_FOLDERS = re.search(r"^StateDirectory=(.*)$", UNIT, re.M)[1].split()
SECRET = "482916"
# 2.0 of 10, in tenths.
MAX_EXPOSURE = "--threshold=20"


@pytest.fixture
def unit(tmp_path):
    """Writes a unit with the program that the tests run."""
    def write(text=UNIT):
        path = tmp_path / "vault-key-service.service"
        path.write_text(text.replace("/usr/local/bin/vault-key-service", KEY_SERVICE))
        return path
    return write


def analyze(*arguments):
    return run(["systemd-analyze", "--no-pager", *arguments])


def test_systemd_takes_the_unit(unit):
    result = analyze("--man=no", "verify", unit())
    # systemd-analyze also prints a message for an unknown setting, but ends with 0.
    assert (result.status, result.out, result.err) == (0, "", "")
    # Proves that the check can fail.
    assert "NoSuchSetting" in analyze("--man=no", "verify", unit(UNIT + "\n[Service]\nNoSuchSetting=yes\n")).err


def test_the_unit_exposes_little(unit):
    result = analyze("security", "--offline=true", MAX_EXPOSURE, unit())
    assert result.status == 0, result
    # The unit of a service with TLS of its own, or with another machine's database.
    open_unit = re.sub(r"^IPAddress.*\n", "", UNIT, flags=re.M)
    assert analyze("security", "--offline=true", MAX_EXPOSURE, unit(open_unit)).status == 0
    weaker = re.sub(r"^(SystemCallFilter|CapabilityBoundingSet)=.*\n", "", UNIT, flags=re.M)
    assert analyze("security", "--offline=true", MAX_EXPOSURE, unit(weaker)).status == 1


def test_the_settings_are_in_the_folders_of_the_unit():
    settings = json.loads(SETTINGS)
    for name in ("data", "highWaterMark", "auditLog"):
        assert settings[name].removeprefix("/var/lib/").split("/")[0] in STATE_FOLDERS
    assert "--config /etc/vault-key-service/vault-key-service.json" in UNIT


def test_the_operators_command_runs_as_the_service_does(tmp_path):
    """A stand-in for systemd-run shows what it would run."""
    stand_in = tmp_path / "systemd-run"
    stand_in.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    stand_in.chmod(0o755)
    environment = clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    result = run([PACKAGING / "vault-key-service-operate", "keys", "unlock", "an id"], environment)
    words = result.out.splitlines()
    assert words[-4:] == ["/usr/local/bin/vault-key-service", "keys", "unlock", "an id"], result
    properties = [word.removeprefix("--property=") for word in words if word.startswith("--property=")]
    for name in ("DynamicUser", "User", "StateDirectory", "StateDirectoryMode", "UMask", "LoadCredential", "LimitCORE"):
        (line,) = re.findall(rf"^{name}=.*$", UNIT, re.M)
        assert line in properties, line
    assert "--setenv=VAULT_KEY_SERVICE_CONFIG=/etc/vault-key-service/vault-key-service.json" in words


@pytest.fixture
def confined(tmp_path, children):
    service = ConfinedService(tmp_path, SETTINGS, STATE_FOLDERS, traced=True)
    made = service.operate("init")
    assert made.status == 0, made
    made = service.operate("audit", "init", "--verification-key", "-")
    assert made.status == 0, made
    return service


def test_the_service_works_under_the_restrictions(confined, children):
    """Everything that the service does, with an unprivileged user, a read-only disk and few system calls."""
    program, url = confined.serve("--listen", "127.0.0.1:0")
    children.append(program)
    made = requests.post(f"{url}/keyservice/v1/createkey", json={"secret": SECRET}, timeout=30).json()
    guess = {"keyid": made["keyid"], "secret": SECRET}
    assert requests.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).json()["key"] == made["key"]
    wrong = guess | {"secret": "wrong guess"}
    assert requests.post(f"{url}/keyservice/v1/key", json=wrong, timeout=30).status_code == 401
    assert requests.get(f"{url}/readyz", timeout=30).status_code == 200
    confined.stop(program)
    result = program.wait()
    assert result.status == 0, result

    calls = confined.calls()
    names = {name for name, _ in calls}
    # The server did what the check below is about.
    assert {"fdatasync", "listen", "accept4", "clone3", "mmap"} <= names, names
    assert names <= allowed_calls(UNIT), names - allowed_calls(UNIT)
    lines = [line for _, line in calls]
    # MemoryDenyWriteExecute=
    assert not [line for line in lines if re.search(r"mmap\(.*PROT_WRITE\|PROT_EXEC", line)]
    assert not [line for line in lines if re.search(r"mprotect\(.*PROT_EXEC", line)]
    # RestrictAddressFamilies=
    families = set(re.findall(r"\bsocket(?:pair)?\((AF_\w+)", "\n".join(lines)))
    assert families <= {"AF_INET", "AF_INET6", "AF_UNIX"}, families


def test_the_operators_commands_work_under_the_restrictions(confined):
    confined.traced = False
    assert confined.operate("keys", "list").status == 0
    backup = "/mnt/state/vault-key-service-backup/keys.sqlite"
    assert confined.operate("backup", "--to", backup).status == 0
    copy = confined.outside / "state/vault-key-service-backup/keys.sqlite"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert confined.operate("restore", "--from", backup).status == 0
    assert re.match(r"\d+:[0-9a-f]{64}$", confined.operate("audit", "anchor").out)
    # Nothing else of the disk can be written.
    assert confined.operate("backup", "--to", "/keys.sqlite").status != 0
