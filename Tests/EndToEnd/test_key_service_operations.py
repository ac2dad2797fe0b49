"""The operator's work on a key service: a database that went back in time, another master key, and a full disk."""

import concurrent.futures
import contextlib
import errno
import re
import shutil
import signal
import sqlite3

import pytest
import requests
from support import seccomp
from support.disk import SmallDisk
from support.oprf import Guess, OPRFKey, decode
from support.programs import KEY_SERVICE, Program, clean_environment, run
from support.services import age_guesses
from support.waiting import wait_until
from test_key_service import create, fetch, listed, operate

STRONG = "cv1." + "A" * 43
WRONG = "cv1." + "B" * 43
DAY = 24 * 3600


def change(service, sql, *values):
    """Changes the service's database."""
    with contextlib.closing(sqlite3.connect(service.data / "keys.sqlite", timeout=30)) as database, database:
        assert database.execute(sql, values).rowcount == 1


def stop(service):
    service.program.signal(signal.SIGTERM)
    assert service.program.wait().status == 0


def put_back(service, copy):
    for name in ("keys.sqlite", "keys.sqlite-wal", "keys.sqlite-shm"):
        (service.data / name).unlink(missing_ok=True)
    shutil.copy(copy, service.data / "keys.sqlite")


def test_when_the_output_is_full_then_the_status_is_74(key_service, tmp_path):
    create(key_service, STRONG)
    commands = [
        ["keys", "list"], ["keys", "list", "--json"], ["manual"], ["--help"], ["keys", "list", "--help"], ["--version"]]
    for command in commands:
        data = ["--data", key_service.data] if command[:2] == ["keys", "list"] and "--help" not in command else []
        result = run(["bash", "-c", 'exec "$0" "$@" > /dev/full', KEY_SERVICE, *command, *data])
        assert result.status == 74, (command, result)
        assert result.err == "vault-key-service: The output could not be written: No space left on device.\n"
    made = run(["bash", "-c", 'exec "$0" "$@" > /dev/full', KEY_SERVICE, "init", "--data", tmp_path / "new"])
    assert made.status == 74 and (tmp_path / "new/keys.sqlite").exists(), made


def test_when_the_reader_has_gone_then_the_list_is_quiet(key_service):
    create(key_service, STRONG)
    script = 'exec 3> >(true); wait $!; "$0" keys list --data "$1" >&3'
    result = run(["bash", "-c", script, KEY_SERVICE, key_service.data])
    assert result.err == "", result


def test_a_backup_that_is_killed_has_not_the_name_of_a_backup(key_service, tmp_path):
    create(key_service, STRONG)
    copy = tmp_path / "copy.sqlite"
    settings = clean_environment(VAULT_KEY_SERVICE_FAULT="backed-up")
    killed = run([KEY_SERVICE, "backup", "--data", key_service.data, "--to", copy], settings)
    assert killed.status == -signal.SIGKILL and not copy.exists(), killed
    [partial] = tmp_path.glob("copy.sqlite.partial-*")
    assert operate(key_service, "backup", "--to", copy).status == 0
    assert copy.stat().st_mode & 0o777 == 0o600 and {*tmp_path.glob("copy.sqlite*")} == {copy, partial}
    again = operate(key_service, "backup", "--to", copy)
    assert again.status == 78 and f"{copy} already exists, and is not overwritten." in again.err, again
    assert [*tmp_path.glob("copy.sqlite.partial-*")] == [partial]


