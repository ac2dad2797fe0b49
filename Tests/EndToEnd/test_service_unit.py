"""The systemd unit of the key service, its settings and its operator's command."""

import json
import os
import re
import signal
import socket
import stat
import time

import pytest
import requests
from support.confined import ConfinedService
from support.programs import KEY_SERVICE, ROOT, Program, clean_environment, run
from support.waiting import TIMEOUT, wait_until

PACKAGING = ROOT / "Sources" / "Packaging"
UNIT = (PACKAGING / "vault-key-service.service").read_text()
SETTINGS = (PACKAGING / "vault-key-service.json").read_text()
BACKUP_UNIT = (PACKAGING / "vault-key-service-backup.service").read_text()
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


@pytest.fixture
def operate(tmp_path):
    """Runs the operator's command with stand-ins for systemd's programs, and returns the words for systemd-run."""
    def operate(unit, *command, **environment):
        for name, text in {"systemd-run": 'for word in "$@"; do echo "$word"; done', "systemctl": "cat unit"}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        (tmp_path / "unit").write_text(unit)
        environment = clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}", **environment)
        result = run([PACKAGING / "vault-key-service-operate", *command], environment, cwd=tmp_path)
        assert result.status == 0, result
        return result.out.splitlines()
    return operate


def properties(words):
    return [word.removeprefix("--property=") for word in words if word.startswith("--property=")]


def test_the_unit_keeps_the_warning_about_priorities_out_of_the_journal():
    """In a container, systemd may not raise the limit that lets libdispatch set the priority of a thread."""
    assert re.search(r"^LimitNICE=-4$", UNIT, re.M) and re.search(r"^Environment=LIBDISPATCH_LOG=NO$", UNIT, re.M)


def test_the_operators_command_runs_as_the_service_does(operate):
    words = operate(UNIT, "keys", "unlock", "an id", SUDO_UID="1234")
    assert words[-4:] == ["/usr/local/bin/vault-key-service", "keys", "unlock", "an id"], words
    for name in ("DynamicUser", "User", "StateDirectory", "StateDirectoryMode", "UMask", "LoadCredential", "LimitCORE",
                 "LimitNICE", "IPAddressDeny", "IPAddressAllow"):
        (line,) = re.findall(rf"^{name}=.*$", UNIT, re.M)
        assert line in properties(words), line
    assert "--setenv=VAULT_KEY_SERVICE_CONFIG=/etc/vault-key-service/vault-key-service.json" in words
    # The audit log names the person who typed sudo.
    assert "--setenv=SUDO_UID=1234" in words
    assert not [word for word in operate(UNIT, "keys", "list") if "SUDO_UID" in word]


def test_when_the_unit_has_another_key_or_network_then_the_operators_command_has_it_too(operate):
    lines = [
        "LoadCredential=master.key:/etc/vault-key-service/new.key", "LoadCredentialEncrypted=tls.key:/etc/tls key",
        "IPAddressDeny=", "IPAddressAllow=10.0.0.0/24 *"]
    unit = [UNIT, "[Service]", "# IPAddressDeny=comment", *lines, "  IPAddressAllow = localhost"]
    found = properties(operate("\n".join(unit), "keys", "list"))
    # The last line wins, so the lines stay in order.
    expected = [*lines, "IPAddressAllow=localhost"]
    assert [line for line in found if line.startswith(("LoadCredential", "IPAddress"))][-5:] == expected
    assert "IPAddressDeny=comment" not in found
    # The settings name a secret file as the service sees it, so the command needs the same name.
    (names,) = [line for line in found if line.startswith("BindReadOnlyPaths=")]
    assert names.endswith(".service:/run/credentials/vault-key-service.service")


