"""Glewlwyd, an OpenID provider from Debian. All its instances rotate refresh tokens and detect their reuse."""

import gzip
import shutil
import socket
import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .programs import Program
from .waiting import wait_until

CLIENT = "vault-cli"
USER = "alice"
LOGIN_PASSWORD = "correct horse alice"

# The settings of every instance. The first instance, "oidc", has no others.
PLUGIN = {
    "jwt-type": "ecdsa", "jwt-key-size": "256",
    "access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 60,
    "refresh-token-rolling": True, "refresh-token-one-use": "always",
    "allow-non-oidc": True, "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True,
    "auth-type-token-enabled": False, "auth-type-id-token-enabled": True, "auth-type-none-enabled": True,
    "auth-type-password-enabled": False, "auth-type-client-enabled": False,
    "auth-type-device-enabled": False, "auth-type-refresh-enabled": True,
    "jwks-show": True, "subject-type": "public", "name-claim": "mandatory", "email-claim": "mandatory",
    "scope-claim": "no", "allowed-scope": ["openid", "profile", "email", "offline_access"],
    "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": False,
    "pkce-required-public-client": True,
    "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
    "introspection-revocation-auth-scope": [],
    "session-management-allowed": False, "front-channel-logout-allowed": False,
    "back-channel-logout-allowed": False, "register-client-allowed": False,
}

# The instance "modern" also has device codes, open registration, pushed authorization requests, DPoP, and revocation.
# To revoke, a public client needs an access token with the scope offline_access.
MODERN = {
    "auth-type-device-enabled": True, "device-authorization-expiration": 600, "device-authorization-interval": 1,
    "register-client-allowed": True, "register-client-auth-scope": [], "register-client-credentials-scope": [],
    "register-client-management-allowed": True,
    "oauth-par-allowed": True, "oauth-par-required": False, "oauth-par-duration": 90,
    "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
    # A proof may come from the future. Glewlwyd reads a coarse clock, on which every new second begins a little later.
    "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 5,
    "introspection-revocation-auth-scope": ["offline_access"],
}

# The instance "strict" has all that, too. It demands pushed authorization requests. It also demands a nonce in DPoP
# proofs, and each nonce is valid for five proofs.
STRICT = {"oauth-par-required": True, "oauth-dpop-nonce-mandatory": True, "oauth-dpop-nonce-counter": 5}

