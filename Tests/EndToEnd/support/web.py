"""A web server on loopback that demands a password or a token, and records both."""

import base64
import http.server
import threading


class Web:
    """Answers requests that have any `Authorization` with `pages` by path, and other requests with 401."""

    def __init__(self, pages=None, context=None):
        self.pages = pages or {}
        self.authorizations = []  # one per request; None without the header
        self.paths = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                web.paths.append(self.path)
                web.authorizations.append(self.headers["Authorization"])
                content = web.pages.get(self.path.split("?")[0])
                if self.headers["Authorization"] is None:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="test"')
                    content = b""
                else:
                    self.send_response(404 if content is None else 200)
                self.send_header("Content-Type", "application/json" if (content or b"").startswith(b"{") else "text/plain")
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.authority = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http{'s' if context else ''}://{self.authority}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def passwords(self):
        """Returns the user name and password of each request that had them."""
        basic = [value[6:] for value in self.authorizations if value and value.startswith("Basic ")]
        return [tuple(base64.b64decode(value).decode().split(":", 1)) for value in basic]

    @property
    def tokens(self):
        """Returns the token of each request that had one."""
        return [value[7:] for value in self.authorizations if value and value.startswith("Bearer ")]

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
