"""The pages of `vault-dev`, opened by hand for redirects without a listener on this machine."""

import re
from html import unescape
from urllib.parse import urljoin

import requests


def api_token_of(person, user="alice"):
    """Logs in at the page of the person's server for API tokens, and returns the new token."""
    url = f"{person.settings['CREDENTIAL_VAULT_ISSUER']}/profile/tokens"
    session = requests.Session()
    page = session.get(url, timeout=30).text
    request = unescape(re.search(r'name="request" value="([^"]*)"', page)[1])
    action = unescape(re.search(r'<form[^>]*action="([^"]*)"', page)[1])
    typed = {"request": request, "username": user, "password": f"{user}-password", "action": "login"}
    answer = session.post(urljoin(url, action), data=typed, timeout=30)
    assert answer.status_code == 200, answer.text
    return re.search(r'<p class="lead">([^<]+)</p>', answer.text)[1]


def redirect_of(url, user="alice", deny=False):
    """Logs in (or denies) at an authorization URL, and returns the last address."""
    session = requests.Session()
    answer = session.get(url, timeout=30, allow_redirects=False)
    for _ in range(5):
        if answer.is_redirect:
            target = urljoin(answer.url, answer.headers["Location"])
            if not target.startswith(re.match(r"\w+://[^/]+/", url)[0]):
                return target
            answer = session.get(target, timeout=30, allow_redirects=False)
            continue
        assert answer.status_code == 200, (answer.status_code, answer.text)
        form = re.search(r"<form.*?</form>", answer.text, re.S)[0]
        hidden = {}
        for field in re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", form):
            hidden[re.search(r'name="([^"]*)"', field)[1]] = unescape(re.search(r'value="([^"]*)"', field)[1])
        action = re.search(r'<form[^>]*action="([^"]*)"', form)
        typed = {"action": "deny"} if deny else {"username": user, "password": f"{user}-password", "action": "login"}
        answer = session.post(
            urljoin(answer.url, unescape(action[1]) if action else ""), data=hidden | typed, timeout=30,
            allow_redirects=False)
    raise AssertionError("the login does not end")