CONFIGURATION = """
port={port}
bind_address="127.0.0.1"
external_url="{base}"
login_url="login.html"
api_prefix="api"
static_files_path="{folder}/webapp/"
log_mode="file"
log_level="INFO"
log_file="{folder}/glewlwyd.log"
cookie_secure=0
cookie_same_site="empty"
session_expiration=2419200
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
use_secure_connection=false
# Needed also without TLS.
secure_connection_key_file="/nonexistent"
secure_connection_pem_file="/nonexistent"
secure_connection_ca_file="/nonexistent"
hash_algorithm="SHA512"
database = {{ type = "sqlite3"; path = "{folder}/glewlwyd.db"; }};
static_files_mime_types = (
 {{ extension=".html"; mime_type="text/html" }}, {{ extension=".css"; mime_type="text/css" }},
 {{ extension=".js"; mime_type="application/javascript" }}, {{ extension=".json"; mime_type="application/json" }},
 {{ extension=".png"; mime_type="image/png" }}, {{ extension=".woff2"; mime_type="font/woff2" }},
 {{ extension=".woff"; mime_type="font/woff" }}, {{ extension=".ttf"; mime_type="font/ttf" }},
 {{ extension=".ico"; mime_type="image/x-icon" }}
)
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Glewlwyd:
    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.issuer = f"{self.base}/api/oidc"
        self.modern = f"{self.base}/api/modern"
        self.strict = f"{self.base}/api/strict"
        # Glewlwyd compares redirect URIs exactly, so the client's setup needs the port of the callback.
        self.redirect_uri = f"http://127.0.0.1:{free_port()}/callback"
        folder.mkdir()
        self._make_database()
        self._copy_web_application()
        configuration = folder / "glewlwyd.conf"
        configuration.write_text(CONFIGURATION.format(port=self.port, base=self.base, folder=folder))
        self.program = Program(["glewlwyd", f"--config-file={configuration}"], folder)
        try:
            wait_until(self._answers, "Glewlwyd to answer")
            self._set_up()
        except BaseException:
            self.kill()
            raise

    def _make_database(self):
        database = sqlite3.connect(self.folder / "glewlwyd.db")
        with gzip.open("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz", "rt") as script:
            database.executescript(script.read())
        database.close()

    def _copy_web_application(self):
        """Debian's folder is full of links that lead outside, and Glewlwyd does not follow these."""
        target = self.folder / "webapp"
        shutil.copytree("/usr/share/glewlwyd/webapp", target)
        shutil.rmtree(target / "config.json", ignore_errors=True)
        (target / "config.json").unlink(missing_ok=True)
        (source,) = Path("/etc/glewlwyd").glob("config-*.json/config.json")
        shutil.copy(source, target / "config.json")

    def _answers(self):
        assert self.program.process.poll() is None, self.program.out + self.program.err
        try:
            return requests.get(f"{self.base}/config", timeout=5).ok
        except requests.ConnectionError:
            return False

    def _set_up(self):
        session = requests.Session()

        def post(path, content):
            self._call(session.post, path, content)

        post("auth/", {"username": "admin", "password": "password"})
        for name, more in (("oidc", {}), ("modern", MODERN), ("strict", MODERN | STRICT)):
            private, public = signing_key(short=name == "oidc")
            parameters = {"iss": f"{self.base}/api/{name}", "key": private, "cert": public} | PLUGIN | more
            post("mod/plugin/", {
                "module": "oidc", "name": name, "display_name": name, "enabled": True, "parameters": parameters})
        for scope in ("profile", "email", "offline_access"):
            post("scope/", {"name": scope, "display_name": scope, "description": scope, "password_required": False})
        post("user/", {
            "username": USER, "name": "Alice", "email": "alice@example.test", "password": LOGIN_PASSWORD,
            "enabled": True, "scope": ["g_profile", "openid", "profile", "email", "offline_access"]})
        post("client/", {
            "client_id": CLIENT, "name": "Vault", "confidential": False, "enabled": True, "scope": [],
            "authorization_type": ["code", "refresh_token", "delete_token", "device_authorization"],
            "redirect_uri": [self.redirect_uri], "token_endpoint_auth_method": ["none"]})

    def visit(self, url):
        """Opens an address that `vault` shows, as a person does: logs in, agrees, and follows the redirect. Returns the
        last page, from the command or from the provider."""
        session = self._agreeing_session(url)
        return session.get(f"{url}&g_continue", timeout=60)

    def callback(self, url):
        """Does the same as `visit`, but only returns the app's address in the redirect, or None."""
        session = self._agreeing_session(url)
        location = session.get(f"{url}&g_continue", allow_redirects=False, timeout=10).headers.get("Location", "")
        return location if location.startswith(self.redirect_uri) else None

    def _agreeing_session(self, url):
        session = requests.Session()
        query = parse_qs(urlsplit(url).query)
        session.get(url, allow_redirects=False, timeout=10)
        self._call(session.post, "auth/", {"username": USER, "password": LOGIN_PASSWORD})
        if "client_id" in query:
            scope = query.get("scope", ["openid profile email offline_access"])[0]
            self._call(session.put, f"auth/grant/{query['client_id'][0]}", {"scope": scope})
        return session

    def _call(self, method, path, content):
        answer = method(f"{self.base}/api/{path}", json=content, timeout=10)
        assert answer.status_code == 200, (path, answer.status_code, answer.text)

    def kill(self):
        self.program.kill()


def signing_key(short):
    """A P-256 key pair as PEM. In one of 128, a coordinate begins with a zero byte, which Glewlwyd leaves out of the key
    that it publishes. `short` says whether this pair is such a one."""
    while True:
        private = ec.generate_private_key(ec.SECP256R1())
        point = private.public_key().public_numbers()
        if (min(point.x, point.y) < 1 << 248) == short:
            break
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()).decode(), public.decode()
