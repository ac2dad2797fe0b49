"""A proxy before the key service. It records the traffic, so that a test knows which secrets to look for elsewhere."""

import http.server
import json
import threading

import requests


class Recorder:
    def __init__(self, target):
        self.target = target
        self.bodies = []  # of requests
        self.calls = []  # the last part of each path
        self.request_keys = []
        self.access_tokens = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                recorder.request(self.path, body)
                recorder.authorization(self.headers.get("Authorization", ""))
                names = [name for name in ("Content-Type", "Authorization") if name in self.headers]
                headers = {name: self.headers[name] for name in names}
                recorder.answer(self, requests.post(target + self.path, data=body, headers=headers, timeout=60))

            def do_GET(self):
                recorder.authorization(self.headers.get("Authorization", ""))
                recorder.answer(self, requests.get(target + self.path, timeout=60))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def request(self, path, body):
        self.calls.append(path.rsplit("/", 1)[1])
        key = json.loads(body).get("request_key")
        if key is not None:
            self.request_keys.append(key)
        self.bodies.append(body)

    def authorization(self, value):
        if value.lower().startswith(("bearer", "dpop")):
            self.access_tokens.append(value.split(" ", 1)[1])

    def answer(self, handler, answer):
        handler.send_response(answer.status_code)
        handler.send_header("Content-Type", answer.headers["Content-Type"])
        handler.send_header("Content-Length", str(len(answer.content)))
        handler.end_headers()
        handler.wfile.write(answer.content)

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
