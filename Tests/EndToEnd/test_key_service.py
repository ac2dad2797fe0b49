"""vault-key-service as a process: its folder, its start and end, and its operator's commands."""

import concurrent.futures
import json
import re
import shutil
import signal
import socket
import stat
import time

import pytest
import requests
from support.programs import KEY_SERVICE, Program, clean_environment, run
from support.services import KeyService
from support.waiting import wait_until

SECRET = "482916"


def create(service, secret=SECRET):
    answer = requests.post(f"{service.url}/keyservice/v1/createkey", json={"secret": secret}, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()


def fetch(service, keyid, secret=SECRET, session=requests):
    return session.post(f"{service.url}/keyservice/v1/key", json={"keyid": keyid, "secret": secret}, timeout=30)


def operate(service, *arguments):
    return run([KEY_SERVICE, *arguments, "--data", service.data])


def listed(service, keyid):
    (key,) = [key for key in operate(service, "keys", "list", "--json").json if key["id"] == keyid]
    return key


def test_init_makes_a_private_folder_and_never_overwrites(key_service):
    data = key_service.data
    key_service.kill()
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in data.iterdir()} == {"0o600"}
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    result = operate(key_service, "init")
    assert result.status == 78 and "not overwritten" in result.err
    (data / "keys.sqlite").rename(data / "elsewhere")
    assert operate(key_service, "init").status == 78
    (data / "elsewhere").rename(data / "keys.sqlite")
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before


@pytest.mark.parametrize("umask", ["000", "077"])
def test_init_does_not_mind_the_umask(tmp_path, umask):
    data = tmp_path / "data"
    assert run(["sh", "-c", f'umask {umask}; exec "$0" init --data "$1"', KEY_SERVICE, data]).status == 0
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in data.iterdir()} == {"0o600"}


def test_serve_says_where_it_listens_and_is_healthy(key_service):
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", key_service.url)
    for path in ("healthz", "readyz"):
        assert requests.get(f"{key_service.url}/{path}", timeout=10).status_code == 200
    assert key_service.program.out == f"Listening on {key_service.url}\n"


def test_answers_are_not_to_be_cached(key_service):
    key = create(key_service)
    assert fetch(key_service, key["keyid"]).headers["Cache-Control"] == "no-store"


def test_serve_without_a_folder_or_with_one_open_to_others(tmp_path, key_service):
    result = run([KEY_SERVICE, "serve", "--data", tmp_path / "nothing", "--listen", "127.0.0.1:0"])
    assert result.status == 78 and "init" in result.err
    key_service.kill()
    data = key_service.data
    for path, mode, right in [(data, 0o755, 0o700), (key_service.secrets / "master.key", 0o644, 0o600),
                              (data / "keys.sqlite", 0o640, 0o600)]:
        path.chmod(mode)
        result = operate(key_service, "serve", "--listen", "127.0.0.1:0")
        assert result.status == 78 and "open to other users" in result.err
        path.chmod(right)


def test_a_second_server_on_the_same_folder_is_refused(key_service):
    result = operate(key_service, "serve", "--listen", "127.0.0.1:0")
    assert result.status == 75 and "Another key service" in result.err


def test_plain_http_to_other_machines_has_to_be_asked_for(key_service):
    key_service.kill()
    result = operate(key_service, "serve", "--listen", "0.0.0.0:0")
    assert result.status == 78 and "--insecure-allow-remote-http" in result.err


def test_a_taken_port(key_service, tmp_path):
    (tmp_path / "other").mkdir()
    data = tmp_path / "other" / "keys"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    result = run([KEY_SERVICE, "serve", "--data", data, "--listen", key_service.listen])
    assert result.status == 78 and key_service.listen in result.err


