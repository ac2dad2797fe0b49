"""Connections to vault-key-service: slow clients, many clients, and the listener for health checks."""

import json
import re
import select
import signal
import socket

import pytest
import requests
from support.programs import KEY_SERVICE, run
from support.services import KeyService
from support.waiting import wait_until

HEAD = b"POST /keyservice/v1/createkey HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def connect(service, source="127.0.0.1"):
    host, port = service.listen.split(":")
    return socket.create_connection((host, int(port)), timeout=40, source_address=(source, 0))


def rest(connection):
    """Returns what the server still sends until it closes the connection."""
    answer = b""
    try:
        while more := connection.recv(65536):
            answer += more
    except ConnectionResetError:
        pass
    return answer


def started(tmp_path, children, *options):
    service = KeyService(tmp_path, *options)
    children.append(service)
    return service


def health(service):
    return service.program.wait_for(re.compile(r"^Health on (http://\S+)$", re.M))[1]


def metric(service, name):
    text = requests.get(f"{health(service)}/metrics", timeout=10).text
    return float(re.search(rf"^vault_key_service_{name} (\S+)$", text, re.M)[1])


def is_served(connection):
    connection.sendall(REQUEST)
    return connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_does_not_come_ends_its_connection(key_service):
    parts = {
        "nothing": b"", "half a line": b"POST /keyser", "half a head": HEAD, "no body": HEAD + b"Content-Length: 20\r\n\r\n",
        "half a body": HEAD + b"Content-Length: 20\r\n\r\n{\"secret\":",
    }
    connections = {name: connect(key_service) for name in parts}
    for name, connection in connections.items():
        connection.sendall(parts[name])
    # A connection that had an answer has time to think before its next request, but not for half of one.
    after = connect(key_service)
    after.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert after.recv(65536).startswith(b"HTTP/1.1 200 ")
    after.sendall(b"GET /heal")
    for name, connection in [*connections.items(), ("after an answer", after)]:
        answer = rest(connection)
        assert answer == b"" if name == "nothing" else answer.startswith(b"HTTP/1.1 408 "), (name, answer)
        connection.close()
    assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200


def test_slow_clients_do_not_starve_the_others(tmp_path, children):
    service = started(tmp_path, children, "--health-listen", "127.0.0.1:0")
    # 600 connections from ten addresses: more than the main listener accepts.
    slow = [connect(service, f"127.0.0.{number % 10 + 2}") for number in range(600)]
    for connection in slow:
        connection.sendall(b"POST /")
    for path in ("healthz", "readyz", "metrics"):
        assert requests.get(f"{health(service)}/{path}", timeout=5).status_code == 200
    # Another address takes the place of a slow one.
    assert requests.get(f"{service.url}/healthz", timeout=10).status_code == 200
    service.program.signal(signal.SIGTERM)
    assert service.program.wait(timeout=15).status == 0
    for connection in slow:
        connection.close()


def test_one_address_has_few_connections(tmp_path, children):
    service = started(tmp_path, children, "--max-connections-per-address", "3")
    first = [connect(service) for _ in range(3)]
    for connection in first:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert rest(connect(service)) == b""
    # Another address has a limit of its own, and a closed connection makes room.
    other = connect(service, "127.0.0.9")
    other.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert other.recv(65536).startswith(b"HTTP/1.1 200 ")
    first.pop().close()

    def is_admitted():
        try:
            return requests.get(f"{service.url}/healthz", timeout=10).status_code == 200
        except requests.ConnectionError:
            return False
    wait_until(is_admitted, "a place to be free again")


def test_idle_connections_make_room(tmp_path, children):
    service = started(tmp_path, children, "--max-connections", "8", "--health-listen", "127.0.0.1:0")
    owner = connect(service, "127.0.0.2")
    assert is_served(owner)
    greedy = [connect(service, f"127.0.0.{number % 4 + 3}") for number in range(7)]
    assert all(is_served(connection) for connection in greedy)
    new = connect(service, "127.0.0.9")
    assert is_served(new)
    # The owner has been idle longest, but some of the greedy addresses have more connections.
    ended = select.select(greedy, [], [], 40)[0]
    assert [rest(connection) for connection in ended] == [b""] and ended[0] is not greedy[3]
    assert all(is_served(connection) for connection in [owner, *greedy, new] if connection not in ended)
    assert metric(service, "connections_evicted_total") == 1 and metric(service, "connections_refused_total") == 0
    wait_until(lambda: metric(service, "connections_open") == metric(service, "connections_limit") == 8, "the end")


