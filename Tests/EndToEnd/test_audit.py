"""The audit log: what the programs write, and what `audit verify` finds."""

import concurrent.futures
import json
import os
import re
import signal
import stat

import pytest
import requests
from support.disk import SmallDisk
from support.programs import KEY_SERVICE, Program, clean_environment, run
from support.services import KeyService
from support.waiting import wait_until

STRONG = "cv1." + "A" * 43
WRONG = "cv1." + "B" * 43


class AuditedService(KeyService):
    """A key service with an audit log in a folder of its own."""

    def __init__(self, folder, *options, enter=None):
        self.log = folder / "audit" / "audit.log"
        self.key = folder / "audit.key"
        self.enter = enter or (lambda *command: [str(word) for word in command])
        run(self.enter("mkdir", "-p", self.log.parent))
        made = run(self.enter(KEY_SERVICE, "audit", "init", "--audit-log", self.log, "--verification-key", self.key))
        assert made.status == 0, made
        super().__init__(folder, "--audit-log", self.log, *options)

    def start(self, **environment):
        self.program = Program(
            self.enter(KEY_SERVICE, "serve", "--data", self.data, "--listen", self.listen, *self.options), self.folder,
            clean_environment(**environment))
        self.url = self.program.wait_for(re.compile(r"^Listening on (http://\S+)$", re.M))[1]
        self.listen = re.match(r"http://([^/]+)", self.url)[1]

    def stop(self):
        self.program.signal(signal.SIGTERM)
        result = self.program.wait()
        assert result.status == 0, result
        return result

    def create(self):
        answer = requests.post(f"{self.url}/keyservice/v1/createkey", json={"secret": STRONG}, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()["keyid"]

    def fetch(self, keyid, secret=STRONG, session=requests):
        return session.post(f"{self.url}/keyservice/v1/key", json={"keyid": keyid, "secret": secret}, timeout=30)

    def operate(self, *arguments):
        return run(self.enter(KEY_SERVICE, *arguments, "--data", self.data, "--audit-log", self.log))

    def verify(self, *options, files=None):
        return run(self.enter(KEY_SERVICE, "audit", "verify", "--audit-log", *(files or [self.log]),
                              "--verification-key", self.key, *options))

    def anchor(self):
        return run(self.enter(KEY_SERVICE, "audit", "anchor", "--audit-log", self.log)).out.strip()

    def lines(self, path=None):
        return [json.loads(line) for line in run(self.enter("cat", path or self.log)).out.splitlines()]

    def events(self, path=None):
        return [line["event"] for line in self.lines(path)]


@pytest.fixture
def audited(tmp_path, children):
    service = AuditedService(tmp_path)
    children.append(service)
    return service


def test_what_the_service_and_the_operator_do_is_in_the_log(audited, tmp_path):
    keyid = audited.create()
    assert audited.fetch(keyid).status_code == 200
    for _ in range(3):
        assert audited.fetch(keyid, WRONG).status_code == 401
    assert audited.fetch(keyid).status_code == 403
    wait_until(lambda: "refused-locked" in audited.events(), "the lines to be written")
    assert audited.operate("keys", "unlock", keyid).status == 0
    assert audited.operate("backup", "--to", tmp_path / "copy").status == 0
    assert audited.operate("keys", "revoke", keyid).status == 0
    assert audited.operate("keys", "delete", keyid).status == 0
    assert audited.operate("keys", "delete", keyid).status == 66
    stopped = audited.stop()
    assert audited.events() == [
        "log-made", "server-started", "key-made", "key-released", "wrong-guess", "wrong-guess", "wrong-guess",
        "key-locked", "refused-locked", "operator-unlocks", "operator-backs-up", "operator-revokes", "operator-deletes",
        "operator-deletes", "operator-failed", "server-stopped"]
    lines = audited.lines()
    assert [line["seq"] for line in lines] == list(range(1, 17))
    assert [line["guessesLeft"] for line in lines if line["event"] == "wrong-guess"] == [2, 1, 0]
    assert len({line["keytag"] for line in lines if "keytag" in line}) == 1
    assert {line["user"] for line in lines if line["event"].startswith("operator")} == {os.getuid()}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    text = audited.log.read_text()
    assert keyid not in text and STRONG not in text
    anchors = re.findall(r"anchor=(\d+:[0-9a-f]{64})", stopped.err)
    assert anchors[0].startswith("2:") and anchors[-1] == audited.anchor() == f"16:{lines[-1]['mac']}"
    result = audited.verify(*[word for anchor in anchors for word in ("--anchor", anchor)])
    assert result.status == 0 and result.out.startswith(
        f"16 lines, from {lines[0]['time']} to {lines[-1]['time']}, all genuine.\n"), result


def test_guesses_at_a_locked_key_have_few_lines(audited):
    keyid = audited.create()
    for _ in range(3):
        assert audited.fetch(keyid, WRONG).status_code == 401
    session = requests.Session()
    assert {audited.fetch(keyid, session=session).status_code for _ in range(500)} == {403}
    audited.stop()
    refused = [line for line in audited.lines() if line["event"] == "refused-locked"]
    # The first one has a line at once, and each minute has one for the others.
    assert "count" not in refused[0] and sum(line.get("count", 1) for line in refused) == 500
    assert len(refused) < 10 and audited.events()[-1] == "server-stopped"
    result = audited.verify()
    assert result.status == 0 and "all genuine" in result.out, result


def test_files_are_private_and_never_overwritten(audited):
    folder = audited.log.parent
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()} == {
        "audit.log": "0o600", "audit.log.state": "0o600", "audit.log.lock": "0o600"}
    assert stat.S_IMODE(audited.key.stat().st_mode) == 0o600
    key = audited.key.read_bytes()
    for files in [(audited.log, folder / "new.key"), (folder / "new.log", audited.key)]:
        result = run([KEY_SERVICE, "audit", "init", "--audit-log", files[0], "--verification-key", files[1]])
        assert result.status == 78 and "not overwritten" in result.err, result
    assert audited.key.read_bytes() == key
    assert sorted(path.name for path in folder.iterdir()) == ["audit.log", "audit.log.lock", "audit.log.state"]
    assert audited.verify().status == 0