@pytest.mark.parametrize("link", [0, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_backup_gets_its_name_also_where_the_disk_has_only_the_oldest_call(key_service, tmp_path, link):
    create(key_service, STRONG)
    errors = {"renameat2": errno.EINVAL} | ({"link": link, "linkat": link} if link else {})
    (tmp_path / "filter").write_bytes(seccomp.failing_calls(errors))
    copy = tmp_path / "copy.sqlite"
    command = ["setpriv", "--no-new-privs", "python3", seccomp.__file__, tmp_path / "filter", KEY_SERVICE]
    made = run([*command, "backup", "--data", key_service.data, "--to", copy])
    assert made.status == 0 and [*tmp_path.glob("copy.sqlite*")] == [copy], made
    again = run([*command, "backup", "--data", key_service.data, "--to", copy])
    assert again.status == 78 and "already exists, and is not overwritten." in again.err, again


# Row: an older database, and puts it back into the service
def test_an_older_database_gives_no_guesses_back(key_service, tmp_path):
    key = create(key_service, STRONG)
    copy = tmp_path / "copy.sqlite"
    assert operate(key_service, "backup", "--to", copy).status == 0
    for _ in range(3):
        assert fetch(key_service, key["keyid"], WRONG).status_code == 401
    key_service.program.signal(signal.SIGTERM)
    assert key_service.program.wait().status == 0
    put_back(key_service, copy)
    result = operate(key_service, "serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "older than its high-water mark" in result.err and "accept-rollback" in result.err
    # Without the mark, an older database would look like a new one.
    mark = key_service.secrets / "high-water-mark"
    text = mark.read_text()
    mark.unlink()
    result = operate(key_service, "serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "missing" in result.err and "accept-rollback" in result.err
    mark.write_text(text)
    mark.chmod(0o600)
    assert operate(key_service, "accept-rollback").status == 0
    key_service.start()
    assert fetch(key_service, key["keyid"], WRONG).json()["guessesRemaining"] == 0
    assert fetch(key_service, key["keyid"], STRONG).status_code == 403


def test_kill_9_is_no_rollback(key_service):
    key = create(key_service, STRONG)
    for _ in range(20):
        assert fetch(key_service, key["keyid"], STRONG).status_code == 200
        key_service.kill()
        key_service.start()


def test_the_running_service_keeps_restore_and_accept_rollback_away(key_service, tmp_path):
    copy = tmp_path / "copy.sqlite"
    assert operate(key_service, "backup", "--to", copy).status == 0
    for command in (["restore", "--from", copy], ["accept-rollback"]):
        assert operate(key_service, *command).status == 75


def rotate(service, new, old):
    return Program([KEY_SERVICE, "rotate-master-key", "--data", service.data, "--master-key-file", new,
                    "--old-master-key-file", old], service.folder)


def test_another_master_key_under_load_with_kills(key_service, tmp_path):
    """Many more keys than here were tried in the benchmark."""
    keys = [create(key_service, STRONG) for _ in range(20)]
    old, new = key_service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    key_service.kill()
    key_service.options = ("--master-key-file", new, "--old-master-key-file", old, "--high-water-mark",
                           key_service.secrets / "high-water-mark")
    key_service.start()
    more = [create(key_service, STRONG) for _ in range(20)]
    stop = False

    def work():
        count = 0
        while not stop:
            key = (keys + more)[count % 40]
            answer = fetch(key_service, key["keyid"], STRONG)
            assert answer.status_code == 200 and answer.json()["key"] == key["key"], answer.text
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work) for _ in range(4)]
        try:
            for _ in range(3):
                program = rotate(key_service, new, old)
                program.kill()
            result = rotate(key_service, new, old).wait()
        finally:
            stop = True
        assert all(future.result() > 0 for future in working)
    assert result.status == 0, result
    assert len(re.findall("No key in the database needs the master key", result.out)) == 1, result
    key_service.kill()
    old.unlink()
    key_service.options = ("--master-key-file", new, "--high-water-mark", key_service.secrets / "high-water-mark")
    key_service.start()
    for key in keys + more:
        assert fetch(key_service, key["keyid"], STRONG).json()["key"] == key["key"]


def test_a_rotation_waits_until_the_server_has_the_new_key(key_service, tmp_path):
    key = create(key_service, STRONG)
    old, new = key_service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    result = rotate(key_service, new, old).wait()
    assert result.status == 78 and "1 of 1 running servers does not have the master key" in result.err, result
    assert "--master-key-file NEW --old-master-key-file OLD" in result.err
    # Nothing has changed for the people who log in.
    assert fetch(key_service, key["keyid"], STRONG).json()["key"] == key["key"]
    assert requests.get(f"{key_service.url}/readyz", timeout=10).status_code == 200
    stop(key_service)
    key_service.options = ("--master-key-file", new, "--old-master-key-file", old)
    key_service.start()
    result = rotate(key_service, new, old).wait()
    assert result.status == 0 and "Sealed 1 key under" in result.out, result
    assert fetch(key_service, key["keyid"], STRONG).json()["key"] == key["key"]


def test_a_missing_master_key_is_named_to_the_operator_alone(key_service, person, tmp_path):
    other = tmp_path / "other"
    assert run([KEY_SERVICE, "init", "--data", other]).status == 0
    with contextlib.closing(sqlite3.connect(other / "keys.sqlite")) as database:
        ((number, check),) = database.execute("SELECT id, check_value FROM master_key").fetchall()
    change(key_service, "INSERT INTO master_key VALUES (?, ?)", number, check)
    name = f"{number % 2 ** 64:016x}"
    answer = requests.get(f"{key_service.url}/readyz", timeout=10)
    assert answer.status_code == 503 and name not in answer.text
    wait_until(lambda: f"needs the master key {name}" in key_service.program.err, "the name in the log")
    checks = person.vault("doctor", "--json", "--key-service", key_service.url).json
    (check,) = [check for check in checks if check["name"] == "key service"]
    assert check["outcome"] == "fail" and "is not ready" in check["finding"] and name not in str(check), check


def test_damaged_records_do_not_stop_a_rotation(key_service, tmp_path):
    keys = [create(key_service, STRONG) for _ in range(3)]
    damaged = keys[1]["keyid"]
    old, new = key_service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    stop(key_service)
    change(key_service, "UPDATE key_record SET content = zeroblob(length(content)) WHERE id = ?", damaged)
    key_service.options = ("--master-key-file", new, "--old-master-key-file", old)
    key_service.start()
    result = rotate(key_service, new, old).wait()
    assert result.status == 74 and f"1 record is damaged: {damaged}." in result.err, result
    assert "vault-key-service keys delete" in result.err and "Sealed 2 keys" in result.out, result
    assert "any more" not in result.out, "the damaged record needs the old master key"
    assert operate(key_service, "keys", "delete", damaged).status == 0
    result = rotate(key_service, new, old).wait()
    assert result.status == 0 and "Sealed 0 keys" in result.out, result
    assert "No key in the database needs the master key" in result.out, result
    stop(key_service)
    key_service.options = ("--master-key-file", new)
    key_service.start()
    for key in (keys[0], keys[2]):
        assert fetch(key_service, key["keyid"], STRONG).json()["key"] == key["key"]


def test_a_backup_from_before_a_rotation_needs_the_old_key_once(key_service, tmp_path):
    key = create(key_service, STRONG)
    needed = listed(key_service, key["keyid"])["masterKey"]
    copy = tmp_path / "copy.sqlite"
    assert operate(key_service, "backup", "--to", copy).status == 0
    old, new = key_service.secrets / "master.key", tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    stop(key_service)
    assert rotate(key_service, new, old).wait().status == 0
    restore = ["restore", "--from", copy, "--master-key-file", new]
    result = operate(key_service, *restore)
    assert result.status == 78 and f"The database needs the master key {needed}." in result.err, result
    assert "--old-master-key-file FILE" in result.err
    result = operate(key_service, *restore, "--old-master-key-file", old)
    assert result.status == 0, result
    assert result.out == f"Sealed 1 key under the master key in {new}.\nRestored. Start the service again.\n"
    old.unlink()
    key_service.options = ("--master-key-file", new)
    key_service.start()
    assert fetch(key_service, key["keyid"], STRONG).json()["key"] == key["key"]


def test_a_clock_that_jumped_destroys_no_locked_key(key_service):
    key = OPRFKey(key_service.url).make()
    for number in range(3):
        assert key.evaluate(Guess(b"%d" % number)).status_code == 200
    stop(key_service)
    # As if the clock were 40 days ahead now: the guesses and the last check-in look old.
    age_guesses(key_service.folder, 40 * DAY)
    change(key_service, "UPDATE service SET checked_in_at = checked_in_at - ?", 40 * DAY)
    for _ in range(2):
        key_service.start()
        wait_until(lambda: "no old keys are erased" in key_service.program.err, "the error")
        key.session = requests.Session()
        answer = key.evaluate(Guess(b"again"))
        assert (answer.status_code, answer.json()["code"]) == (403, "locked")
        assert key_service.keys()[key.id]["state"] == "locked"
        stop(key_service)
    # Nobody set the clock back for more than three days, so it is right.
    change(key_service, "UPDATE service SET clock_steady_since = clock_steady_since - ?", 4 * DAY)
    key_service.start()
    wait_until(lambda: key_service.keys()[key.id]["state"] == "destroyed", "the end of the key")
    key.session = requests.Session()
    assert key.evaluate(Guess(b"again")).status_code == 410


def test_keys_list_does_not_change_an_older_database(key_service):
    create(key_service)
    key_service.kill()
    path = key_service.data / "keys.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM grdb_migrations")
    result = operate(key_service, "keys", "list")
    assert result.status == 78 and "older version" in result.err
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM grdb_migrations").fetchone() == (0,)


def test_keys_list_with_another_master_key_shows_no_wrong_tags(key_service, tmp_path):
    create(key_service)
    assert run([KEY_SERVICE, "make-master-key", tmp_path / "other.key"]).status == 0
    result = operate(key_service, "keys", "list", "--master-key-file", tmp_path / "other.key")
    assert result.status == 78 and "The database needs the master key" in result.err


def test_many_keys_are_listed_page_by_page(key_service):
    create(key_service)
    with sqlite3.connect(key_service.data / "keys.sqlite") as database:
        database.execute(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2500) "
            "INSERT INTO key_record (id, created_at, kind, details, master_key, content, state, wrong_in_all) "
            "SELECT id || n, created_at, kind, details, master_key, content, state, wrong_in_all "
            "FROM key_record, c WHERE number = 1")
    keys = operate(key_service, "keys", "list", "--json").json
    assert len({key["id"] for key in keys}) == len(keys) == 2501
    assert len(operate(key_service, "keys", "list").out.splitlines()) == 2501


