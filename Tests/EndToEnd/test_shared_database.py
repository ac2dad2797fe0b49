"""Several instances of vault-key-service over one PostgreSQL database, with failures in the middle."""

import collections
import concurrent.futures
import contextlib
import copy
import http.client
import json
import os
import random
import re
import secrets
import threading
import time
import urllib.parse

import pytest
import requests
from support.oprf import Guess, OPRFKey, Signer, encode, message
from support.postgres import Cluster
from support.programs import KEY_SERVICE, run
from support.shared_service import Instance
from support.waiting import wait_until

RIGHT = "cv1." + "Ab3_-x9" * 6 + "Z"
WRONG = "cv1." + "Cd4_-y8" * 6 + "Z"
LIMIT = 3


@pytest.fixture
def cluster(children):
    """A primary without a standby."""
    cluster = Cluster()
    children.append(cluster)
    return cluster


@pytest.fixture
def pair(cluster, tmp_path, children):
    """Two instances over a primary with a synchronous standby."""
    cluster.add_standby()
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    second = Instance(tmp_path / "second", cluster.url, first=first)
    children.append(second)
    return first, second


def create(instance, session=requests):
    answer = session.post(f"{instance.url}/keyservice/v1/createkey", json={"secret": RIGHT}, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()["keyid"]


def test_two_instances_have_one_identity(cluster, tmp_path, children):
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    second = Instance(tmp_path / "second", cluster.url, first=first)
    children.append(second)

    def announced(instance):
        return requests.get(f"{instance.url}/keyservice/v2", timeout=10).json()["identity"]["key"]

    old = first.operate("identity", "show", "--json").json["publicKey"]
    assert announced(first) == announced(second) == old
    rotated = second.operate("identity", "rotate", "--json")
    assert rotated.status == 0, rotated
    new = rotated.json["publicKey"]
    assert new != old
    wait_until(lambda: announced(first) == announced(second) == new, "both instances to sign with the new key")
    # Each signs with it: a client of one instance is a client of the other.
    for instance in (first, second):
        assert OPRFKey(instance.url).create().json()["identity"]["key"] == new


def guess(instance, keyid, secret, session=requests):
    """The status of an answer, or 0 if none came."""
    try:
        return session.post(
            f"{instance.url}/keyservice/v1/key", json={"keyid": keyid, "secret": secret}, timeout=30).status_code
    except requests.RequestException:
        return 0


def patient_guess(instance, keyid, secret, session):
    """Guesses again after "busy", which counts nothing and asks people to try again."""
    for _ in range(5):
        status = guess(instance, keyid, secret, session)
        if status != 503:
            break
    return status


def guess_in_parallel(instances, keyids, secret, count, threads=64, guess=guess):
    """Spreads guesses over the instances and keys. Returns the number of each status for each key."""
    local = threading.local()

    def one(number):
        if not hasattr(local, "session"):
            local.session = requests.Session()
        keyid = keyids[number % len(keyids)]
        return keyid, guess(instances[number // len(keyids) % len(instances)], keyid, secret, local.session)

    seen = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for keyid, status in pool.map(one, range(count)):
            seen[keyid][status] += 1
    return seen


def listed(instance, keyid):
    (key,) = [key for key in instance.operate("keys", "list", "--json").json if key["id"] == keyid]
    return key


def test_exactly_the_limit_of_parallel_wrong_guesses_is_evaluated(pair):
    keyid = create(pair[0])
    seen = guess_in_parallel(pair, [keyid], WRONG, 1000)[keyid]
    assert seen[401] == LIMIT, seen
    assert set(seen) <= {401, 403, 503}, seen
    assert [guess(instance, keyid, RIGHT) for instance in pair] == [403, 403]
    assert listed(pair[1], keyid)["wrongGuessesInAll"] == LIMIT


def test_parallel_right_guesses_all_succeed_also_after_wrong_ones(pair):
    keyid = create(pair[0])
    for wrong in (0, 2):
        assert [guess(pair[number % 2], keyid, WRONG) for number in range(wrong)] == [401] * wrong
        # On a busy machine, the last one may be answered "busy" after ten seconds.
        assert guess_in_parallel(pair, [keyid], RIGHT, 64, guess=patient_guess)[keyid] == {200: 64}


def sessions_of(instances, key):
    """The same key of protocol version 2 at each instance, with 16 connections to each."""
    keys = []
    for number in range(32):
        copy_of_key = copy.copy(key)
        copy_of_key.base = instances[number % len(instances)].url + "/keyservice/v2"
        copy_of_key.session = requests.Session()
        keys.append(copy_of_key)
    return keys


def evaluate_in_parallel(instances, key, guesses):
    """Sends each guess once, in turn to the instances, and returns the answers."""
    keys = sessions_of(instances, key)
    with concurrent.futures.ThreadPoolExecutor(len(keys)) as pool:
        parts = pool.map(
            lambda number: [keys[number].evaluate(one) for one in guesses[number::len(keys)]],
            range(len(keys)))
    return [answer for part in parts for answer in part]


def test_exactly_the_limit_of_parallel_elements_is_evaluated(pair):
    key = OPRFKey(pair[0].url).make()
    answers = evaluate_in_parallel(pair, key, [Guess(b"%d" % number) for number in range(1000)])
    seen = collections.Counter(answer.status_code for answer in answers)
    assert seen[200] == LIMIT and set(seen) <= {200, 403, 503}, seen
    assert len({answer.json()["evaluated"] for answer in answers if answer.status_code == 200}) == LIMIT
    assert listed(pair[1], key.id)["guessesRemaining"] == 0


def evaluate_at_once(instances, key, guesses):
    """Sends each guess on a connection of its own. The last bytes of all requests leave together, so the instances have
    them all before the first one is stored. Returns the statuses."""
    waiting = []
    for number, one in enumerate(guesses):
        base = urllib.parse.urlsplit(instances[number % len(instances)].url)
        body = json.dumps({"blinded": encode(one.blinded)}).encode()
        connection = http.client.HTTPConnection(base.hostname, base.port, timeout=60)
        connection.putrequest("POST", f"{base.path}/keyservice/v2/keys/{key.id}/evaluate")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Authorization", key.authorization(body))
        connection.endheaders(body[:-1])
        waiting.append((connection, body[-1:]))
    for connection, end in waiting:
        connection.send(end)
    statuses = []
    for connection, _ in waiting:
        with contextlib.closing(connection):
            statuses.append(connection.getresponse().status)
    return statuses


def test_exactly_the_limit_of_parallel_elements_that_arrive_together_is_evaluated(pair):
    for _ in range(20):
        key = OPRFKey(pair[0].url).make()
        seen = collections.Counter(evaluate_at_once(pair, key, [Guess(b"%d" % number) for number in range(32)]))
        assert seen[200] == LIMIT and set(seen) <= {200, 403, 503}, seen
        assert listed(pair[1], key.id)["guessesRemaining"] == 0


def test_one_element_a_thousand_times_is_one_guess(pair):
    key = OPRFKey(pair[0].url).make()
    answers = evaluate_in_parallel(pair, key, [Guess(b"wrong")] * 1000)
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    assert listed(pair[1], key.id)["guessesRemaining"] == LIMIT - 1


def test_failures_in_the_middle_never_give_a_guess_more(cluster, pair):
    first, second = pair
    keyids = [create(first) for _ in range(60)]
    random.shuffle(keyids)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        # Each key gets far more guesses than it may have, round after round.
        guessing = pool.submit(guess_in_parallel, pair, keyids, WRONG, 60 * 24, 24)

        def charged():
            return int(cluster.primary.sql("SELECT sum(wrong_in_all) FROM key_service.key_record") or 0)

        wait_until(lambda: charged() > 10, "the first guesses")
        cluster.primary.cut_connections()
        second.kill()
        second.start()
        cluster.primary.cut_connections()
        cluster.fail_over()
        seen = guessing.result()
    for keyid in keyids:
        assert seen[keyid][401] <= LIMIT, (keyid, seen[keyid])
        assert set(seen[keyid]) <= {0, 401, 403, 503}, seen[keyid]
    # Afterwards, the keys have no guesses but those that were lost with a process or a connection.
    wait_until(lambda: guess(first, keyids[0], WRONG) in (401, 403), "the service is back")
    more = guess_in_parallel(pair, keyids, WRONG, 60 * 8, 24)
    for keyid in keyids:
        def is_locked():
            # A key may be held for 10 seconds by a guess that was lost.
            status = guess(second, keyid, WRONG)
            more[keyid][status] += 1
            return status == 403

        wait_until(is_locked, f"the lock of {keyid}")
        assert seen[keyid][401] + more[keyid][401] <= LIMIT, (keyid, seen[keyid], more[keyid])
        assert guess(second, keyid, RIGHT) == 403
        assert listed(second, keyid)["wrongGuessesInAll"] <= LIMIT


def test_every_answered_key_survives_a_failover(cluster, pair, record_property):
    """200 requests a second, creates and releases in turn, through a promotion."""
    end = time.monotonic() + 12
    made, successes, statuses = [], [], collections.Counter()
    lock = threading.Lock()

    def work(number):
        session, instance = requests.Session(), pair[number % 2]
        due = time.monotonic() + number * 0.005
        while (now := time.monotonic()) < end:
            if now < due:
                time.sleep(due - now)
            due += 0.2
            try:
                answer = session.post(
                    f"{instance.url}/keyservice/v1/createkey", json={"secret": RIGHT}, timeout=30)
                status = answer.status_code
                if status == 200:
                    with lock:
                        made.append(answer.json()["keyid"])
                        successes.append(time.monotonic())
                    released = guess(instance, answer.json()["keyid"], RIGHT, session)
                    # A guess may come in the middle of the failure, but it is never called wrong.
                    assert released in (0, 200, 503), released
            except requests.RequestException:
                status = 0
            with lock:
                statuses[status] += 1

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        jobs = [pool.submit(work, number) for number in range(20)]
        wait_until(lambda: len(made) > 100, "some keys")
        failed_at = time.monotonic()
        cluster.fail_over()
        for job in jobs:
            job.result()
    back = [at for at in successes if at > failed_at]
    times = sorted([at for at in successes if at <= failed_at][-1:] + back)
    gap = max(later - earlier for earlier, later in zip(times, times[1:]))
    record_property("seconds without a new key", round(gap, 2))
    print(f"{len(made)} keys made, {statuses}, {gap:.2f} s without a new key")
    assert back, "the service did not come back"
    # The tickets of guesses that were lost run out after 10 seconds.
    for keyid in made:
        wait_until(lambda: guess(pair[1], keyid, RIGHT) == 200, f"the key {keyid}")


def test_nothing_is_evaluated_while_the_standby_does_not_confirm(cluster, pair):
    keyid = create(pair[0])
    cluster.standby.pause()
    try:
        # Also the right secret: nobody may learn anything from a guess that a failover would forget.
        assert [guess(pair[0], keyid, secret) for secret in (WRONG, RIGHT)] == [503, 503]
    finally:
        cluster.standby.go_on()
    wait_until(lambda: guess(pair[1], keyid, RIGHT) == 200, "the key")
    wait_until(lambda: listed(pair[1], keyid)["wrongGuesses"] == 0, "the settling")
    # A charge whose ticket ran out meanwhile stays in the count of all guesses, as after a crash.
    assert listed(pair[1], keyid)["wrongGuessesInAll"] <= 2


def test_an_asynchronous_standby_has_to_be_accepted(cluster, tmp_path, children):
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    instance.kill()
    cluster.add_standby(synchronous=False)
    result = instance.operate("serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "--allow-asynchronous-standby" in result.err
    instance.options = ["--allow-asynchronous-standby"]
    instance.start()
    assert guess(instance, create(instance), RIGHT) == 200
    instance.kill()
    # With a synchronous one it starts without the option.
    cluster.primary.set("synchronous_standby_names", "standby")
    instance.options = []
    instance.start()
    assert "fsync=off" in instance.program.err


def generation(cluster):
    return int(cluster.primary.sql("SELECT generation FROM key_service.service"))


def check_database(cluster, instance):
    """Returns the status of /readyz after the instance has checked its database from begin to end."""
    before = generation(cluster)

    def checked():
        status = requests.get(f"{instance.url}/readyz", timeout=10).status_code
        return status if status != 200 or generation(cluster) >= before + 2 else None

    return wait_until(checked, "a check of the database")


@pytest.mark.parametrize(("tool", "options"), [
    ("pg_basebackup", ["-c", "fast", "-X", "stream", "-r", "32"]), ("pg_receivewal", [])])
def test_a_backup_is_no_standby(cluster, tmp_path, children, tool, options):
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    keyid = create(instance)
    backup = cluster.primary.stream_to(tool, *options)
    children.append(backup)
    assert check_database(cluster, instance) == 200
    assert guess(instance, keyid, RIGHT) == 200
    instance.program.signal(15)
    assert instance.program.wait().status == 0
    instance.start()
    assert check_database(cluster, instance) == 200
    assert guess(instance, keyid, RIGHT) == 200
    assert backup.poll() is None, "the backup ended too early for this test"
    assert "standby" not in instance.program.err


def test_a_role_that_cannot_see_what_connections_are_is_told(cluster, tmp_path, children):
    cluster.primary.sql("REVOKE pg_read_all_stats FROM vault")
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    instance.program.wait_for(re.compile("pg_read_all_stats"), "err")
    instance.kill()
    children.append(cluster.primary.stream_to("pg_receivewal"))
    result = instance.operate("serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "pg_read_all_stats" in result.err
    cluster.primary.sql("GRANT pg_read_all_stats TO vault")
    instance.start()
    assert check_database(cluster, instance) == 200
    assert "pg_read_all_stats" not in instance.program.err


def test_a_standby_that_appears_is_reported_first(cluster, tmp_path, children):
    """StandbyTests.swift has the ten minutes, with a clock of its own."""
    instance = Instance(tmp_path / "first", cluster.url, "--health-listen", "127.0.0.1:0")
    children.append(instance)
    health = instance.program.wait_for(re.compile(r"^Health on (http://\S+)$", re.M))[1]
    keyid = create(instance)

    def standbys():
        text = requests.get(f"{health}/metrics", timeout=10).text
        return re.search(r"^vault_key_service_asynchronous_standbys (\d+)$", text, re.M)[1]

    assert standbys() == "0"
    cluster.add_standby(synchronous=False)
    wait_until(lambda: standbys() == "1", "the standby in the metrics")
    assert check_database(cluster, instance) == 200
    assert guess(instance, keyid, RIGHT) == 200
    instance.program.wait_for(re.compile("has an asynchronous standby"), "err")
    cluster.primary.set("synchronous_standby_names", "standby")
    wait_until(lambda: standbys() == "0", "no asynchronous standby in the metrics")
    assert check_database(cluster, instance) == 200
    assert instance.program.err.count("has an asynchronous standby") == 1


def executed(cluster, call):
    """The statements about keys that the database executes for a call that is refused."""
    log = cluster.primary.folder / "log"
    size = log.stat().st_size
    assert call().status_code == 401
    with open(log, "rb") as lines:
        lines.seek(size)
        return re.findall(rb"execute ((?:find|write|add|remove)_keys)", lines.read())


def test_a_refusal_reads_once_also_for_an_unknown_key(cluster, tmp_path, children):
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    known, unfinished, unknown = (OPRFKey(instance.url) for _ in range(3))
    known.make()
    assert unfinished.create().status_code == 200
    cluster.primary.set("log_statement", "all")
    stranger = Signer(os.urandom(32))
    for key in (known, unfinished, unknown):
        signature = encode(stranger.sign(message("end", key.bytes)))
        for call in (
            lambda: key.evaluate(Guess(b"wrong"), key=os.urandom(32)),
            lambda: key.confirm(stranger, bytes(16)),
            lambda: key.post(f"/keys/{key.id}/end", {"signature": signature}),
        ):
            assert executed(cluster, call) == [b"find_keys"]


def test_a_second_instance_needs_the_master_key(cluster, tmp_path, children):
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    keyid = create(first)
    other = ["--data", tmp_path / "other", "--database-url", cluster.url]
    result = run([KEY_SERVICE, "init", *other])
    assert result.status == 78 and "--master-key-file" in result.err
    own_key = tmp_path / "own.key"
    own_key.write_bytes(secrets.token_bytes(32))
    own_key.chmod(0o600)
    for command in ("init", "serve"):
        result = run([KEY_SERVICE, command, *other, "--master-key-file", own_key])
        assert result.status == 78, result
    assert guess(first, keyid, RIGHT) == 200
    second = Instance(tmp_path / "second", cluster.url, first=first)
    children.append(second)
    assert guess(second, keyid, RIGHT) == 200


def test_a_rotation_waits_until_each_instance_has_the_new_key(cluster, tmp_path, children):
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    second = Instance(tmp_path / "second", cluster.url, first=first)
    children.append(second)
    keyid = create(first)
    new = tmp_path / "new.key"
    assert run([KEY_SERVICE, "make-master-key", new]).status == 0
    both = ("--master-key-file", new, "--old-master-key-file", first.master_key)
    for instance, words in ((second, "2 of 2 running servers do not"), (first, "1 of 2 running servers does not")):
        result = first.operate("rotate-master-key", *both)
        assert result.status == 78 and f"{words} have the master key" in result.err, result
        instance.program.signal(15)
        assert instance.program.wait().status == 0
        instance.options = both
        instance.start()
    assert first.operate("rotate-master-key", *both).status == 0
    assert [guess(instance, keyid, RIGHT) for instance in (first, second)] == [200, 200]


def test_an_older_database_is_noticed(cluster, tmp_path, children):
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    keyid = create(instance)
    key = OPRFKey(instance.url, session=requests).make()
    assert guess(instance, keyid, RIGHT) == 200
    instance.program.signal(15)
    assert instance.program.wait().status == 0
    cluster.primary.sql("UPDATE key_service.service SET generation = 0")
    result = instance.operate("serve", "--listen", "127.0.0.1:0")
    assert result.status != 0 and "accept-rollback" in result.err
    assert instance.operate("accept-rollback").status == 0
    instance.start()
    assert [guess(instance, keyid, secret) for secret in (WRONG, RIGHT)] == [401, 403]
    assert [key.evaluate(Guess(b"%d" % number)).status_code for number in range(3)] == [200, 503, 503]


def test_a_rollback_that_one_instance_notices_needs_acceptance(cluster, tmp_path, children):
    first = Instance(tmp_path / "first", cluster.url)
    children.append(first)
    second = Instance(tmp_path / "second", cluster.url, first=first)
    children.append(second)
    behind = generation(cluster)
    while generation(cluster) < behind + 2:
        assert requests.get(f"{second.url}/readyz", timeout=10).status_code == 200
    # As after a failover to a standby that missed the last check-ins. The first instance did not see these.
    seen = generation(cluster)
    cluster.primary.sql(f"UPDATE key_service.service SET generation = {behind}")

    def has_ended():
        with contextlib.suppress(requests.RequestException):
            requests.get(f"{second.url}/readyz", timeout=10)
        return second.program.process.poll() is not None

    wait_until(has_ended, "the end of the second instance")
    assert second.program.wait().status == 78

    def goes_on():
        assert requests.get(f"{first.url}/readyz", timeout=10).status_code == 200
        return generation(cluster) > seen

    wait_until(goes_on, "a generation above the second instance's mark")
    for _ in range(2):
        result = second.operate("serve", "--listen", "127.0.0.1:0")
        assert result.status == 78 and "accept-rollback" in result.err
    first.program.signal(15)
    assert first.program.wait().status == 0
    assert first.operate("accept-rollback").status == 0
    first.start()
    second.start()
    assert guess(second, create(first), RIGHT) == 200


def test_operators_commands_work_on_the_database(cluster, tmp_path, children):
    instance = Instance(tmp_path / "first", cluster.url)
    children.append(instance)
    keyid = create(instance)
    assert [guess(instance, keyid, WRONG) for _ in range(4)] == [401, 401, 401, 403]
    assert listed(instance, keyid)["locked"]
    assert instance.operate("keys", "unlock", keyid).status == 0
    assert guess(instance, keyid, RIGHT) == 200
    assert instance.operate("keys", "revoke", keyid).status == 0
    assert guess(instance, keyid, RIGHT) == 403
    assert instance.operate("keys", "delete", keyid).status == 0
    assert guess(instance, keyid, RIGHT) == 404
    assert instance.operate("keys", "delete", keyid).status == 66
    result = instance.operate("backup", "--to", tmp_path / "copy")
    assert result.status == 78 and "pg_basebackup" in result.err


def test_a_password_in_the_address_is_refused(tmp_path):
    result = run(
        [KEY_SERVICE, "serve", "--data", tmp_path, "--database-url", "postgresql://me:hunter2@localhost/vault"])
    assert result.status == 78 and "passfile" in result.err and "hunter2" not in result.err