def test_the_key_can_go_through_a_pipe(tmp_path):
    log = tmp_path / "audit.log"
    made = run([KEY_SERVICE, "audit", "init", "--audit-log", log, "--verification-key", "-"])
    assert made.status == 0 and re.fullmatch(r"cva1\.[\w-]{43}\n", made.out), made
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(made.out)
    assert run([KEY_SERVICE, "audit", "verify", "--audit-log", log, "--verification-key", key]).status == 0


def test_a_server_without_its_audit_log_does_not_start(audited):
    audited.stop()
    audited.log.with_name("audit.log.state").rename(audited.folder / "away")
    result = audited.operate("serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "audit init" in result.err, result
    # Without a line there is no work.
    assert audited.operate("backup", "--to", audited.folder / "copy").status == 78
    assert not (audited.folder / "copy").exists()


@pytest.mark.parametrize("damage, kind", [
    (lambda lines: [lines[0].replace("log-made", "log-mode"), *lines[1:]], "changed"),
    (lambda lines: lines[:3] + lines[4:], "missing"),
    (lambda lines: lines[:3] + lines[2:], "repeated"),
    (lambda lines: lines[:2] + [lines[3], lines[2]] + lines[4:], "moved"),
    (lambda lines: lines[:2] + ["{}\n"] + lines[2:], "not-a-line"),
    (lambda lines: lines[:-1] + [lines[-1][:-5]], "incomplete"),
])
def test_damage_is_named(audited, damage, kind):
    for _ in range(3):
        audited.create()
    audited.stop()
    lines = audited.log.read_text().splitlines(keepends=True)
    audited.log.write_text("".join(damage(lines)))
    result = audited.verify()
    assert result.status == 65 and f"vault-key-service: {kind}: " in result.err, result
    assert re.match(r"\d lines?(, from .*)?, genuine up to the damage\.\n", result.out), result


def test_a_cut_of_the_end_needs_an_anchor(audited):
    audited.create()
    audited.stop()
    anchor = audited.anchor()
    lines = audited.log.read_text().splitlines(keepends=True)
    audited.log.write_text("".join(lines[:-2]))
    assert audited.verify().status == 0
    result = audited.verify("--anchor", anchor)
    assert result.status == 65 and "cut-end: The log ends with line 2, but the anchor is line 4" in result.err, result
    # The thief goes on with the state file. The service also says that somebody changed the log.
    audited.start()
    audited.create()
    assert "Another program changed the audit log" in audited.stop().err
    result = audited.verify()
    assert result.status == 65 and "lines 3 to 4 are missing" in result.err, result


def work(service, keyid, until):
    session = requests.Session()
    count = 0
    try:
        while not until():
            assert service.fetch(keyid, session=session).status_code == 200
            count += 1
    except requests.ConnectionError:
        pass
    return count


def test_kill_9_a_hundred_times(tmp_path, children):
    """Each kill comes at another moment of the writing: after a number of answers, while others are under way. As the
    log is required, each answer has its line."""
    audited = AuditedService(tmp_path, "--audit-required")
    children.append(audited)
    keyid = audited.create()
    released = 0
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for number in range(100):
            busy = [pool.submit(work, audited, keyid, lambda: False) for _ in range(3)]
            session = requests.Session()
            for _ in range(1 + number % 10):
                released += audited.fetch(keyid, session=session).status_code == 200
            os.kill(audited.program.pid, signal.SIGKILL)
            audited.program.wait()
            released += sum(each.result() for each in busy)
            audited.start()
    audited.stop()
    result = audited.verify()
    assert result.status == 0 and "all genuine" in result.out, result
    assert result.out.count("ended without its last line") == 100
    events = audited.events()
    assert events.count("server-started") == 101
    assert events.count("key-released") >= released > 1000


@pytest.mark.parametrize("point", ["audit-state-written", "audit-lines-written"])
def test_kill_9_between_the_steps_of_a_line(audited, point):
    audited.stop()
    before = audited.log.read_bytes()
    result = run(audited.enter(KEY_SERVICE, "keys", "unlock", "nonsense", "--data", audited.data, "--audit-log",
                               audited.log), clean_environment(VAULT_KEY_SERVICE_FAULT=point))
    assert result.status == -signal.SIGKILL
    assert (audited.log.read_bytes() == before) == (point == "audit-state-written")
    # The line is there after the next start, and it is there once.
    audited.start()
    audited.stop()
    assert audited.events().count("operator-unlocks") == 1
    assert audited.verify().status == 0


def test_many_processes_write_one_log(audited):
    keyid = audited.create()
    stop = False
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        working = pool.submit(work, audited, keyid, lambda: stop)
        results = list(pool.map(lambda _: audited.operate("keys", "unlock", keyid), range(40)))
        stop = True
        count = working.result()
    assert {result.status for result in results} == {0}, results
    audited.stop()
    events = audited.events()
    assert events.count("operator-unlocks") == 40 and events.count("key-released") == count
    assert audited.verify().status == 0


@pytest.mark.parametrize("tells", [True, False])
def test_a_renamed_log_goes_on_in_a_new_file(audited, tells):
    """logrotate renames the file. SIGHUP begins the new one at once, and without it the next line does."""
    keyid = audited.create()
    wait_until(lambda: "key-made" in audited.events(), "the line")
    old = audited.log.with_name("audit.log.1")
    last = audited.anchor()
    audited.log.rename(old)
    if tells:
        audited.program.signal(signal.SIGHUP)
    else:
        assert audited.fetch(keyid).status_code == 200
    wait_until(audited.log.exists, "the new file")
    audited.stop()
    first = audited.lines()[0]
    assert first["after"] == last.split(":")[1] and first["seq"] == 4
    assert audited.events()[0] == ("log-reopened" if tells else "key-released")
    result = audited.verify(files=[audited.log, old])
    assert result.status == 0 and "all genuine" in result.out, result
    assert audited.verify().status == 65
    assert audited.verify("--start", last).status == 0
    assert audited.verify("--start", last.replace(last[-3:], "000")).status == 65


@pytest.fixture
def disk(tmp_path, children):
    disk = SmallDisk(tmp_path / "audit", "1m")
    children.append(disk)
    return disk


def test_a_full_disk_stops_nobody(disk, tmp_path, children):
    audited = AuditedService(tmp_path, enter=disk.enter)
    children.append(audited)
    keyid = audited.create()
    wait_until(lambda: "key-made" in audited.events(), "the line")
    disk.fill()
    statuses = {audited.fetch(keyid).status_code for _ in range(60)}
    assert statuses == {200}
    audited.program.wait_for(re.compile("The audit log cannot be written"), "err")
    disk.empty()
    audited.program.wait_for(re.compile("The audit log can be written again"), "err")
    audited.stop()
    assert audited.events().count("key-released") == 60
    assert audited.verify().status == 0


def test_a_full_disk_with_a_required_log(disk, tmp_path, children):
    audited = AuditedService(tmp_path, "--audit-required", enter=disk.enter)
    children.append(audited)
    keyid = audited.create()
    disk.fill()
    # The rest of the last block takes some lines.
    wait_until(lambda: audited.fetch(keyid).status_code == 503, "the first refusal")
    released = audited.events().count("key-released")
    for _ in range(5):
        assert audited.fetch(keyid, WRONG).status_code == 503
    disk.empty()
    wait_until(lambda: audited.fetch(keyid).status_code == 200, "the log to be written")
    # No refused guess was counted.
    assert audited.fetch(keyid, WRONG).json()["guessesRemaining"] == 2
    audited.stop()
    assert audited.verify().status == 0
    assert audited.events().count("key-released") > released


def without_log(service, *arguments):
    return run([KEY_SERVICE, *arguments, "--data", service.data])


def changing_commands(service, keyid):
    """Every command that changes keys or gives guesses back, or copies the database."""
    return [
        ["keys", "unlock", keyid], ["keys", "revoke", keyid], ["keys", "delete", keyid], ["identity", "rotate"],
        ["rotate-master-key"], ["accept-rollback"], ["backup", "--to", service.folder / "copy"],
        ["restore", "--from", service.folder / "backup"], ["serve", "--listen", "127.0.0.1:0"],
    ]


def test_a_service_with_a_log_gets_no_change_without_it(audited):
    keyid = audited.create()
    for _ in range(3):
        audited.fetch(keyid, WRONG)
    assert audited.operate("backup", "--to", audited.folder / "backup").status == 0
    audited.stop()
    before, lines = audited.keys(), audited.log.read_bytes()
    other = audited.folder / "other.log"
    made = run([KEY_SERVICE, "audit", "init", "--audit-log", other, "--verification-key", audited.folder / "other.key"])
    assert made.status == 0, made
    for command in changing_commands(audited, keyid):
        result = without_log(audited, *command)
        assert result.status == 78 and "Add: --audit-log FILE" in result.err, (command, result)
        # A thief with the operator's rights takes a log of their own.
        result = without_log(audited, *command, "--audit-log", other)
        assert result.status == 78 and f"{other} is not an audit log of this service" in result.err, (command, result)
    assert audited.keys() == before and audited.log.read_bytes() == lines
    assert not (audited.folder / "copy").exists() and not (audited.data / "keys.sqlite.before-restore").exists()
    # Reading needs no log.
    assert without_log(audited, "keys", "list").status == 0


def test_the_settings_name_the_log_for_the_operator_too(audited, tmp_path):
    keyid = audited.create()
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({"auditLog": str(audited.log)}))
    result = run([KEY_SERVICE, "keys", "unlock", keyid, "--data", audited.data, "--config", config],
                 clean_environment(SUDO_UID="1234"))
    assert result.status == 0, result
    (line,) = [line for line in audited.lines() if line["event"] == "operator-unlocks"]
    assert (line["user"], line["sudoUser"]) == (os.getuid(), 1234)


def test_a_lost_log_is_followed_by_one_that_says_so(audited):
    keyid = audited.create()
    audited.stop()
    lost = audited.log
    for path in lost.parent.iterdir():
        path.unlink()
    assert audited.operate("keys", "unlock", keyid).status == 78
    audited.log, audited.key = lost.with_name("new.log"), audited.folder / "new.key"
    made = run([KEY_SERVICE, "audit", "init", "--audit-log", audited.log, "--verification-key", audited.key])
    assert made.status == 0, made
    for expected in ("is an audit log of the service now", "already"):
        added = audited.operate("audit", "add")
        assert added.status == 0 and expected in added.out, added
    assert audited.operate("keys", "unlock", keyid).status == 0
    audited.options = ("--audit-log", audited.log)
    audited.start()
    audited.stop()
    assert audited.events() == [
        "log-made", "operator-adds-log", "operator-unlocks", "server-started", "server-stopped"]
    assert audited.lines()[3]["count"] == 2
    result = audited.verify()
    assert result.status == 0 and "the service has 2 audit logs" in result.out, result


def test_required_needs_a_log(tmp_path):
    data = tmp_path / "data"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    result = run([KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--audit-required"])
    assert result.status == 78 and "--audit-log" in result.err
