"""oidc-agent with an open account, to compare with vault. It has its own Glewlwyd as the provider."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from measuring import run

sys.path.append(str(Path(__file__).parents[1] / "EndToEnd"))

PASSWORD = "seven otters juggle"
CLIENT, SECRET = "oidc-agent", "s3cret"
SCOPE = "openid profile email offline_access"


class OIDCAgent:
    def __init__(self, folder):
        # These modules need packages that the other parts of the benchmark do not need.
        import requests
        from support.glewlwyd import Glewlwyd

        folder.mkdir()
        self.provider = Glewlwyd(folder / "glewlwyd")
        session = requests.Session()
        call = self.provider._call
        call(session.post, "auth/", {"username": "admin", "password": "password"})
        # oidc-agent does not accept public clients.
        call(session.post, "client/", {
            "client_id": CLIENT, "name": "oidc-agent", "confidential": True, "client_secret": SECRET, "enabled": True,
            "scope": [], "authorization_type": ["code", "refresh_token"], "redirect_uri": [self.provider.redirect_uri],
            "token_endpoint_auth_method": ["client_secret_post", "client_secret_basic"]})
        (folder / "home" / ".config" / "oidc-agent").mkdir(parents=True)
        (folder / "home" / "tmp").mkdir()
        self.password = folder / "password"
        self.password.write_text(PASSWORD)
        self.environment = dict(os.environ, HOME=str(folder / "home"), TMPDIR=str(folder / "home" / "tmp"))
        output = subprocess.check_output(["oidc-agent", "--no-autoload"], env=self.environment, text=True)
        self.environment |= dict(re.findall(r"^(\w+)=([^;]*);", output, re.M))
        subprocess.run(
            ["oidc-gen", "account", "--manual", f"--iss={self.provider.issuer}", f"--client-id={CLIENT}",
             f"--client-secret={SECRET}", "--redirect-uri=http://localhost:8765/callback", f"--scope={SCOPE}",
             f"--rt={self._refresh_token(requests)}", f"--pw-file={self.password}", "--confirm-yes", "--prompt=none",
             "--no-url-call", "--no-scheme"],
            env=self.environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.token()

    def _refresh_token(self, requests):
        address = f"{self.provider.issuer}/auth?" + urlencode({
            "response_type": "code", "client_id": CLIENT, "redirect_uri": self.provider.redirect_uri, "scope": SCOPE,
            "state": "s", "nonce": "n" * 16})
        code = parse_qs(urlsplit(self.provider.callback(address)).query)["code"][0]
        answer = requests.post(f"{self.provider.issuer}/token", timeout=10, data={
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.provider.redirect_uri,
            "client_id": CLIENT, "client_secret": SECRET})
        return answer.json()["refresh_token"]

    def token(self):
        run(["oidc-token", "account"], self.environment)

    def remove(self):
        run(["oidc-add", "-r", "account"], self.environment)

    def add(self):
        run(["oidc-add", f"--pw-file={self.password}", "account"], self.environment)

    def processes(self):
        first = self.environment["OIDCD_PID"]
        children = subprocess.run(["pgrep", "-P", first], capture_output=True, text=True).stdout.split()
        return [first, *children]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["kill", self.environment["OIDCD_PID"]])
        self.provider.kill()