@pytest.mark.parametrize("lines, found", [
    # systemd ignores a space or a carriage return at the end.
    ("IPAddressDeny=\r\nLoadCredential=a:/etc/a  \n", ["IPAddressDeny=", "LoadCredential=a:/etc/a"]),
    # The shell's echo would stop at \\c.
    ("Environment=A=\\c\nLoadCredential=a:/etc/a\n", ["LoadCredential=a:/etc/a"]),
    ("Environment=A \\\n# comment\nLoadCredential=a:/etc/a\n", []),
    ("# comment \\\nLoadCredential=a:/etc/a\n", ["LoadCredential=a:/etc/a"]),
    ("LoadCredential=\nSetCredentialEncrypted=a: \\\n  YWJj \\\n  ZGVm\n",
     ["LoadCredential=", "SetCredentialEncrypted=a:    YWJj    ZGVm"]),
    ("IPAddressAllow=10.0.0.0/8 \\", ["IPAddressAllow=10.0.0.0/8"]),
    ("LoadCredential=a:/etc/100%%/a\n", ["LoadCredential=a:/etc/100%/a"]),
])
def test_the_operators_command_reads_the_lines_of_the_unit_as_systemd_does(operate, lines, found):
    words = properties(operate("[Service]\n" + lines, "keys", "list"))
    assert [word for word in words if re.match("(Load|Set)Credential|IPAddress", word)] == found, words


def test_the_operators_command_refuses_a_masked_unit(operate):
    # Without its rules about addresses, the command would have the whole network.
    with pytest.raises(AssertionError, match="systemctl unmask vault-key-service"):
        operate("# Unit vault-key-service.service is masked.\n", "keys", "list")


@pytest.mark.parametrize("line", ["LoadCredential=a:/etc/%p/a.key", "LoadCredentialEncrypted=b:%d/b 100%%"])
def test_the_operators_command_refuses_what_only_systemd_can_replace(operate, line):
    # systemd-run would look for a file with a % in its name.
    with pytest.raises(AssertionError, match=re.escape(f"the % in this line of the unit: {line}\\n")):
        operate(f"[Service]\nLoadCredential=\n{line}\nIPAddressDeny=\nEnvironment=A=%p\n", "keys", "list")


