"""vault-key-service migrate-store: from a data folder into PostgreSQL."""

import random
import subprocess

import pytest
import requests
from support.postgres import Cluster, programs
from support.programs import KEY_SERVICE, Program, clean_environment, run
from support.services import KeyService
from support.shared_service import Instance
from support.waiting import wait_until
from test_audit import AuditedService

RIGHT = "cv1." + "Ab3_-x9" * 6 + "Z"
WRONG = "cv1." + "Cd4_-y8" * 6 + "Z"


@pytest.fixture
def cluster(children):
    cluster = Cluster()
    children.append(cluster)
    return cluster


def create(service, secret=RIGHT):
    answer = requests.post(f"{service.url}/keyservice/v1/createkey", json={"secret": secret}, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()["keyid"]


def guess(service, keyid, secret):
    return requests.post(f"{service.url}/keyservice/v1/key", json={"keyid": keyid, "secret": secret}, timeout=30)


def command(data, cluster):
    return [KEY_SERVICE, "migrate-store", "--from", f"sqlite:{data}", "--to", cluster.url]


def listed(*options):
    """The keys by their ids. Their order and rows are not part of it."""
    result = run([KEY_SERVICE, "keys", "list", "--json", *options])
    assert result.status == 0, result
    return {key["id"]: key for key in result.json}


def moved(service, tmp_path, cluster, children):
    """An instance over the moved keys, with the files of the old service."""
    instance = Instance.__new__(Instance)
    instance.folder, instance.data, instance.url_of_database = tmp_path, service.data, cluster.url
    instance.options, instance.listen, instance.program = [], "127.0.0.1:0", None
    children.append(instance)
    instance.start()
    return instance


def test_all_keys_move_with_their_guesses(key_service, tmp_path, cluster, children):
    good, wrong, locked, plain = (create(key_service), create(key_service), create(key_service),
                                  create(key_service, "correct horse"))
    assert guess(key_service, wrong, WRONG).json()["guessesRemaining"] == 2
    assert [guess(key_service, locked, WRONG).status_code for _ in range(4)] == [401, 401, 401, 403]
    result = run(command(key_service.data, cluster))
    assert result.status == 75 and "Another key service" in result.err, "the old service still runs"
    key_service.program.signal(15)
    assert key_service.program.wait().status == 0
    before = listed("--data", key_service.data)
    result = run(command(key_service.data, cluster))
    assert result.status == 0 and "Moved 4 keys." in result.out, result
    assert listed("--data", key_service.data, "--database-url", cluster.url) == before

    old = run([KEY_SERVICE, "serve", "--data", key_service.data, "--listen", "127.0.0.1:0"])
    assert old.status == 78 and "--database-url" in old.err
    instance = moved(key_service, tmp_path, cluster, children)
    assert guess(instance, good, RIGHT).status_code == 200
    assert guess(instance, wrong, WRONG).json()["guessesRemaining"] == 1
    assert guess(instance, wrong, RIGHT).status_code == 200
    assert guess(instance, locked, RIGHT).status_code == 403
    assert guess(instance, plain, "correct horse").status_code == 200

    # A command that forgets the new database changes nothing. The old one can only be read.
    for words in (["keys", "revoke", good], ["keys", "unlock", locked], ["keys", "delete", good],
                  ["rotate-master-key"], ["accept-rollback"]):
        old = run([KEY_SERVICE, *words, "--data", key_service.data])
        assert old.status == 78 and "--database-url" in old.err, (words, old)
    assert guess(instance, good, RIGHT).status_code == 200
    assert good in listed("--data", key_service.data)
    backup = run([KEY_SERVICE, "backup", "--data", key_service.data, "--to", tmp_path / "copy"])
    assert backup.status == 0, backup

    # Another call changes nothing, not even while the new service runs.
    again = run(command(key_service.data, cluster))
    assert again.status == 0 and "moved before" in again.out
    assert guess(instance, wrong, WRONG).json()["guessesRemaining"] == 2


def test_the_audit_log_moves_with_the_keys(tmp_path, cluster, children):
    audited = AuditedService(tmp_path)
    children.append(audited)
    keyid = audited.create()
    audited.stop()
    result = run(command(audited.data, cluster))
    assert result.status == 78 and "--audit-log" in result.err, result
    result = run([*command(audited.data, cluster), "--audit-log", audited.log])
    assert result.status == 0 and "Moved 1 key." in result.out, result
    assert audited.events()[-1] == "operator-moves-keys"
    unlock = [KEY_SERVICE, "keys", "unlock", keyid, "--data", audited.data, "--database-url", cluster.url]
    result = run(unlock)
    assert result.status == 78 and "--audit-log" in result.err, result
    assert run([*unlock, "--audit-log", audited.log]).status == 0
    assert audited.events()[-1] == "operator-unlocks"


def test_a_killed_move_is_finished_by_the_next(key_service, tmp_path, cluster, children):
    keyids = [create(key_service) for _ in range(150)]
    key_service.program.signal(15)
    assert key_service.program.wait().status == 0
    before = listed("--data", key_service.data)
    for _ in range(25):
        move = subprocess.Popen(
            command(key_service.data, cluster), env=clean_environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            move.wait(random.uniform(0.02, 0.25))
        except subprocess.TimeoutExpired:
            move.kill()
            move.wait()
    assert run(command(key_service.data, cluster)).status == 0
    assert listed("--data", key_service.data, "--database-url", cluster.url) == before
    instance = moved(key_service, tmp_path, cluster, children)
    assert guess(instance, random.choice(keyids), RIGHT).status_code == 200


def test_no_key_changes_during_a_move(key_service, tmp_path, cluster, children):
    keyid = create(key_service)
    key_service.program.signal(15)
    assert key_service.program.wait().status == 0
    # Make the tables, so that somebody can hold one and stop the move in the middle.
    assert run([KEY_SERVICE, "init", "--data", tmp_path / "x", "--database-url", cluster.url]).status == 0
    cluster.primary.sql("DELETE FROM key_service.service_identity; DELETE FROM key_service.master_key")
    held = ("BEGIN; LOCK TABLE key_service.key_record IN SHARE MODE; SELECT 'held' FROM pg_sleep(0)")
    with subprocess.Popen(
            [programs() / "psql", "-XAtq", "-h", cluster.primary.folder, "-U", "postgres", "-d", "vault"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
        psql.stdin.write(held + ";\n")
        psql.stdin.flush()
        assert psql.stdout.readline() == "held\n"
        move = Program(command(key_service.data, cluster), tmp_path)
        children.append(move)
        waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'key_service.key_record'::regclass AND NOT granted"
        wait_until(lambda: cluster.primary.sql(waiting) == "1", "the move")
        # The source and the target can only be read.
        for words in (["keys", "revoke", keyid], ["keys", "delete", keyid]):
            result = run([KEY_SERVICE, *words, "--data", key_service.data])
            assert result.status == 75 and "are being moved" in result.err, result
            result = run([KEY_SERVICE, *words, "--data", key_service.data, "--database-url", cluster.url])
            assert result.status == 78 and f"--from sqlite:{key_service.data}" in result.err, result
        assert keyid in listed("--data", key_service.data)
        psql.stdin.close()
    assert move.wait().status == 0
    instance = moved(key_service, tmp_path, cluster, children)
    assert guess(instance, keyid, RIGHT).status_code == 200


def test_two_folders_do_not_share_a_new_database(key_service, tmp_path, cluster, children):
    keyids = {create(key_service) for _ in range(5)}
    key_service.program.signal(15)
    assert key_service.program.wait().status == 0
    other = tmp_path / "other"
    assert run([KEY_SERVICE, "init", "--data", other]).status == 0
    # The last step of the first move fails.
    assert run([KEY_SERVICE, "init", "--data", tmp_path / "x", "--database-url", cluster.url]).status == 0
    cluster.primary.sql("DELETE FROM key_service.service_identity; DELETE FROM key_service.master_key")
    cluster.primary.sql("""
        CREATE FUNCTION key_service.cut() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'cut'; END$$;
        CREATE TRIGGER cut BEFORE UPDATE ON key_service.service FOR EACH ROW
            WHEN (old.retired_because IS NOT NULL AND new.retired_because IS NULL)
            EXECUTE FUNCTION key_service.cut()""")
    assert run(command(key_service.data, cluster)).status == 74
    cluster.primary.sql("DROP TRIGGER cut ON key_service.service")
    result = run(command(other, cluster))
    assert result.status == 78 and f"--from sqlite:{key_service.data}" in result.err, result
    assert "Moved 5 keys." in run(command(key_service.data, cluster)).out
    assert set(listed("--data", key_service.data, "--database-url", cluster.url)) == keyids


def test_a_database_in_use_is_refused(key_service, tmp_path, cluster, children):
    other = Instance(tmp_path / "other", cluster.url)
    children.append(other)
    keyid = create(other)
    key_service.program.signal(15)
    assert key_service.program.wait().status == 0
    result = run(command(key_service.data, cluster))
    assert result.status == 78 and "in use" in result.err
    assert guess(other, keyid, RIGHT).status_code == 200
    key_service.start()