@pytest.fixture
def small_disk(tmp_path, children):
    disk = SmallDisk(tmp_path / "disk", size="600k")
    children.append(disk)
    return disk


@pytest.mark.parametrize("limit", ["0", "300"])
def test_a_flood_of_new_keys_on_a_small_disk_keeps_nobody_out(small_disk, tmp_path, limit):
    """New keys stop while there is still space for logins."""
    data = small_disk.folder / "keys"
    assert run(small_disk.enter(KEY_SERVICE, "init", "--data", data)).status == 0
    program = Program(
        small_disk.enter(KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--creates-per-hour", limit,
                         "--creates-per-hour-total", "0"), tmp_path)
    try:
        url = program.wait_for(re.compile(r"Listening on (\S+)"))[1]
        keys, statuses = [], []
        while len(statuses) < 2000 and statuses[-50:].count(503) < 50:
            answer = requests.post(f"{url}/keyservice/v1/createkey", json={"secret": STRONG}, timeout=30)
            statuses.append(answer.status_code)
            if answer.status_code == 200:
                keys.append(answer.json())
            else:
                assert int(answer.headers["Retry-After"]) > 0
        assert len(keys) > 10 and set(statuses) == {200, 503}, statuses
        statuses = []
        for number in range(1000):
            key = keys[number % len(keys)]
            guess = {"keyid": key["keyid"], "secret": STRONG if (number % len(keys) + number // len(keys)) % 3 else WRONG}
            statuses.append(requests.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).status_code)
        assert set(statuses) == {200, 401}, {status: statuses.count(status) for status in statuses}
    finally:
        program.kill()


def test_a_flood_of_guesses_on_a_small_disk_keeps_nobody_out(small_disk, tmp_path):
    """Somebody with many keys of version 2 opens all their guesses."""
    data = small_disk.folder / "keys"
    assert run(small_disk.enter(KEY_SERVICE, "init", "--data", data)).status == 0
    program = Program(
        small_disk.enter(KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--creates-per-hour", "0",
                         "--creates-per-hour-total", "0"), tmp_path)
    try:
        url = program.wait_for(re.compile(r"Listening on (\S+)"))[1]
        old = create_at(url)
        key = OPRFKey(url).make()
        session = requests.Session()
        keys, statuses = [], []
        while len(statuses) < 2000 and statuses[-20:].count(503) < 20:
            new = OPRFKey(url, session=session)
            right = Guess(b"right")
            answer = new.create(right)
            statuses.append(answer.status_code)
            if answer.status_code == 200:
                signer = new.signer(right, answer.json())
                assert new.confirm(signer, decode(answer.json()["ticket"]), first=True).status_code == 200
                keys.append(new)
        assert len(keys) > 10 and set(statuses) == {200, 503}, statuses
        statuses = [new.evaluate(Guess(b"wrong")).status_code for _ in range(3) for new in keys]
        assert set(statuses) == {200}, (len(keys), statuses.count(200), set(statuses))
        for _ in range(20):
            assert key.log_in()
            guess = {"keyid": old["keyid"], "secret": STRONG}
            assert requests.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).status_code == 200
    finally:
        program.kill()


