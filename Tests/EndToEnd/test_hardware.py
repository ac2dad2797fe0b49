"""Opening an account with hardware: a software TPM and a software token, behind the real interfaces."""

import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from support.agent import agent_status
from support.person import PASSWORD
from support.programs import KEY_SERVICE, run
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
    LOCKOUT_PASSWORD = "kept elsewhere"

    def __init__(self, folder):
        self.folder = folder
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
        self.env = os.environ | {"TPM2TOOLS_TCTI": self.address, "TSS2_LOG": "all+none"}
        subprocess.run(["tpm2_changeauth", "-c", "lockout", self.LOCKOUT_PASSWORD], env=self.env, check=True)

    def drop_lockout_password(self):
        """Clears the TPM, as a machine's firmware does. Most machines come in this state."""
        subprocess.run(["tpm2_clear", "-c", "p"], env=self.env, check=True)

    def lock(self):
        """Uses up the guesses. The TPM accepts the next guess after two hours."""
        env = self.env
        subprocess.run(
            ["tpm2_dictionarylockout", "--setup-parameters", "--max-tries=1", "--recovery-time=7200",
             "--lockout-recovery-time=7200", "-p", self.LOCKOUT_PASSWORD], env=env, check=True)
        context = self.folder / "locked.ctx"
        subprocess.run(["tpm2_createprimary", "-Q", "-c", context, "-p", "right"], env=env, check=True)
        wrong = subprocess.run(
            ["tpm2_create", "-Q", "-C", context, "-P", "wrong", "-u", "/dev/null", "-r", "/dev/null"], env=env,
            capture_output=True)
        assert wrong.returncode != 0

    def kill(self):
        self.process.kill()
        self.process.wait()


class DumbSocket:
    """A PKCS#11 module that hangs: p11-kit's client, connected to a socket that never answers."""

    MODULE = next(Path("/usr/lib").glob("*/pkcs11/p11-kit-client.so"))
    address = f"pkcs11:?module-path={MODULE}"

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        self.env = {"P11_KIT_SERVER_ADDRESS": f"unix:path={path}"}

    def kill(self):
        self.socket.close()


@pytest.fixture
def hanging_module(tmp_path, children):
    children.append(module := DumbSocket(tmp_path / "module.socket"))
    return module


@pytest.fixture
def tpm(tmp_path, children):
    children.append(tpm := SoftwareTPM(tmp_path / "tpm"))
    return tpm


@pytest.fixture
def token(tmp_path, monkeypatch):
    """The URI of a token, and the environment that has it plugged in."""
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
    if kind == "pkcs11":
        arguments += ("--yes",)  # The token is made of software.
    return person.vault(
        "unlock", "add", kind, "--which", address, "--new-pin-file", pin, *arguments, password=PASSWORD, **options)


def test_a_tpm_opens_the_account(alice, tpm):
    added = add(alice, "tpm2", tpm.address, "--label", "this machine")
    assert (added.status, added.out) == (0, "Added this machine. It now opens alice.\n"), added
    opened = alice.vault("login", "--tpm2", tpm.address, password=PIN)
    assert opened.status == 0 and opened.out.startswith("Signed in as alice."), opened
    assert alice.vault("token", "--tpm2", tpm.address, password=PIN).status == 0
    wrong = alice.vault("login", "--tpm2", tpm.address, "--json", password=WRONG)
    assert (wrong.status, wrong.error["code"]) == (77, "wrongSecret")
    # The password also works without the TPM.
    tpm.kill()
    assert alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 84
    # Perhaps the TPM is only not plugged in.
    logout = alice.vault("logout", "--everywhere", "--forget", "--tpm2", tpm.address, password=PIN)
    assert logout.status == 84 and "Nothing was closed." in logout.err, logout
    assert alice.vault("login", password=PASSWORD).status == 0
    assert alice.vault("unlock", "remove", "this machine", "--yes").status == 0
    assert kinds(alice) == ["password"]


def test_a_tpm_asks_for_its_pin_at_a_terminal(alice, tpm):
    assert add(alice, "tpm2", tpm.address, "--label", "this machine").status == 0
    terminal = alice.terminal("login", "--tpm2", tpm.address)
    terminal.expect("PIN of ")
    assert not terminal.echoes
    terminal.type(PIN)
    assert terminal.end() == 0
    assert "Signed in as alice." in terminal.shown and PIN not in terminal.shown


