"""django-oauth-toolkit, a provider that takes any port of a loopback redirect, names itself in the redirect, gives
opaque access tokens, and has endpoints that are only in `/.well-known/oauth-authorization-server`."""

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

    def visit(self, url, user=USER, deny=False, user_code=None):
        """Does what a person does at an address that `vault` shows: logs in, agrees, and goes where they are sent.
        Returns the page at the end of it: the command's own, or the provider's."""
        return self._browse(url, user, deny, user_code, follow=True)

    def callback(self, url, user=USER, deny=False):
        """As `visit`, but only returns the address of the app that the person is sent to."""
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
        """How many refresh tokens it would still take."""
        with sqlite3.connect(f"file:{self.folder}/provider.sqlite?mode=ro", uri=True) as database:
            rows = database.execute("SELECT count(*) FROM oauth2_provider_refreshtoken WHERE revoked IS NULL")
            return rows.fetchone()[0]

    def kill(self):
        self.program.kill()


def hidden_fields(page):
    """The fields of a form that are filled in already."""
    fields = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in fields if name not in ("allow", "action")}