def test_a_trusted_proxy_has_many_connections(tmp_path, children):
    service = started(tmp_path, children, "--max-connections-per-address", "3", "--trusted-proxy", "127.0.0.0/30")
    for connection in [connect(service) for _ in range(6)]:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_large_body_ends_the_connection(key_service):
    connection = connect(key_service)
    connection.sendall(HEAD + b"Content-Length: 10000000\r\n\r\n" + b"x" * 100_000)
    answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 413 ") and b"connection: close" in answer.lower()
    chunked = connect(key_service)
    chunked.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"4000\r\n" + b"x" * 0x4000 + b"\r\n") * 2)
    assert rest(chunked).startswith(b"HTTP/1.1 413 ")


def test_idle_connections_do_not_keep_it_from_ending(key_service):
    idle = requests.Session()
    assert idle.get(f"{key_service.url}/healthz", timeout=10).status_code == 200
    silent, half = connect(key_service), connect(key_service)
    half.sendall(b"POST /keyser")
    assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200
    key_service.program.signal(signal.SIGTERM)
    # Less than the 10 seconds that a request under way would have.
    assert key_service.program.wait(timeout=8).status == 0
    assert rest(silent) == b"" and not rest(half).startswith(b"HTTP/1.1 200")
    idle.close()


def test_health_has_a_listener_of_its_own(tmp_path, children):
    service = started(tmp_path, children, "--health-listen", "127.0.0.1:0")
    own = health(service)
    assert own != service.url
    for base in (own, service.url):
        for path, status in (("healthz", "alive"), ("readyz", "ready")):
            answer = requests.get(f"{base}/{path}", timeout=10)
            assert (answer.status_code, answer.json()) == (200, {"status": status})
            head = requests.head(f"{base}/{path}", timeout=10)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["Content-Length"] == answer.headers["Content-Length"]
            assert requests.post(f"{base}/{path}", timeout=10).status_code == 405
    assert requests.get(f"{service.url}/metrics", timeout=10).status_code == 404
    assert requests.get(f"{own}/metrics", timeout=10).status_code == 200
    assert requests.post(f"{own}/keyservice/v1/createkey", json={"secret": "1234"}, timeout=10).status_code == 404


def test_a_taken_health_port(key_service, tmp_path):
    (tmp_path / "other").mkdir()
    data = tmp_path / "other" / "keys"
    assert run([KEY_SERVICE, "init", "--data", data]).status == 0
    result = run([KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--health-listen", key_service.listen])
    assert result.status == 78 and key_service.listen in result.err and "--health-listen" in result.err
    result = run([KEY_SERVICE, "serve", "--data", data, "--listen", key_service.listen])
    port = key_service.listen.split(":")[1]
    assert result.status == 78 and f"ss -ltnp 'sport = :{port}'" in result.err and ")" not in result.err


# Draining


def body(connection, secret):
    """Sends the whole head and the first byte of the body, and returns the rest of the body."""
    content = json.dumps({"secret": secret}).encode()
    connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(content), content[:1]))
    return content[1:]


def test_it_says_that_it_ends_before_it_does(tmp_path, children):
    service = started(tmp_path, children, "--health-listen", "127.0.0.1:0", "--drain-delay", "3600")
    key = requests.post(f"{service.url}/keyservice/v1/createkey", json={"secret": "482916"}, timeout=30).json()
    under_way = connect(service)
    left = body(under_way, "482916")
    service.program.signal(signal.SIGTERM)
    for base in (service.url, health(service)):
        wait_until(lambda base=base: requests.get(f"{base}/readyz", timeout=10).status_code == 503, "it to be not ready")
        assert requests.get(f"{base}/healthz", timeout=10).status_code == 200
    # It still works, also on new connections.
    answer = requests.post(
        f"{service.url}/keyservice/v1/key", json={"keyid": key["keyid"], "secret": "482916"}, timeout=30)
    assert answer.json()["key"] == key["key"]
    # The second signal ends the wait, but not the request under way.
    service.program.signal(signal.SIGTERM)
    wait_until(lambda: refuses(service), "it to accept no more connections")
    assert requests.get(f"{health(service)}/readyz", timeout=10).status_code == 503
    under_way.sendall(left)
    assert rest(under_way).startswith(b"HTTP/1.1 200 ")
    assert service.program.wait().status == 0
    log = service.program.err
    assert log.count("Started ") == log.count("Stopping") == log.count("Stopped") == 1


