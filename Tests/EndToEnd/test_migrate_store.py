"""vault-key-service migrate-store: from a data folder into PostgreSQL."""

import random
import subprocess

import pytest
import requests
from support.postgres import Cluster
from support.programs import KEY_SERVICE, clean_environment, run
from support.services import KeyService
from support.shared_service import Instance

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

    # Another call changes nothing, not even while the new service runs.
    again = run(command(key_service.data, cluster))
    assert again.status == 0 and "moved before" in again.out
    assert guess(instance, wrong, WRONG).json()["guessesRemaining"] == 2


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
