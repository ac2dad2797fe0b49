"""The log of vault-key-service: a reader that stops reading, and the level."""

import os
import re
import signal
import socket
import subprocess
import threading

import pytest
import requests
from support.programs import KEY_SERVICE, ROOT, clean_environment, run
from support.services import KeyService
from support.waiting import wait_until

HANDBOOK = ROOT / "Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceWatching.md"
# Their lines have much more bytes than the log keeps.
REQUESTS = 24_000


class Stalled:
    """A service whose standard error is a pipe that nobody reads at first."""

    def __init__(self, folder, *options):
        data = folder / "keys"
        assert run([KEY_SERVICE, "init", "--data", data]).status == 0
        self.reader, writer = os.pipe()
        self.text = b""
        self.process = subprocess.Popen(
            [KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--refusals-per-minute", "0",
             *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=writer, env=clean_environment(), start_new_session=True)
        os.close(writer)
        self.lines = iter(self.process.stdout.readline, b"")
        self.url = self.listening("Listening on ")

    def listening(self, start):
        return next(line for line in self.lines if line.startswith(start.encode())).decode().split()[-1]

    def fill(self):
        """Sends requests that leave a line each, until their answers have come."""
        host, port = self.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            batch = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" * 20
            for _ in range(REQUESTS // 20):
                connection.sendall(batch)
                answer = b""
                while answer.count(b"no_such_path") < 20:
                    more = connection.recv(65536)
                    assert more, answer
                    answer += more

    def read(self):
        """Reads the log from now on."""
        def work():
            while more := os.read(self.reader, 65536):
                self.text += more
        self.thread = threading.Thread(target=work)
        self.thread.start()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def stalled(tmp_path, children):
    def start(*options):
        service = Stalled(tmp_path, *options)
        children.append(service)
        return service
    return start


def test_nobody_waits_for_a_reader_that_stopped(stalled):
    service = stalled()
    service.fill()
    assert requests.get(f"{service.url}/readyz", timeout=10).status_code == 200
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(15) == 0


def test_dropped_lines_are_counted_and_warnings_are_kept(stalled, tmp_path):
    config = tmp_path / "settings.json"
    config.write_text("{}")
    service = stalled("--config", config, "--health-listen", "127.0.0.1:0")
    service.fill()
    config.write_text("{")
    service.process.send_signal(signal.SIGHUP)
    config_is_read = re.compile(rb"error vault-key-service: .*settings\.json.*Not reloaded")
    # The metrics come from the service's own counter.
    service.read()
    wait_until(lambda: b"log lines were dropped" in service.text, "the line about dropped lines")
    wait_until(lambda: config_is_read.search(service.text), "the error")
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(15) == 0
    service.thread.join()
    dropped = sum(int(number) for number in re.findall(rb"(\d+) log lines were dropped", service.text))
    assert dropped > 0 and dropped + service.text.count(b"status=404") == REQUESTS
    assert all(line.endswith(b"\n") for line in service.text.splitlines(keepends=True))


def test_the_level_changes_while_it_runs(tmp_path, children):
    config = tmp_path / "settings.json"
    config.write_text('{"logLevel": "info"}')
    service = KeyService(tmp_path, "--config", config)
    children.append(service)

    def logged(path):
        """Whether a request leaves a line."""
        before = service.program.err.count("status=404")
        assert requests.get(f"{service.url}/{path}", timeout=10).status_code == 404
        # A warning is written at once, after all lines before it.
        errors = service.program.err.count("Not reloaded")
        kept = config.read_text()
        config.write_text("{")
        service.program.signal(signal.SIGHUP)
        wait_until(lambda: service.program.err.count("Not reloaded") > errors, "the error")
        config.write_text(kept)
        return service.program.err.count("status=404") > before

    assert logged("nothing")
    service.program.signal(signal.SIGUSR2)
    wait_until(lambda: "The log level is now notice" in service.program.err, "the level")
    assert not logged("nothing")
    service.program.signal(signal.SIGUSR1)
    wait_until(lambda: "The log level is now info" in service.program.err, "the level")
    assert logged("nothing")
    config.write_text('{"logLevel": "notice"}')
    service.program.signal(signal.SIGHUP)
    wait_until(lambda: "Reloaded logLevel=notice" in service.program.err, "the level")
    assert not logged("nothing")


def named_lines():
    """The patterns of the lines that the handbook names."""
    table = re.search(r"^\| Log line \|(.*?)\n\n", HANDBOOK.read_text(), re.M | re.S)[1]
    names = [name for cell in re.findall(r"^\| (`.*?`) \| ", table, re.M) for name in re.findall("`(.*?)`", cell)]
    return [re.compile(".*".join(map(re.escape, name.split("…")))) for name in names]


def test_the_handbook_names_each_line_of_a_start_a_stop_and_a_crash(tmp_path, children):
    log, key = tmp_path / "audit.log", tmp_path / "audit.key"
    assert run([KEY_SERVICE, "audit", "init", "--audit-log", log, "--verification-key", key]).status == 0
    service = KeyService(tmp_path, "--audit-log", log, "--health-listen", "127.0.0.1:0")
    children.append(service)
    programs = [service.program]
    secret = {"secret": "1234"}
    assert requests.post(f"{service.url}/keyservice/v1/createkey", json=secret, timeout=30).status_code == 200
    assert requests.get(f"{service.url}/nothing", timeout=10).status_code == 404
    service.kill()
    service.start()
    programs.append(service.program)
    for number in (signal.SIGHUP, signal.SIGUSR1):
        service.program.signal(number)
    wait_until(lambda: "The log level is now" in service.program.err, "the level")
    service.program.signal(signal.SIGTERM)
    assert service.program.wait().status == 0
    lines = [line for program in programs for line in (program.out + program.err).splitlines()]
    assert any("Stopped" in line for line in lines) and sum("Audit anchor" in line for line in lines) >= 2
    names = named_lines()
    assert not [line for line in lines if not any(name.search(line) for name in names)]
