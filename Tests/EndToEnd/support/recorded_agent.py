"""The agent's socket, to record what a command and an agent say to each other, and to answer as a recorded agent."""

import os
import socket
import threading

FAILED = 64  # the kind of an answer that refuses, in all versions


def version(message):
    return message[4]


def kind(message):
    return message[5]


def receive(connection):
    """Returns the next message with its length; empty when the other side has closed the connection."""
    message = b""
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[:4]):
        part = connection.recv(65536)
        if not part:
            return b""
        message += part
    return message


def ask(path, request):
    """Sends a request to an agent, and returns the answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        connection.sendall(request)
        return receive(connection)


class Listener:
    """Answers each request at a path with `answer(request)`."""

    def __init__(self, path, answer):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        os.chmod(path, 0o600)
        self.socket.listen()
        self.answer = answer
        self.requests = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            while request := receive(connection):
                self.requests.append(request)
                connection.sendall(self.answer(request))

    def kill(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def recording(path, command):
    """Runs a command, and returns its first request to the agent at a path, with the answer."""
    real = path.with_name("real")
    path.rename(real)
    exchanges = []

    def answer(request):
        exchanges.append((request, ask(real, request)))
        return exchanges[-1][1]

    listener = Listener(path, answer)
    try:
        result = command()
        assert result.status == 0, result
    finally:
        listener.kill()
        path.unlink()
        real.rename(path)
    return exchanges[0]


class RecordedAgent(Listener):
    """An agent of a release. It answers requests of its version as recorded, and refuses those of another version."""

    def __init__(self, path, exchanges):
        self.exchanges = exchanges
        super().__init__(path, self._recorded)

    def _recorded(self, request):
        for recorded, answer in self.exchanges:
            if (version(recorded), kind(recorded)) == (version(request), kind(request)):
                return answer
        return next(answer for _, answer in self.exchanges if kind(answer) == FAILED)