@pytest.mark.parametrize("size", ["60m", "2m"])
def test_another_program_that_fills_the_disk_keeps_nobody_out(tmp_path, children, size):
    disk = SmallDisk(tmp_path / "disk", size)
    children.append(disk)
    data = disk.folder / "keys"
    assert run(disk.enter(KEY_SERVICE, "init", "--data", data)).status == 0
    program = Program(
        disk.enter(KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--creates-per-hour", "0",
                   "--creates-per-hour-total", "0"), tmp_path)
    children.append(program)
    url = program.wait_for(re.compile(r"Listening on (\S+)"))[1]
    session = requests.Session()
    old = [create_at(url)["keyid"] for _ in range(201)]
    new = [OPRFKey(url, session=session).make() for _ in range(100)]

    def release(number, secret=STRONG, session=session):
        guess = {"keyid": old[number % len(old)], "secret": secret}
        return session.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).status_code

    assert {release(number) for number in range(600)} == {200}
    disk.fill()
    # The other program also takes what becomes free later.
    append = f'dd if=/dev/zero of="{disk.folder}/more" bs=4096 oflag=append conv=notrunc 2>/dev/null'
    children.append(Program(disk.enter("sh", "-c", f"while :; do {append}; sleep 0.02; done"), tmp_path))
    statuses = [release(number) for number in range(600)]
    assert set(statuses) == {200}, {status: statuses.count(status) for status in statuses}
    assert all(key.log_in() for key in new)
    assert {release(number, WRONG) for number in range(20)} == {401}
    assert {release(number) for number in range(20)} == {200}
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda number: release(number, session=requests), range(300))) == {200}
    assert requests.post(f"{url}/keyservice/v1/createkey", json={"secret": STRONG}, timeout=30).status_code == 503
    assert disk.shell(f"stat -f -c %a {disk.folder}") == "0\n"