def test_the_wrong_master_key(key_service, tmp_path):
    key_service.kill()
    other = tmp_path / "other"
    assert run([KEY_SERVICE, "init", "--data", other]).status == 0
    shutil.copy(tmp_path / "other-secrets/master.key", key_service.secrets / "master.key")
    result = operate(key_service, "serve", "--listen", "127.0.0.1:0")
    assert result.status == 78 and "master key" in result.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_under_way_finish_before_it_ends(key_service, number):
    key = create(key_service)
    host, port = key_service.listen.split(":")
    body = json.dumps({"keyid": key["keyid"], "secret": SECRET}).encode()
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            b"POST /keyservice/v1/key HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body[:5]))
        # The server has received this request when it answers a later one on another connection.
        assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200
        key_service.program.signal(number)
        wait_until(lambda: refuses(host, int(port)), "it to accept no more connections")
        connection.sendall(body[5:])
        answer = b""
        while more := connection.recv(65536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 200 ") and json.dumps(key["key"]).encode() in answer.replace(b"\\/", b"/")
    assert key_service.program.wait().status == 0


def refuses(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
        return False
    except ConnectionError:
        return True


def test_counts_survive_kill_9(key_service):
    key = create(key_service)
    for wrong in range(1, 4):
        answer = fetch(key_service, key["keyid"], "wrong guess")
        assert answer.status_code == 401
        key_service.kill()
        assert listed(key_service, key["keyid"])["guessesRemaining"] == 3 - wrong
        key_service.start()
    assert fetch(key_service, key["keyid"]).status_code == 403
    assert listed(key_service, key["keyid"])["locked"]


@pytest.mark.parametrize("point, secret, remaining", [("charged", "wrong guess", 2), ("charged", SECRET, 2),
                                                      ("evaluated", SECRET, 2)])
def test_kill_9_in_the_middle_of_a_guess_never_gives_it_back(key_service, children, point, secret, remaining):
    key = create(key_service)
    key_service.kill()
    key_service.program = Program(
        [KEY_SERVICE, "serve", "--data", key_service.data, "--listen", key_service.listen], key_service.folder,
        clean_environment(VAULT_KEY_SERVICE_FAULT=point))
    key_service.program.wait_for(re.compile("Listening on"))
    with pytest.raises(requests.ConnectionError):
        fetch(key_service, key["keyid"], secret)
    assert key_service.program.wait().status == -signal.SIGKILL
    assert listed(key_service, key["keyid"])["guessesRemaining"] == remaining
    key_service.start()
    assert fetch(key_service, key["keyid"]).json()["key"] == key["key"]
    # The server gives the guesses back at once, but writes this to the disk a moment later, together with other
    # changes.
    wait_until(lambda: listed(key_service, key["keyid"])["guessesRemaining"] == 3, "the guesses to be given back")


@pytest.mark.parametrize("secret", [SECRET, "cv1." + "A" * 43])
@pytest.mark.parametrize("renews", [False, True])
def test_a_right_answer_after_wrong_ones_survives_kill_9(key_service, secret, renews):
    headers = {"Credential-Vault-Renews": "1"} if renews else {}
    key = create(key_service, secret)
    for _ in range(5):
        # A client that renews does not reset the count, so only the first round may guess.
        while listed(key_service, key["keyid"])["guessesRemaining"] > 1:
            assert fetch(key_service, key["keyid"], "wrong guess").status_code == 401
        answer = requests.post(f"{key_service.url}/keyservice/v1/key", headers=headers, timeout=30,
                               json={"keyid": key["keyid"], "secret": secret})
        key_service.kill()
        assert answer.json()["key"] == key["key"] and answer.json()["wrongGuesses"] == 2
        assert abs(answer.json()["lastWrongGuessAt"] - time.time()) < 600
        key_service.start()
        assert listed(key_service, key["keyid"])["guessesRemaining"] == (1 if renews else 3)


def test_the_log_names_no_key(key_service):
    key = create(key_service)
    assert fetch(key_service, key["keyid"]).status_code == 200
    tag = listed(key_service, key["keyid"])["keytag"]
    key_service.program.signal(signal.SIGTERM)
    log = key_service.program.wait().err
    assert tag in log and key["keyid"] not in log


def test_parallel_wrong_guesses_evaluate_three(key_service):
    key = create(key_service)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        # An answer of requests keeps its connection, and one address has few of them.
        answers = list(pool.map(lambda n: fetch(key_service, key["keyid"], f"wrong guess {n}").status_code, range(64)))
    counts = {status: answers.count(status) for status in set(answers)}
    assert counts[401] == 3 and set(counts) <= {401, 403, 503}, counts
    assert fetch(key_service, key["keyid"]).status_code == 403


def test_parallel_right_guesses_all_succeed(key_service):
    secret = "cv1." + "A" * 43
    key = create(key_service, secret)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: fetch(key_service, key["keyid"], secret), range(32)))
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["key"] for answer in answers} == {key["key"]}


BAD = {
    "not JSON": b"{", "empty": b"", "an array": b"[]", "a number": b"1", "a missing field": b'{"keyid":"x"}',
    "a wrong type": b'{"keyid":"x","secret":7}', "null": b'{"keyid":null,"secret":null}',
    "NUL": b'{"keyid":"x","secret":"a\\u0000b"}', "a raw NUL": b'{"keyid":"x","secret":"a\x00b"}',
    "no UTF-8": b'{"keyid":"x","secret":"\xff\xfe"}', "deep": b"[" * 10000, "10 MB": b'{"secret":"' + b"x" * 10_000_000,
    "a member twice": b'{"keyid":"x","secret":"a","secret":"b"}', "a trailing comma": b'{"keyid":"x","secret":"a",}',
    "UTF-16": '{"keyid":"x","secret":"a"}'.encode("utf-16"), "text behind": b'{"keyid":"x","secret":"a"} x',
    "a lone surrogate": b'{"keyid":"x","secret":"\\ud800"}', "an empty secret": b'{"secret":""}',
}


