#!/usr/bin/python3
"""Types what the documents tell a new user or operator, from the package to the first token: first_token.py NAME

NAME is a key of WALKS below. Each command must show what a person expects. The last line has the number of commands and
the seconds. The person answers at once, so only the machine takes time.
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
SETUP = f"""Identity provider (its issuer URL):
{issuer} answers:
…
Client id (empty: vault registers a client):
Key service (its URL, or none):
{keys} answers.
Saved the settings """
REGISTERED = """
Continue in the browser. (It did not open? Stop with Ctrl-C and use --no-browser.)
Signed in as Alice Example <alice@example.com>.
New password (at least 8 characters):
This password is hard to guess.
The same again:
Registered …"""
NEXT = "\nNext: vault token --user …"
TOKEN = ("vault token", "…")
SETTINGS = "/etc/vault-key-service"
WALKS = {
    "a person with a key service": [
        INSTALL,
        ("vault setup", f"{SETUP}issuer, client-id and key-service.\nRegister an account now? [y/N]{REGISTERED}{NEXT}"),
        TOKEN,
    ],
    "a person with the settings of an organisation": [
        INSTALL,
        ("vault setup --from vault.json", f"""vault.json has these settings:
  issuer                 {issuer}
  client-id              {client}
  key-service            {keys}
Fingerprint of the key that signed them: …
If both are the same, type yes:
Saved the settings issuer, client-id, key-service…settings-key…
Register an account now? [y/N]{REGISTERED}{NEXT}"""),
        TOKEN,
    ],
    "a person without a key service": [
        INSTALL,
        (f"vault register {issuer} --client-id {client} --no-key-service --password-only",
         f"""Guesses are not counted by a service. …
Saved the settings issuer and client-id.{REGISTERED}
Guesses are not counted by a service. To move to a key service later: vault key-services set URL{NEXT}"""),
        TOKEN,
    ],
    # With TLS and a backup each night. The operator has written the settings and the lines for the unit.
    "an operator": [
        ("sudo apt install ./credential-vault-key-service_*_amd64.deb", "…Setting up credential-vault-key-service …"),
        (f"sudo vault-key-service make-master-key {SETTINGS}/master.key", "Made the master key …"),
        ("sudo vault-key-service-operate init", "Made /var/lib/private/vault-key-service with the master key …"),
        ("(umask 077; sudo vault-key-service-operate audit init --verification-key - > ~/audit.key)", ""),
        (f"sudo install -m 600 tls.key {SETTINGS}/", ""),
        (f"sudo install -m 644 tls.pem vault-key-service.json {SETTINGS}/", ""),
        ("sudo install -D -m 644 tls.conf /etc/systemd/system/vault-key-service.service.d/tls.conf", ""),
        ("sudo systemctl daemon-reload", ""),
        ("sudo systemctl enable --now vault-key-service vault-key-service-backup.timer", "Created symlink …"),
        ("sudo systemctl start vault-key-service-backup", ""),
        ("sudo ls /var/lib/vault-key-service-backup", "keys-….sqlite"),
        ("curl -sS --cacert tls.pem https://keys.example.com:8787/readyz", '{"status":"ready"}'),
    ],
    "the first person of that operator": [
        INSTALL,
        ("vault setup --ca-file tls.pem",
         f"{SETUP}issuer, client-id, key-service and ca-file.\nRegister an account now? [y/N]{REGISTERED}{NEXT}"),
        TOKEN,
    ],
}

name, shown = sys.argv[1], ""
terminal, started = shell.Shell(dict(os.environ), Path.home()), time.monotonic()
for command, expected in WALKS[name]:
    shown = terminal.run(command)
    # A token is alone on its line.
    fit = re.fullmatch(r"[\w.-]{40,}\s*", shown) if (command, expected) == TOKEN else fits(shown, expected)
    if not fit:
        sys.exit(f"{name}: {command}\n--- expected:\n{expected}\n--- it showed:\n{shown}")
print(f"Measured: {name}: {len(WALKS[name])} commands, {time.monotonic() - started:.1f} s")
terminal.kill()