def create_at(url):
    return requests.post(f"{url}/keyservice/v1/createkey", json={"secret": STRONG}, timeout=30).json()


def test_a_deletion_says_if_old_data_stays_for_a_while(key_service):
    keys = [create(key_service, STRONG) for _ in range(2)]
    reader = sqlite3.connect(key_service.data / "keys.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM key_record").fetchone()
    result = operate(key_service, "keys", "delete", keys[0]["keyid"])
    assert result.status == 0 and "may keep its sealed record" in result.err, result
    reader.close()
    result = operate(key_service, "keys", "delete", keys[1]["keyid"])
    assert (result.status, result.err) == (0, "")


def test_a_command_of_the_operator_says_what_it_did(key_service, tmp_path):
    key, copy, new = create(key_service, STRONG)["keyid"], tmp_path / "copy", tmp_path / "new"
    for words, said in [
        (["backup", "--to", copy], f"Copied the database to {copy}."),
        (["keys", "unlock", key], f"Unlocked the key {key}. It has all its guesses again."),
        (["keys", "revoke", key], f"Revoked the key {key} for good."),
        (["keys", "delete", key], f"Deleted the key {key}."),
    ]:
        result = operate(key_service, *words)
        assert (result.status, result.out) == (0, said + "\n"), result
    made = run([KEY_SERVICE, "init", "--data", new])
    assert made.out.splitlines()[-1] == f"Next: vault-key-service serve --data {new}"


def test_times_are_local_for_operators_and_utc_in_json(key_service):
    key = create(key_service, STRONG)["keyid"]
    result = run([KEY_SERVICE, "keys", "list", "--data", key_service.data], clean_environment(TZ="AAA-5"))
    assert re.search(r"created \d{4}-\d\d-\d\d \d\d:\d\d:\d\d AAA  ", result.out), result
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", listed(key_service, key)["created"])