@pytest.mark.parametrize("body", BAD)
@pytest.mark.parametrize("call", ["key", "createkey"])
def test_bad_bodies(key_service_for_reading, call, body):
    service = key_service_for_reading
    try:
        answer = requests.post(f"{service.url}/keyservice/v1/{call}", data=BAD[body], timeout=30,
                               headers={"Content-Type": "application/json"})
        status = answer.status_code
    except requests.ConnectionError:
        assert body == "10 MB"  # the server may close the connection while the client still sends
        status = 413
    if call == "createkey" and body in ("a missing field",):
        assert status in (400, 422)
    else:
        assert 400 <= status < 500 and status not in (401, 403), status
        assert status != 404 or (call == "key" and body == "NUL"), status
    assert requests.get(f"{service.url}/readyz", timeout=10).status_code == 200


@pytest.fixture(scope="module")
def key_service_for_reading(tmp_path_factory):
    service = KeyService(tmp_path_factory.mktemp("keys"))
    yield service
    service.kill()


def test_a_backup_while_it_runs_opens_everything(key_service, tmp_path, children):
    keys = [create(key_service, "cv1." + letter * 43) for letter in "ABCD"]
    stop = False

    def work():
        count = 0
        while not stop:
            assert fetch(key_service, keys[0]["keyid"], "cv1." + "A" * 43).status_code == 200
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            result = operate(key_service, "backup", "--to", tmp_path / "copy.sqlite")
        finally:
            stop = True
        assert working.result() > 0
    assert result.status == 0, result
    assert stat.S_IMODE((tmp_path / "copy.sqlite").stat().st_mode) == 0o600
    again = operate(key_service, "backup", "--to", tmp_path / "copy.sqlite")
    assert again.status != 0 and "not overwritten" in again.err
    # The data is restored on another machine with its master key.
    restored = tmp_path / "restored"
    restored.mkdir()
    (restored / "keys-secrets").mkdir(mode=0o700)
    shutil.copy(key_service.secrets / "master.key", restored / "keys-secrets/master.key")
    result = run([KEY_SERVICE, "restore", "--data", restored / "keys", "--from", tmp_path / "copy.sqlite"])
    assert result.status == 0, result
    program = Program([KEY_SERVICE, "serve", "--data", restored / "keys", "--listen", "127.0.0.1:0"], restored)
    children.append(program)
    url = program.wait_for(re.compile(r"Listening on (\S+)"))[1]
    for key, letter in zip(keys, "ABCD"):
        answer = requests.post(f"{url}/keyservice/v1/key", timeout=30,
                               json={"keyid": key["keyid"], "secret": "cv1." + letter * 43})
        assert answer.json()["key"] == key["key"]


def test_the_operator_unlocks_and_deletes(key_service):
    key = create(key_service)
    for _ in range(3):
        assert fetch(key_service, key["keyid"], "wrong guess").status_code == 401
    assert fetch(key_service, key["keyid"]).status_code == 403
    assert operate(key_service, "keys", "unlock", key["keyid"]).status == 0
    assert fetch(key_service, key["keyid"]).status_code == 200
    assert operate(key_service, "keys", "delete", key["keyid"]).status == 0
    assert fetch(key_service, key["keyid"]).status_code == 404
    assert operate(key_service, "keys", "delete", key["keyid"]).status == 66
    assert operate(key_service, "keys", "unlock", "nonsense").status == 66


def test_settings_from_environment_and_file(tmp_path, children):
    data = tmp_path / "data"
    assert run([KEY_SERVICE, "init"], clean_environment(VAULT_KEY_SERVICE_DATA=data)).status == 0
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(
        {"data": str(data), "listen": "127.0.0.1:0", "basePath": "/from/file", "maxGuesses": 1}))
    program = Program([KEY_SERVICE, "serve", "--config", file, "--base-path", "/p"], tmp_path)
    children.append(program)
    url = program.wait_for(re.compile(r"Listening on (\S+)"))[1]
    assert url.endswith("/p")
    answer = requests.post(f"{url}/keyservice/v1/createkey", json={"secret": SECRET}, timeout=30).json()
    guess = {"keyid": answer["keyid"], "secret": "wrong guess"}
    statuses = [requests.post(f"{url}/keyservice/v1/key", json=guess, timeout=30).status_code for _ in range(2)]
    assert statuses == [401, 403]