def test_when_delete_asks_for_the_pin_of_hardware_then_it_says_what_nothing_typed_means(alice, tpm):
    assert add(alice, "tpm2", tpm.address, "--label", "this machine").status == 0
    terminal = alice.terminal("delete", "--tpm2", tpm.address)
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect(", to revoke its token (empty: do not revoke): ")
    terminal.press("c")
    assert terminal.end() == 82
    assert kinds(alice) == ["password", "tpm2"]


def test_a_token_opens_the_account(alice, token):
    uri, env = token
    without = add(alice, "pkcs11", uri, env=env)
    assert without.status == 78 and "has no key that is usable" in without.err
    added = add(alice, "pkcs11", uri, "--make-key", env=env)
    assert added.status == 0, added
    assert alice.vault("login", "--pkcs11", uri, password=PIN, env=env).status == 0
    assert alice.vault("login", "--pkcs11", uri, password=WRONG, env=env).status == 77
    # Unplugged: this environment has no token.
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


@pytest.mark.parametrize("point, is_there", [("keyslot-made", False), ("keyslot-stored", True)])
def test_a_crash_while_a_token_is_enrolled(alice, token, point, is_there):
    uri, env = token
    died = add(alice, "pkcs11", uri, "--make-key", env=env | {"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert kinds(alice) == (["password", "pkcs11"] if is_there else ["password"])
    assert (alice.vault("login", "--pkcs11", uri, password=PIN, env=env).status == 0) == is_there
    assert alice.vault("login", password=PASSWORD).status == 0
    # The new key is used, and no other key.
    assert add(alice, "pkcs11", uri, env=env).status == 0
    assert alice.vault("login", "--pkcs11", uri, password=PIN, env=env).status == 0


def test_registering_again_with_a_tpm_keeps_everything(alice, tpm):
    assert add(alice, "tpm2", tpm.address, "--label", "laptop").status == 0
    usual(alice, "tpm2", tpm.address)
    before = alice.vault("unlock", "list", "--json").json
    terminal = alice.terminal("register", "--no-browser")
    terminal.browse()
    terminal.expect("Password (empty for another unlock method): ")
    terminal.type("")
    terminal.expect("Open the account with laptop? [y/N] ")
    terminal.type("y")
    terminal.expect("PIN of ")
    terminal.type(PIN)
    assert terminal.end() == 0
    after = alice.vault("unlock", "list", "--json").json
    assert [way["id"] for way in after] == [way["id"] for way in before]
    assert alice.vault("login", password=PASSWORD).status == 0


# Finding the hardware


def usual(person, kind, address):
    assert person.vault("config", "set", kind, address).status == 0


def state(person, kind, env=None):
    return {way["kind"]: way.get("hardware") for way in person.vault("unlock", "list", "--json", env=env).json}[kind]


def test_a_tpm_is_found_at_the_address_of_the_settings(alice, tpm):
    added = add(alice, "tpm2", tpm.address)
    assert f"vault config set tpm2 '{tpm.address}'" in added.err, "nobody would find out otherwise"
    assert state(alice, "tpm2") == "not there"
    usual(alice, "tpm2", tpm.address)
    assert state(alice, "tpm2") == "ready"
    assert alice.vault("login", "--tpm2", password=PIN).status == 0
    terminal = alice.terminal("login")
    terminal.expect("PIN of ")
    terminal.type(PIN)
    assert terminal.end() == 0 and "Signed in as alice." in terminal.shown
    # Hardware at the usual address needs no --which, and the command gives no advice.
    again = add(alice, "tpm2", tpm.address)
    assert again.status == 0 and again.err == ""
    pin = alice.password_file(PIN, "pin")
    assert alice.vault("unlock", "add", "tpm2", "--new-pin-file", pin, password=PASSWORD).status == 0
    tpm.kill()
    assert alice.vault("login", "--tpm2", password=PIN).status == 84


def test_a_token_is_found_by_itself_and_its_module_by_the_settings_only(alice, token):
    uri, env = token
    added = add(alice, "pkcs11", "pkcs11:token=mine", "--make-key", env=env)
    assert added.status == 0 and "vault config set" not in added.err, "p11-kit knows the module"
    assert state(alice, "pkcs11", env) == "ready"
    assert alice.vault("unlock", "remove", "pkcs11", "--yes").status == 0
    usual(alice, "pkcs11", "pkcs11:token=another")
    added = add(alice, "pkcs11", uri, env=env)
    assert f"vault config set pkcs11 '{uri}'" in added.err
    assert state(alice, "pkcs11", env) == "not there"
    # The store's note about the token never names the library to load.
    assert not any("module" in line or ".so" in line for line in alice.stored())
    usual(alice, "pkcs11", uri)
    assert state(alice, "pkcs11", env) == "ready"
    assert alice.vault("login", "--pkcs11", password=PIN, env=env).status == 0
    by_environment = {"CREDENTIAL_VAULT_PKCS11": "pkcs11:token=another"}
    assert state(alice, "pkcs11", env | by_environment) == "not there"


@pytest.mark.parametrize("value", ["mine", "pkcs11:token=mine?pin-value=1234", "token=mine?pin-value=1234"])
def test_what_cannot_be_an_address_is_refused(person, value):
    refused = person.vault("config", "set", "pkcs11", value)
    assert refused.status == 78 and ("pkcs11" in refused.err or "PIN" in refused.err) and "1234" not in refused.err
    assert person.vault("config", "get", "pkcs11").status == 78


def test_no_library_writes_to_the_terminal(alice, token):
    uri, env = token
    assert add(alice, "pkcs11", "pkcs11:token=mine", "--make-key", env=env).status == 0
    # When p11-kit loads it, the module of tpm2-pkcs11 warns about this variable.
    listed = alice.vault("unlock", "list", env=env | {"TPM2_PKCS11_STORE": "/nowhere"})
    assert listed.status == 0 and "WARNING" not in listed.err
    asked_for = alice.vault("unlock", "list", env=env | {"TPM2_PKCS11_STORE": "/nowhere", "TPM2_PKCS11_LOG_LEVEL": "1"})
    assert "WARNING" in asked_for.err


# Without a named unlock method


def finish_with_the_password(terminal):
    terminal.expect("Next: the password.")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0 and "Signed in as alice." in terminal.shown


def test_a_locked_tpm_says_so_and_gives_way(alice, tpm):
    assert add(alice, "tpm2", tpm.address, "--label", "this machine").status == 0
    usual(alice, "tpm2", tpm.address)
    tpm.lock()
    assert state(alice, "tpm2") == "locked for 2 hours at most"
    assert alice.vault("login", "--tpm2", password=PIN).status == 84, "it was named"
    terminal = alice.terminal("login")
    finish_with_the_password(terminal)
    assert 'The TPM "this machine" is locked for 2 hours at most.' in terminal.shown
    assert "PIN of" not in terminal.shown


def test_a_module_that_hangs_holds_nobody_up(alice, token, hanging_module):
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    usual(alice, "pkcs11", hanging_module.address)
    terminal = alice.terminal("login", env=hanging_module.env)
    terminal.expect("Looking for hardware")
    terminal.expect("The token did not answer within 2 seconds.")
    finish_with_the_password(terminal)


def test_all_hardware_is_looked_for_at_once(alice, tpm, token, hanging_module):
    uri, env = token
    assert add(alice, "tpm2", tpm.address).status == 0
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    usual(alice, "tpm2", tpm.address)
    usual(alice, "pkcs11", hanging_module.address)
    # The TPM continues after the command has contacted the module.
    tpm.process.send_signal(signal.SIGSTOP)

    def resume():
        hanging_module.socket.accept()
        tpm.process.send_signal(signal.SIGCONT)

    threading.Thread(target=resume, daemon=True).start()
    terminal = alice.terminal("login", env=hanging_module.env)
    terminal.expect("PIN of TPM 2.0")
    terminal.type(PIN)
    assert terminal.end() == 0


def test_a_token_that_is_gone_gives_way(alice, token, tmp_path):
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    usual(alice, "pkcs11", uri)
    terminal = alice.terminal("login", env=env)
    terminal.expect("PIN of mine: ")
    shutil.rmtree(tmp_path / "tokens")
    (tmp_path / "tokens").mkdir()
    terminal.type(PIN)
    terminal.expect("is not there.")
    finish_with_the_password(terminal)
    # The next login notices it at once.
    terminal = alice.terminal("login", env=env)
    terminal.expect('The token "mine" is not there.')
    finish_with_the_password(terminal)


def test_no_pin_means_the_next_way_and_a_wrong_one_does_not(alice, token):
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    usual(alice, "pkcs11", uri)
    pin = alice.password_file("2846", "pin")
    assert alice.vault("unlock", "add", "pin", "--new-pin-file", pin, password=PASSWORD).status == 0
    terminal = alice.terminal("login", env=env)
    terminal.expect("PIN of mine: ")
    terminal.type("")
    terminal.expect("No PIN for the token. Next: the PIN.")
    terminal.expect("PIN of alice: ")
    terminal.type("")
    finish_with_the_password(terminal)
    for keys, status in [("wrong", 77), ("", 84)]:
        arguments = ["login"] if keys else ["login", "--pkcs11"]
        terminal = alice.terminal(*arguments, env=env)
        terminal.expect("PIN of mine: ")
        terminal.type(keys)
        assert terminal.end() == status and "Next: the" not in terminal.shown
    terminal = alice.terminal("login", env=env)
    terminal.expect("PIN of mine: ")
    terminal.press("c")
    assert terminal.end() == 82 and "Next: the" not in terminal.shown


def test_the_command_ends_while_the_module_of_a_token_is_still_at_work(alice, token):
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    usual(alice, "pkcs11", uri)
    for _ in range(30):
        terminal = alice.terminal("login", "--pkcs11", env=env)
        terminal.expect("PIN of mine: ")
        terminal.type("")
        assert terminal.end() == 84


def test_a_secret_that_is_given_is_the_password_whatever_is_there(alice, tpm):
    assert add(alice, "tpm2", tpm.address).status == 0
    usual(alice, "tpm2", tpm.address)
    assert alice.vault("login", password=PIN).status == 77
    assert alice.vault("login", password=PASSWORD).status == 0


# Without the key service


# Row: a token that counts wrong PINs, a TPM with a lockout password
def test_hardware_opens_without_the_key_service_only_when_that_is_wanted(alice, tpm):
    unasked = add(alice, "tpm2", tpm.address, "--opens-offline")
    assert unasked.status == 78 and "--yes" in unasked.err and "key service cannot notice or end" in unasked.err
    pin = alice.password_file(PIN, "hardware-pin")
    terminal = alice.terminal(
        "unlock", "add", "tpm2", "--which", tpm.address, "--new-pin-file", str(pin), "--opens-offline")
    terminal.expect("Add this offline unlock method? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82 and "A thief who has this machine can then try PINs" in terminal.shown
    assert kinds(alice) == ["password"]
    assert add(alice, "tpm2", tpm.address, "--opens-offline", "--yes").status == 0
    ways = {way["kind"]: way["needs_key_service"] for way in alice.vault("unlock", "list", "--json").json}
    assert ways == {"password": True, "tpm2": False}
    assert alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 0


# Row: the method `offline`, hardware with `--opens-offline`
def test_a_session_that_hardware_opened_asks_whether_the_machine_was_revoked(person, key_service, runtime, tpm):
    person.settings |= {
        "CREDENTIAL_VAULT_KEY_SERVICE": key_service.url, "XDG_RUNTIME_DIR": str(runtime),
        "CREDENTIAL_VAULT_OPEN_SESSION": "yes"}
    try:
        person.registered("--no-agent")
        assert add(person, "tpm2", tpm.address, "--opens-offline", "--yes").status == 0
        secret = ("--password-file", person.password_file())
        assert person.vault("item", "set", "note", *secret, input=b"Room 4", stdin=None).status == 0
        for key in key_service.live_keys():
            assert run([KEY_SERVICE, "keys", "revoke", "--data", key_service.data, key]).status == 0
        # This asks no server.
        terminal = person.terminal("item", "get", "note", "--yes", "--tpm2", tpm.address)
        terminal.expect("PIN of ")
        terminal.type(PIN)
        assert terminal.end() == 0 and "Room 4" in terminal.shown, terminal.shown
        # The agent asks before it gets a token. Perhaps the session has ended before this command asks.
        result = person.vault("token")
        assert result.status in (78, 80) and result.out == "", result
        wait_until(lambda: agent_status(person)["sessions"] == [], "the end of the session")
    finally:
        person.vault("agent", "stop", "--force")


# Row: a token made of software
def test_a_token_of_software_never_opens_without_the_key_service(alice, token):
    uri, env = token
    refused = add(alice, "pkcs11", uri, "--make-key", "--opens-offline", env=env)
    assert refused.status == 78 and "made of software" in refused.err
    assert kinds(alice) == ["password"]


# Hardware that does not limit wrong PINs


def test_a_token_of_software_is_asked_about(alice, token):
    uri, env = token
    arguments = [
        "unlock", "add", "pkcs11", "--which", uri, "--make-key", "--new-pin-file",
        str(alice.password_file(PIN, "hardware-pin"))]
    refused = alice.vault(*arguments, password=PASSWORD, env=env)
    assert refused.status == 78 and "made of software" in refused.err and "--yes" in refused.err
    terminal = alice.terminal(*arguments, env=env)
    terminal.expect("Add it anyway? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82 and "can try PINs without end" in terminal.shown
    assert kinds(alice) == ["password"]
    terminal = alice.terminal(*arguments, env=env)
    terminal.expect("Add it anyway? [y/N] ")
    terminal.type("y")
    terminal.expect("Password of alice: ")
    terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert kinds(alice) == ["password", "pkcs11"]
    told = add(alice, "pkcs11", uri, "--label", "once more", env=env)
    assert told.status == 0 and "made of software" in told.err


# Row: a TPM without a lockout password
def test_a_tpm_without_a_lockout_password_is_told_and_never_opens_without_the_key_service(alice, tpm):
    tpm.drop_lockout_password()
    refused = add(alice, "tpm2", tpm.address, "--opens-offline", "--yes")
    assert refused.status == 78 and "tpm2_changeauth -c lockout" in refused.err
    assert kinds(alice) == ["password"]
    added = add(alice, "tpm2", tpm.address)
    assert added.status == 0 and "guess without end" in added.err and "tpm2_changeauth -c lockout" in added.err
    assert alice.vault("login", "--tpm2", tpm.address, password=PIN).status == 0


def test_that_few_guesses_are_left_is_told(alice, token):
    uri, env = token
    assert add(alice, "pkcs11", uri, "--make-key", env=env).status == 0
    assert alice.vault("login", "--pkcs11", uri, password=WRONG, env=env).status == 77
    terminal = alice.terminal("login", "--pkcs11", uri, env=env)
    terminal.expect("PIN of mine: ")
    assert "A wrong PIN was entered before. Few guesses are left." in terminal.shown
    terminal.type(PIN)
    assert terminal.end() == 0
    terminal = alice.terminal("login", "--pkcs11", uri, env=env)
    terminal.expect("PIN of mine: ")
    assert "Few guesses" not in terminal.shown
    terminal.type(PIN)
    assert terminal.end() == 0


@pytest.mark.parametrize("address", ["pkcs11:token=%zz?pin-value=1234", "pkcs11:token=mine?pin-value=1234"])
def test_an_address_with_a_pin_in_it_is_not_repeated(alice, token, address):
    uri, env = token
    for arguments in (["unlock", "add", "pkcs11", "--which", address, "--yes"], ["login", f"--pkcs11={address}"]):
        refused = alice.vault(*arguments, "--json", password=PASSWORD, env=env)
        assert refused.status != 0 and "1234" not in refused.err + refused.out


@pytest.mark.parametrize("option", [["--opens-offline"], ["--which", "device"]], ids=lambda option: option[0])
def test_what_is_for_hardware_is_not_for_a_pin(alice, option):
    pin = alice.password_file("2846", "pin")
    assert alice.vault("unlock", "add", "pin", "--new-pin-file", pin, *option, password=PASSWORD).status == 64
    assert kinds(alice) == ["password"]