@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_hears_when_the_service_is_ready_and_when_it_stops(tmp_path, children, is_abstract):
    data = tmp_path / "keys"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(TIMEOUT)
        systemd.bind("\0" + path if is_abstract else path)
        program = Program(
            [KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0"], tmp_path,
            clean_environment(NOTIFY_SOCKET="@" + path if is_abstract else path))
        children.append(program)
        assert systemd.recv(100) == b"READY=1"
        # The service accepts connections by now, and says where.
        url = program.wait_for(re.compile(r"^Listening on (http://\S+)$", re.M))[1]
        assert requests.get(f"{url}/readyz", timeout=30).status_code == 200
        program.signal(signal.SIGTERM)
        assert systemd.recv(100) == b"STOPPING=1"
        result = program.wait()
    assert result.status == 0 and "systemd did not get" not in result.err, result


def test_the_service_runs_without_the_socket_of_systemd(tmp_path, children):
    data = tmp_path / "keys"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    program = Program(
        [KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0"], tmp_path,
        clean_environment(NOTIFY_SOCKET=tmp_path / "gone"))
    children.append(program)
    program.wait_for(re.compile(r"^Listening on http://", re.M))
    program.wait_for(re.compile("systemd did not get the message READY=1: No such file"), "err")


@pytest.fixture
def empty(tmp_path):
    return ConfinedService(tmp_path, UNIT, SETTINGS, STATE_FOLDERS)


@pytest.fixture
def confined(empty):
    made = empty.operate("init")
    assert made.status == 0, made
    made = empty.operate("audit", "init", "--verification-key", "-")
    assert made.status == 0, made
    return empty


@pytest.mark.parametrize("code", [
    "open('/mnt/credentials/new', 'w')", "open('/etc/new', 'w')", "open('/mnt/new', 'w')", "os.chroot('/')",
    "os.chown('/mnt/state', 1, 1)", "os.setuid(0)", "open('/proc/cpuinfo')", "os.sched_setaffinity(0, {0})",
    "socket.socket(socket.AF_NETLINK)", "mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)",
])
def test_the_restrictions_hold(empty, code):
    """Proves that the tests below can fail."""
    script = f"import mmap, os, socket\ntry:\n    {code}\nexcept OSError as error:\n    print('refused', error)"
    result = empty.run("/usr/bin/python3", "-c", script)
    assert result.status == 0 and result.out.startswith("refused"), result


def test_the_service_works_under_the_restrictions(confined, children):
    program, url = confined.serve("--listen", "127.0.0.1:0")
    children.append(program)
    made = requests.post(f"{url}/keyservice/v1/createkey", json={"secret": SECRET}, timeout=30).json()
    guess = {"keyid": made["keyid"], "secret": SECRET}
    assert requests.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).json()["key"] == made["key"]
    wrong = guess | {"secret": "wrong guess"}
    assert requests.post(f"{url}/keyservice/v1/key", json=wrong, timeout=30).status_code == 401
    assert requests.get(f"{url}/readyz", timeout=30).status_code == 200
    log = confined.outside / "state/vault-key-service-audit/audit.log"
    wait_until(lambda: "wrong-guess" in log.read_text(), "the line")
    # An operator's command at the same time.
    assert confined.operate("keys", "unlock", made["keyid"]).status == 0
    confined.stop(program)
    result = program.wait()
    assert result.status == 0 and "error" not in result.err, result
    assert re.findall(r'"event":"([\w-]+)"', log.read_text()) == [
        "log-made", "server-started", "key-made", "key-released", "wrong-guess", "operator-unlocks", "server-stopped"]


def test_when_systemd_runs_the_program_then_its_messages_name_the_operators_command(empty):
    fresh = empty.operate("serve")
    assert fresh.status == 78, fresh
    assert fresh.err.endswith(
        "Restore a backup (vault-key-service-operate restore), or make a new data folder: "
        "vault-key-service-operate init\n"), fresh
    assert empty.operate("init").status == 0
    without_log = empty.operate("serve")
    assert without_log.status == 78, without_log
    assert without_log.err.endswith("Make an audit log: vault-key-service-operate audit init\n"), without_log
    # Without systemd, the program itself is the operator's command.
    apart = run([KEY_SERVICE, "serve", "--data", empty.folder / "none"])
    assert apart.status == 78 and apart.err.endswith(": vault-key-service init\n"), apart


def test_the_operators_commands_work_under_the_restrictions(confined):
    assert confined.operate("keys", "list").status == 0
    backup = "/mnt/state/vault-key-service-backup/keys.sqlite"
    assert confined.operate("backup", "--to", backup).status == 0
    copy = confined.outside / "state/vault-key-service-backup/keys.sqlite"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert confined.operate("restore", "--from", backup).status == 0
    assert re.match(r"\d+:[0-9a-f]{64}$", confined.operate("audit", "anchor").out)


def test_old_backups_are_deleted_before_a_new_one_but_never_the_newest(tmp_path):
    [command] = re.findall(r"^ExecStartPre=/bin/sh -c '(.*?)'$", BACKUP_UNIT, re.M | re.S)
    command = command.replace("$$", "$").replace("\\\n", " ").replace("\\\\", "\\")
    assert command.count("/var/lib/private/vault-key-service-backup") == 1 and "%" not in command
    command = command.replace("/var/lib/private/vault-key-service-backup", str(tmp_path))

    def remaining(days_of_files):
        for name, days in days_of_files.items():
            (tmp_path / name).write_text("")
            os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
        result = run(["sh", "-c", command])
        assert (result.status, result.err) == (0, ""), result
        return {path.name for path in tmp_path.iterdir()}

    first, second, third = (f"keys-2026-0{month}-01T000000Z.sqlite" for month in (1, 2, 3))
    cut_off, under_way = f"{third}.partial-1", f"{third}.partial-2"
    files = {first: 90, second: 62, third: 31, cut_off: 2, under_way: 0, "of-the-operator.sqlite": 99}
    assert remaining(files) == {third, under_way, "of-the-operator.sqlite"}
    assert remaining({first: 29}) == {first, third, under_way, "of-the-operator.sqlite"}
    # An operator may have encrypted or packed the backups, and perhaps deleted the plain ones.
    old, packed, newest = f"{second}.gz", f"{first}.age", f"{third}.age"
    (tmp_path / third).unlink()
    assert remaining({old: 31, packed: 29, newest: 31}) == {
        first, packed, newest, under_way, "of-the-operator.sqlite"}
    # Before the first backup, there is no folder.
    gone = run(["sh", "-c", command.replace(str(tmp_path), str(tmp_path / "none"))])
    assert (gone.status, gone.err) == (0, "")
