#!/usr/bin/python3
"""Types what the documents tell a new user, from the package to the first token: first_token.py NAME

NAME is a walk of this file. Each command must show what a person expects. The last line has the number of commands and
the seconds. The person answers at once, so these are the seconds of the machine.
"""

import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, "/project/Tests/EndToEnd")
from support import shell  # noqa: E402
from support.documents import fits  # noqa: E402

# A new user has no variables of the services, and types the addresses.
issuer, client, keys = (
    os.environ.pop(f"CREDENTIAL_VAULT_{name}") for name in ("ISSUER", "CLIENT_ID", "KEY_SERVICE"))
shell.ANSWERS += [
    (r"^Identity provider[^\n]*: $", issuer), (r"^Client id[^\n]*: $", client), (r"^Key service[^\n]*: $", keys),
    (r"type yes: $", "yes"),
]

INSTALL = ("sudo apt install ./credential-vault_*_amd64.deb", "…Setting up credential-vault (…")
REGISTERED = """
Continue in the browser. (It did not open? Stop with Ctrl-C and use --no-browser.)
Signed in as Alice Example <alice@example.com>.
New password (at least 8 characters):
This password is hard to guess.
The same again:
Registered …"""
WALKS = {
    "with a key service": ("vault setup", f"""Identity provider (its issuer URL):
{issuer} answers:
…
Client id (empty: vault registers a client):
Key service (its URL, or none):
{keys} answers.
Saved the settings issuer, client-id and key-service.
Register an account now? [y/N]{REGISTERED}
Next: vault token --user …"""),
    "with the settings of an organisation": ("vault setup --from vault.json", f"""vault.json has these settings:
  issuer                 {issuer}
  client-id              {client}
  key-service            {keys}
Fingerprint of the key that signed them: …
If both are the same, type yes:
Saved the settings issuer, client-id, key-service…settings-key…
Register an account now? [y/N]{REGISTERED}
Next: vault token --user …"""),
    "without a key service": (
        f"vault register {issuer} --client-id {client} --no-key-service --password-only",
        f"""Guesses are not counted by a service. …
Saved the settings issuer and client-id.{REGISTERED}
Guesses are not counted by a service. To move to a key service later: vault key-services set URL
Next: vault token --user …"""),
}

name = sys.argv[1]
terminal, started = shell.Shell(dict(os.environ), Path.home()), time.monotonic()
for command, expected in (INSTALL, WALKS[name]):
    shown = terminal.run(command)
    if not fits(shown, expected):
        sys.exit(f"{name}: {command}\n--- expected:\n{expected}\n--- it showed:\n{shown}")
token = terminal.run("vault token")
if not re.fullmatch(r"[\w.-]{40,}\s*", token):
    sys.exit(f"{name}: no token: {token}")
print(f"Measured: the first token {name}: 3 commands, {time.monotonic() - started:.1f} s")
terminal.kill()
