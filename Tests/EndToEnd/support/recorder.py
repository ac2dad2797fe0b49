"""A proxy before the key service. It records the traffic, so that a test knows which secrets to look for elsewhere."""

import http.server
import json
import threading

import requests


class Recorder:
    def __init__(self, target):
        self.target = target
        self.bodies = []  # of requests
        self.sent, self.keys, self.long_secrets = [], [], []
        self.count = 0
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                recorder.request(body)
                headers = {"Content-Type": self.headers["Content-Type"]}
                recorder.answer(self, requests.post(target + self.path, data=body, headers=headers, timeout=60))

            def do_GET(self):
                recorder.answer(self, requests.get(target + self.path, timeout=60))

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def request(self, body):
        secret = json.loads(body).get("secret")
        if secret is not None:  # without a secret, the request only asks whether the service runs
            self.count += 1
            self.sent.append(secret)
        self.bodies.append(body)

    def answer(self, handler, answer):
        if answer.status_code == 200 and "key" in answer.json():
            self.keys.append(answer.json()["key"])
            self.long_secrets.append(answer.json()["longsecret"])
        handler.send_response(answer.status_code)
        handler.send_header("Content-Type", answer.headers["Content-Type"])
        handler.send_header("Content-Length", str(len(answer.content)))
        handler.end_headers()
        handler.wfile.write(answer.content)

    @property
    def secrets(self):
        return set(self.sent) | set(self.keys) | set(self.long_secrets)

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
