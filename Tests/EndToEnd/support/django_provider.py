"""django-oauth-toolkit as a provider. It accepts any port of a loopback redirect and puts its name into the redirect.
Its access tokens are opaque. Some of its endpoints are only in `/.well-known/oauth-authorization-server`."""

import html
import re
import sqlite3
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests

from .django_server import USERS
from .programs import Program

CLIENT = "vault-cli"
DEVICE_CLIENT = "vault-device"
USER = "alice"


class DjangoProvider:
    def __init__(self, folder, *options):
        self.folder = folder
        folder.mkdir()
        server = Path(__file__).with_name("django_server.py")
        self.program = Program([sys.executable, server, folder, *options], folder)
        self.base = self.program.wait_for(re.compile(r"^Listening on (\S+)$", re.M))[1]
        self.port = urlsplit(self.base).port
        self.issuer = self.base

    # The client that may ask about access tokens.
    introspection_client = "key-service"
    introspection_secret = "secret of the key service"

    def visit(self, url, user=USER, deny=False, user_code=None):
        """Opens an address that `vault` shows, as a person does: logs in, agrees, and follows the redirect. Returns the
        last page, from the command or from the provider."""
        return self._browse(url, user, deny, user_code, follow=True)

    def callback(self, url, user=USER, deny=False):
        """Does the same as `visit`, but only returns the app's address in the redirect."""
        return self._browse(url, user, deny, None, follow=False).headers["Location"]

    def _browse(self, url, user, deny, user_code, follow):
        session = requests.Session()
        origin = urlsplit(url)[:2]
        page = session.get(url, allow_redirects=False, timeout=10)
        for _ in range(12):
            location = page.headers.get("Location")
            if location:
                location = urljoin(page.url, location)
                if urlsplit(location)[:2] != origin:
                    return session.get(location, timeout=60) if follow else page
                page = session.get(location, allow_redirects=False, timeout=10)
                continue
            form = hidden_fields(page.text)
            if "/login/" in page.url:
                form |= {"username": user, "password": USERS[user]}
            elif 'name="user_code"' in page.text:
                form["user_code"] = user_code
            elif 'name="action"' in page.text:
                form["action"] = "deny" if deny else "accept"
            elif 'name="allow"' in page.text:
                form |= {} if deny else {"allow": "Authorize"}
            else:
                return page
            page = session.post(page.url, data=form, headers={"Referer": page.url}, allow_redirects=False, timeout=10)
        raise AssertionError(f"no end at {page.url}: {page.text}")

    def live_refresh_tokens(self):
        """Counts the refresh tokens that it would still accept."""
        with sqlite3.connect(f"file:{self.folder}/provider.sqlite?mode=ro", uri=True) as database:
            rows = database.execute("SELECT count(*) FROM oauth2_provider_refreshtoken WHERE revoked IS NULL")
            return rows.fetchone()[0]

    def kill(self):
        self.program.kill()


def hidden_fields(page):
    """Returns the form's fields that already have a value."""
    fields = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in fields if name not in ("allow", "action")}
