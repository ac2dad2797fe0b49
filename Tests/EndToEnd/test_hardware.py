"""Opening an account with hardware: a TPM and a token, both made of software, behind the real interfaces."""

import os
import signal
import socket
import subprocess

import pytest
from support.person import PASSWORD
from support.waiting import wait_until

PIN, WRONG = "739146", "000000"


def neighbouring_ports():
    """Two free ports in a row: swtpm's clients expect its control channel behind its command channel."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


class SoftwareTPM:
    def __init__(self, folder):
        folder.mkdir()
        port = neighbouring_ports()
        self.address = f"swtpm:host=127.0.0.1,port={port}"
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}", "--server", f"type=tcp,port={port}",
             "--ctrl", f"type=tcp,port={port + 1}", "--flags", "not-need-init,startup-clear"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def answers():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port + 1)) == 0

        wait_until(answers, "swtpm")

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def tpm(tmp_path, children):
    children.append(tpm := SoftwareTPM(tmp_path / "tpm"))
    return tpm


@pytest.fixture
def token(tmp_path, monkeypatch):
    """The URI of a token, and the environment in which it is plugged in."""
    (tmp_path / "tokens").mkdir()
    settings = tmp_path / "softhsm2.conf"
    settings.write_text(f"directories.tokendir = {tmp_path / 'tokens'}\n")
    env = {"SOFTHSM2_CONF": str(settings)}
    subprocess.run(
        ["softhsm2-util", "--init-token", "--free", "--label", "mine", "--pin", PIN, "--so-pin", "12345678"],
        env=os.environ | env, check=True, capture_output=True)
    return "pkcs11:token=mine?module-path=/usr/lib/softhsm/libsofthsm2.so", env


def kinds(person):
    return sorted(way["kind"] for way in person.vault("unlock", "list", "--json").json)


def add(person, kind, address, *arguments, **options):
    pin = person.password_file(PIN, "hardware-pin")
    return person.vault(
        "unlock", "add", kind, "--which", address, "--new-pin-file", pin, *arguments, password=PASSWORD, **options)


def test_a_tpm_opens_the_account(alice, tpm):
    added = add(alice, "tpm2", tpm.address, "--label", "this machine")
    assert (added.status, added.out) == (0, "this machine opens alice from now on.\n"), added
    opened = alice.vault("login", "--tpm2", tpm.address, password=PIN)
    assert opened.status == 0 and opened.out.startswith("Signed in as alice."), opened
    assert alice.vault("token", "--tpm2", tpm.address, password=PIN).status == 0
    wrong = alice.vault("login", "--tpm2", tpm.address, "--json", password=WRONG)
    assert (wrong.status, wrong.error["code"]) == (77, "wrongSecret")
    # The password does not mind when the TPM is gone.
    tpm.kill()
    assert alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 84
    assert alice.vault("login", password=PASSWORD).status == 0
    assert alice.vault("unlock", "remove", "this machine").status == 0
    assert kinds(alice) == ["password"]


def test_a_tpm_asks_for_its_pin_at_a_terminal(alice, tpm):
    assert add(alice, "tpm2", tpm.address, "--label", "this machine").status == 0
    terminal = alice.terminal("login", "--tpm2", tpm.address)
    terminal.expect("PIN of ")
    assert not terminal.echoes
    terminal.type(PIN)
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown and PIN not in terminal.shown


def test_a_token_opens_the_account(alice, token):
    uri, env = token
    without = add(alice, "pkcs11", uri, env=env)
    assert without.status == 78 and "has no key that could be used" in without.err
    added = add(alice, "pkcs11", uri, "--make-key", env=env)
    assert added.status == 0, added
    assert alice.vault("login", "--pkcs11", uri, password=PIN, env=env).status == 0
    assert alice.vault("login", "--pkcs11", uri, password=WRONG, env=env).status == 77
    # Unplugged: there is no token in this environment.
    assert alice.vault("login", "--pkcs11", uri, password=PIN).status == 84
    assert alice.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("point, is_there", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_a_tpm_is_enrolled(alice, tpm, point, is_there):
    died = add(alice, "tpm2", tpm.address, env={"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert kinds(alice) == (["password", "tpm2"] if is_there else ["password"])
    assert (alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 0) == is_there
    assert alice.vault("login", password=PASSWORD).status == 0
    assert add(alice, "tpm2", tpm.address).status == 0
    assert alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 0
