"""A proxy that breaks connections as networks do. It listens on this machine only, and ends by itself."""

import asyncio
import socket
import struct
import threading
from dataclasses import dataclass

NEVER = 3600  # seconds; longer than any test


@dataclass(frozen=True)
class Fault:
    """A fault of a connection:

    - `reset`: the proxy accepts the connection and resets it,
    - `hang`: the proxy passes nothing on and never answers,
    - `delay`: all data, in both directions, arrives `amount` seconds later,
    - `slow`: the answer comes at `amount` bytes a second,
    - `cut-request`: only `amount` bytes of the request arrive before the connection ends,
    - `cut-answer`: only `amount` bytes of the answer arrive before the connection ends,
    - `swallow`: the server answers the request, but the connection ends before the answer is passed on,
    - `garble`: every byte of the answer is changed,
    - `garble-body`: every byte of the answer's body is changed.
    """

    kind: str
    amount: float = 0
    request: bytes = b""  # begins with the request that contains this, or with the connection if this is empty
    once: bool = False  # happens only once


class FaultProxy:
    """A proxy before a server on loopback, whose port is `target`. Without a fault it passes everything on.

    `host` is an address of this machine."""

    def __init__(self, host="127.0.0.1"):
        self.host = host
        # Keeps the port while nobody listens there. Connections are refused then.
        self.reservation = socket.socket()
        self.reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.reservation.bind((host, 0))
        self.port = self.reservation.getsockname()[1]
        self.address = f"{host}:{self.port}"
        self.target = None
        self.fault = None
        self.hits = 0  # how often the fault happened
        self.sent = []  # the bytes received from each client
        self.listener = None
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._run(self._listen())

    def set(self, kind, amount=0, **options):
        """Starts a fault for new connections, and for new requests on old connections."""
        self.heal()
        self.hits = 0
        if kind == "refuse":
            self._run(self._close())
        else:
            self.fault = Fault(kind, amount, **options)

    def heal(self):
        self.fault = None
        if self.listener is None:
            self._run(self._listen())

    def kill(self):
        if self.loop.is_closed():
            return
        self._run(self._close())
        self._run(self._end_connections())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.reservation.close()

    def begin(self, data):
        """Returns the fault that begins with these bytes from a client, or None."""
        fault = self.fault
        if fault is None or fault.request not in data:
            return None
        self.hits += 1
        if fault.once:
            self.fault = None
        return fault

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def _listen(self):
        self.listener = await asyncio.start_server(self._accept, self.host, self.port, reuse_port=True, backlog=1024)

    async def _close(self):
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await Connection(self, reader, writer).run()
        finally:
            self.tasks.discard(task)

    async def _end_connections(self):
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Broken(Exception):
    """The connection ends here."""


class Connection:
    def __init__(self, proxy, reader, writer):
        self.proxy, self.client, self.to_client = proxy, reader, writer
        self.fault = None
        self.passed = 0  # bytes that were passed on since the fault began
        self.is_in_body = False
        self.sent = bytearray()
        proxy.sent.append(self.sent)

    async def run(self):
        to_server = None
        try:
            self._begin(b"")
            server, to_server = await asyncio.open_connection("127.0.0.1", self.proxy.target)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(self.client, to_server, self._request))
                group.create_task(self._pump(server, self.to_client, self._answer))
        except (ExceptionGroup, Broken, OSError):
            pass
        finally:
            for writer in (self.to_client, to_server):
                if writer is not None:
                    writer.close()

    def _begin(self, data):
        self.fault = self.proxy.begin(data)
        if self.fault and self.fault.kind == "reset":
            self._reset()

    @property
    def kind(self):
        return self.fault.kind if self.fault else None

    async def _pump(self, source, target, change):
        while data := await source.read(65536):
            async for part in change(data):
                target.write(part)
                await target.drain()
        if target.can_write_eof():
            target.write_eof()

    async def _request(self, data):
        self.sent += data
        self.is_in_body = False
        if self.fault is None:
            # A request's first line is never torn apart on loopback.
            self._begin(data)
        if self.kind == "hang":
            await asyncio.sleep(NEVER)
        elif self.kind == "delay":
            await asyncio.sleep(self.fault.amount)
        elif self.kind == "cut-request":
            async for part in self._cut(data):
                yield part
            return
        yield data

    async def _answer(self, data):
        if self.kind == "swallow":
            self._reset()
        elif self.kind == "delay":
            await asyncio.sleep(self.fault.amount)
        elif self.kind == "slow":
            step = max(1, int(self.fault.amount / 50))
            for start in range(0, len(data), step):
                yield data[start:start + step]
                await asyncio.sleep(step / self.fault.amount)
            return
        elif self.kind == "cut-answer":
            async for part in self._cut(data):
                yield part
            return
        elif self.kind == "garble":
            data = garbled(data)
        elif self.kind == "garble-body":
            head, end, body = (b"", b"", data) if self.is_in_body else data.partition(b"\r\n\r\n")
            self.is_in_body = self.is_in_body or end != b""
            data = head + end + garbled(body)
        yield data

    async def _cut(self, data):
        left = int(self.fault.amount) - self.passed
        self.passed += len(data)
        yield data[:left]
        if left < len(data):
            raise Broken

    def _reset(self):
        """Ends the connection so that the client gets an error instead of an ordinary end."""
        self.to_client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Broken


def garbled(data):
    return bytes(byte ^ 1 for byte in data)
