"""Measures logins with protocol version 2 against those with version 1, at the same key service."""

import asyncio
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from key_service_load import Service
from measuring import in_turn, report, run, spread

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "EndToEnd"))
from support.recorder import Recorder, Reply

PASSWORD = "seven otters juggle"
ROUND_TRIP = 0.050  # seconds


class FarAway:
    """Passes all bytes on, in each direction after half of a round trip. A connection itself is made at once."""

    def __init__(self, port, target):
        self.port, self.target = port, target
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self._run(asyncio.start_server(self._accept, "127.0.0.1", port))

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def _accept(self, reader, writer):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(
            self._pass(reader, server_writer), self._pass(server_reader, writer), return_exceptions=True)

    async def _pass(self, reader, writer):
        while data := await reader.read(65536):
            # Later bytes need not wait for earlier ones.
            self.loop.call_later(ROUND_TRIP / 2, writer.write, data)
        self.loop.call_later(ROUND_TRIP / 2, writer.close)


def until_printed(command, environment):
    """Runs a command, and returns the seconds until its first line."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    line = process.stdout.readline()
    seconds = time.perf_counter() - begin
    process.stdout.read()
    if process.wait() != 0 or not line:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return seconds


def accounts(options, folder, environment, register, service):
    """Registers an account with each version. Returns the environments, and the port that both use as the service's."""
    password = folder / "oprf-password"
    password.write_text(PASSWORD)
    hiding = Recorder(service.base, lambda request, send: (
        Reply(404, b'{"error":"no_such_path"}') if "/keyservice/v2" in request.path else send(request)))
    environments = []
    for version in (1, 2):
        environments.append(dict(
            environment, CREDENTIAL_VAULT_HOME=str(folder / f"version-{version}"), CREDENTIAL_VAULT_KEY_SERVICE=hiding.url,
            CREDENTIAL_VAULT_KEY_SERVICE_PROTOCOL=str(version)))
        register(options.programs, environments[-1], "alice", password)
        (way,) = json.loads(subprocess.check_output(
            [options.programs / "vault", "unlock", "list", "--json"], env=environments[-1]))
        assert way["key_service_protocol"] == version
        # The command asks at a login, and then not again for a day.
        run([options.programs / "vault", "login", "--password-file", password], environments[-1])
        hiding.change = None
    hiding.kill()
    return environments, int(hiding.url.rsplit(":", 1)[1]), password


def measure(options, folder, environment, register):
    """`register(programs, environment, user, password file)` registers an account."""
    service = Service(options.programs / "vault-key-service", folder / "oprf-login")
    try:
        (first, second), port, password = accounts(options, folder, environment, register, service)
        vault = options.programs / "vault"
        login = [vault, "login", "--password-file", password]
        service.stop()
        service.start(f"127.0.0.1:{port}")
        old, new = in_turn(options.rounds, lambda: run(login, first), lambda: run(login, second))
        report("vault login, protocol 2 / protocol 1", statistics.median(new) / statistics.median(old), spread(new), 1.05,
               f"{statistics.median(new) * 1000:.1f} ms against {statistics.median(old) * 1000:.1f} ms ({spread(old)})")
        service.stop()
        service.start()
        FarAway(port, int(service.base.rsplit(":", 1)[1]))
        token = [vault, "token", "--refresh", "--password-file", password]
        times = [[], []]
        in_turn(options.rounds, lambda: times[0].append(until_printed(token, first)),
                lambda: times[1].append(until_printed(token, second)))
        old, new = (values[1:] for values in times)
        trips = (statistics.median(new) - statistics.median(old)) / ROUND_TRIP
        report("round trips of 50 ms that protocol 2 adds before the token is printed", trips, spread(new), 1,
               f"{statistics.median(new) * 1000:.1f} ms against {statistics.median(old) * 1000:.1f} ms ({spread(old)})")
    finally:
        service.stop()
