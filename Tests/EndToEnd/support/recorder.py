"""A proxy before the key service. It records the traffic, and can change it."""

import http.server
import json
import threading
from dataclasses import dataclass, field

import requests


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict
    body: bytes

    @property
    def call(self):
        """The last part of the path."""
        return self.path.rsplit("/", 1)[1]

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Reply:
    status: int
    body: bytes
    headers: dict = field(default_factory=lambda: {"Content-Type": "application/json"})

    @property
    def json(self):
        return json.loads(self.body)

    def changed(self, **members):
        """The same answer with other members."""
        return Reply(self.status, json.dumps({**self.json, **members}).encode(), self.headers)

    def signed(self, key, request):
        """The same answer with a right MAC: somebody who knows the request key makes it."""
        field = key.answer_field(self.body, request.headers["Authorization"])
        return Reply(self.status, self.body, {**self.headers, "Authentication-Info": field})


class Recorder:
    """`change` gets each request and a function that sends a request to the service. It returns the answer for the
    client, or None: then the connection ends without an answer."""

    def __init__(self, target, change=None):
        self.target = target
        self.change = change
        self.requests = []  # POST only
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                names = [name for name in ("Content-Type", "Authorization", "DPoP") if name in self.headers]
                request = Request("POST", self.path, {name: self.headers[name] for name in names}, body)
                recorder.requests.append(request)
                recorder.answer(self, request)

            def do_GET(self):
                recorder.answer(self, Request("GET", self.path, {}, b""))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def bodies(self):
        return [request.body for request in self.requests]

    @property
    def calls(self):
        return [request.call for request in self.requests]

    @property
    def access_tokens(self):
        """The access tokens that clients sent to the service."""
        fields = [request.headers.get("Authorization", "") for request in self.requests]
        return [value.split(" ", 1)[1] for value in fields if value.lower().startswith(("bearer", "dpop"))]

    @property
    def request_keys(self):
        return [request.json["request_key"] for request in self.requests if "request_key" in request.json]

    def send(self, request):
        """Sends a request to the service, perhaps again."""
        answer = requests.request(
            request.method, self.target + request.path, data=request.body, headers=request.headers, timeout=60)
        names = [name for name in ("Content-Type", "WWW-Authenticate", "Retry-After", "Authentication-Info") if name in answer.headers]
        return Reply(answer.status_code, answer.content, {name: answer.headers[name] for name in names})

    def answer(self, handler, request):
        try:
            reply = self.change(request, self.send) if self.change else self.send(request)
        except requests.ConnectionError:
            reply = None
        if reply is None:
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
