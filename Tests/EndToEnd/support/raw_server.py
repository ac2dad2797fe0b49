"""Servers that answer with any bytes, and servers with certificates. They listen on loopback only, and end by themselves."""

import json
import socket
import ssl
import threading


class RawServer:
    """Answers every request with `answer`: bytes, or a function of the request's head, and closes the connection."""

    def __init__(self, answer, context=None, port=0):
        self.answer = answer
        self.context = context
        self.requests = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        try:
            with connection:
                connection.settimeout(30)
                if self.context:
                    connection = self.context.wrap_socket(connection, server_side=True)
                head = b""
                while b"\r\n\r\n" not in head:
                    part = connection.recv(65536)
                    if not part:
                        return
                    head += part
                self.requests.append(head)
                connection.sendall(self.answer(head) if callable(self.answer) else self.answer)
                if self.context:
                    connection.unwrap()
                else:
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        except OSError:
            pass

    def kill(self):
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.listener.close()


def json_answer(value, status="200 OK"):
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def tls(certificate, key, version=None):
    """A server's TLS context, for one version only if `version` is given. OpenSSL offers old versions only at security
    level 0."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if version:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    return context
