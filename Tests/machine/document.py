#!/usr/bin/python3
"""Types the commands of a document on the booted machine, and compares their output: document.py DOCUMENT

All blocks of the document run here, because a block that needs root or systemd uses what the blocks before it made.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, "/project/Tests/EndToEnd")
from support.document_session import differences  # noqa: E402
from support.documents import blocks  # noqa: E402
from support.shell import Shell  # noqa: E402

document, home = Path("/project", sys.argv[1]), Path.home()
key_service = os.environ["CREDENTIAL_VAULT_KEY_SERVICE"]
with urllib.request.urlopen(f"{key_service}/keyservice/v2") as answer:
    identity_key = json.load(answer)["identity"]["key"]
# The services of vault-dev stand in for the services that the documents name.
stand_ins = [
    ("https://login.example.com", os.environ["CREDENTIAL_VAULT_ISSUER"]), ("https://keys.example.com", key_service),
    ("F0VTtFbd38aQjsqxwQH-arIeK6oGF3lbfUOmNIKZP9U", identity_key)]
environment = os.environ | {"LC_ALL": "C.UTF-8", "TZ": "UTC"}
found = differences(blocks(document), lambda: Shell(environment, home), home, stand_ins)
sys.exit("\n".join(found) or None)