def test_one_more_signal_ends_requests_under_way(key_service):
    under_way = connect(key_service)
    body(under_way, "482916")
    assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200
    key_service.program.signal(signal.SIGINT)
    wait_until(lambda: refuses(key_service), "it to accept no more connections")
    key_service.program.signal(signal.SIGINT)
    assert key_service.program.wait(timeout=8).status == 0
    assert not rest(under_way).startswith(b"HTTP/1.1 200 ")


def refuses(service):
    try:
        connect(service).close()
        return False
    except ConnectionError:
        return True


# New keys


def create(service, **headers):
    return requests.post(
        f"{service.url}/keyservice/v1/createkey", json={"secret": "cv1." + "A" * 43}, timeout=30, headers=headers)


def test_one_address_makes_few_keys(tmp_path, children):
    service = started(tmp_path, children, "--creates-per-hour", "2")
    assert [create(service).status_code for _ in range(2)] == [200, 200]
    refused = create(service)
    assert (refused.status_code, refused.json()["error"]) == (503, "busy")
    assert 0 < int(refused.headers["Retry-After"]) <= 1800
    # The address of the connection counts, as there is no trusted proxy.
    assert create(service, **{"X-Forwarded-For": "192.0.2.1"}).status_code == 503
    # A refused request for a new key counts nothing for other requests.
    assert requests.get(f"{service.url}/readyz", timeout=10).status_code == 200


def test_all_addresses_make_a_bounded_number_of_keys(tmp_path, children):
    service = started(
        tmp_path, children, "--creates-per-hour", "2", "--creates-per-hour-total", "3", "--trusted-proxy", "127.0.0.1")
    clients = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"]
    statuses = [create(service, **{"X-Forwarded-For": client}).status_code for client in clients]
    assert statuses == [200, 200, 200, 503]


@pytest.mark.parametrize("forged", ["192.0.2.7, 192.0.2.1", "x, 192.0.2.1, 127.0.0.1", "192.0.2.1:1234"])
def test_a_client_cannot_forge_its_address(tmp_path, children, forged):
    service = started(tmp_path, children, "--creates-per-hour", "1", "--trusted-proxy", "127.0.0.0/8")
    assert create(service, **{"X-Forwarded-For": "192.0.2.1"}).status_code == 200
    assert create(service, **{"X-Forwarded-For": "192.0.2.2"}).status_code == 200
    assert create(service, **{"X-Forwarded-For": forged}).status_code == 503


def test_an_ipv6_network_counts_as_one(tmp_path, children):
    service = started(tmp_path, children, "--creates-per-hour", "1", "--trusted-proxy", "127.0.0.1")
    statuses = [create(service, **{"X-Forwarded-For": client}).status_code
                for client in ("2001:db8::1", "2001:db8::2", "[2001:db8:0:1::1]:80")]
    assert statuses == [200, 503, 200]


# Refused requests


def fetch(service, keyid, secret, **headers):
    return requests.post(
        f"{service.url}/keyservice/v1/key", json={"keyid": keyid, "secret": secret}, timeout=30, headers=headers)


def test_an_address_with_many_refused_requests_waits_and_others_do_not(tmp_path, children):
    service = started(
        tmp_path, children, "--refusals-per-minute", "1", "--trusted-proxy", "127.0.0.1", "--health-listen",
        "127.0.0.1:0")
    stranger, person = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}
    right, wrong = "cv1." + "A" * 43, "cv1." + "B" * 43
    keyid = create(service).json()["keyid"]
    # Right requests do not count.
    assert {fetch(service, keyid, right, **stranger).status_code for _ in range(30)} == {200}
    # A web page can make the browsers of a whole hospital send these. So they lock nobody out.
    for _ in range(10):
        assert requests.get(f"{service.url}/nothing", timeout=10, headers=stranger).status_code == 404
        text = {"Content-Type": "text/plain"} | stranger
        assert requests.post(f"{service.url}/keyservice/v1/key", "{}", timeout=10, headers=text).status_code == 415
    # Ten minutes' number may come at once.
    assert [fetch(service, "unknown", right, **stranger).status_code for _ in range(10)] == [404] * 10
    refused = [fetch(service, keyid, secret, **stranger) for secret in (right, wrong)]
    for answer in refused:
        assert (answer.status_code, answer.json()["error"]) == (503, "busy")
        assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert refused[0].content == refused[1].content
    answer = requests.get(f"{service.url}/keyservice/v2", timeout=10, headers=stranger)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy") and int(answer.headers["Retry-After"]) > 0
    # A load balancer at the same address still learns that the service is ready.
    assert requests.get(f"{service.url}/readyz", timeout=10, headers=stranger).status_code == 200
    # Nobody else waits, and no refused guess was counted.
    assert fetch(service, keyid, wrong, **person).json()["guessesRemaining"] == 2
    assert fetch(service, keyid, right, **person).status_code == 200
    figures = requests.get(f"{health(service)}/metrics", timeout=10).text
    assert "vault_key_service_requests_limited_total 3\n" in figures
    # The log has one line a minute for such requests.
    line = re.compile("Refused requests of addresses over the limit of refusals count=1$", re.M)
    service.program.wait_for(line, "err")
    assert "route=key status=503" not in service.program.err


REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def test_a_client_that_sends_many_requests_ahead_is_cut_off(key_service):
    with connect(key_service) as connection:
        try:
            connection.sendall(REQUEST * 5000)
        except ConnectionError:
            pass
        assert rest(connection).count(b"HTTP/1.1 200 ") < 5000
    assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200


def whole(connection):
    """Returns what the server sends until it closes the connection without an error."""
    answer = b""
    while more := connection.recv(65536):
        answer += more
    return answer


CLOSING = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


def test_requests_sent_ahead_are_answered_before_the_end(key_service):
    with connect(key_service) as connection:
        connection.sendall(REQUEST * 39 + CLOSING)
        answers = whole(connection).lower().split(b"http/1.1 ")[1:]
    assert 32 <= len(answers) <= 40 and all(answer.startswith(b"200 ") for answer in answers)
    # The last answer says that no other follows.
    assert [b"connection: close" in answer for answer in answers] == [False] * (len(answers) - 1) + [True]


def test_guesses_sent_ahead_count_only_if_they_are_answered(tmp_path, children):
    service = started(tmp_path, children, "--max-guesses", "50")
    key = create(service).json()["keyid"]
    body = json.dumps({"keyid": key, "secret": "cv1." + "B" * 43}).encode()
    guess = HEAD.replace(b"createkey", b"key") + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    with connect(service) as connection:
        connection.sendall(guess * 40 + CLOSING)
        count = whole(connection).count(b"HTTP/1.1 401 ")
    assert 32 <= count <= 40
    last = requests.post(f"{service.url}/keyservice/v1/key", json=json.loads(body), timeout=30)
    assert last.json()["guessesRemaining"] == 50 - count - 1


# Malformed requests


@pytest.mark.parametrize("value", [b"close", b"Close, x", b"x, CLOSE"])
def test_a_client_may_close_in_each_form(key_service, value):
    with connect(key_service) as connection:
        connection.sendall(CLOSING.replace(b"close", value))
        answer = whole(connection)
    assert answer.startswith(b"HTTP/1.1 200 ") and b"connection: close" in answer.lower()


def test_malformed_requests_are_seen_but_not_shown(tmp_path, children):
    service = started(tmp_path, children, "--health-listen", "127.0.0.1:0")
    malformed = [
        b"GET / HTTP/1.1\r\n\r\n" * 3, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", b"secret-word / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01secret-word\r\n\r\n", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: secret-word\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nsecret-word\r\n",
    ]
    for request in malformed:
        with connect(service) as connection:
            connection.sendall(request)
            answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1, (request, answer)
    assert metric(service, "requests_malformed_total") == len(malformed)
    # Further ones of the same minute are only counted.
    wait_until(lambda: "Request count=1 route=malformed status=400" in service.program.err, "the line")
    assert service.program.err.count("route=malformed") == 1
    assert "secret-word" not in service.program.err
    # HTTP/1.0 needs no host.
    with connect(service) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert whole(connection).startswith(b"HTTP/1.1 200 ")
    assert metric(service, "requests_malformed_total") == len(malformed)


def test_a_client_that_reads_no_answers_is_cut_off(key_service):
    host, port = key_service.listen.split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect((host, int(port)))
        connection.setblocking(False)

        def is_cut():
            try:
                connection.send(REQUEST.replace(b"healthz", b"unknown") * 4)
            except BlockingIOError:
                pass
            except ConnectionError:
                return True
            return False

        wait_until(is_cut, "the server to close the connection", timeout=90)
    assert requests.get(f"{key_service.url}/healthz", timeout=10).status_code == 200


def test_head_has_no_body(key_service):
    with connect(key_service) as connection:
        for path in (b"/keyservice/v1/key", b"/unknown", b"/healthz"):
            connection.sendall(b"HEAD " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.sendall(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answers = rest(connection)
    assert answers.count(b"HTTP/1.1 ") == 4 and answers.count(b"{") == 1, answers
