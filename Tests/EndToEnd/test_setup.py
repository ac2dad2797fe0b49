"""The first run: `vault setup`, the signed settings of an organisation, and the settings of a machine."""

import json
import os
import socket

import pytest
from support.logind import MockLogind
from support.machine import SETTINGS, Machine
from support.minisign import Signer
from support.person import PASSWORD, Person
from support.programs import VAULT
from support.raw_server import RawServer, json_answer
from support.services import DevelopmentServices
from support.terminal import Terminal

PROVIDER, CLIENT, KEYS = "Identity provider (its issuer URL)", "Client id", "Key service (its URL, or none)"
NOWHERE = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": "/usr/bin:/bin"}  # no browser


@pytest.fixture
def newcomer(person):
    """A person whose settings no variable names. `person.known` has the servers."""
    names = ("ISSUER", "CLIENT_ID", "KEY_SERVICE")
    person.known = [person.settings.pop(f"CREDENTIAL_VAULT_{name}") for name in names]
    return person


def saved(person):
    path = person.config_home / "credential-vault" / "config.json"
    return json.loads(path.read_text()) if path.exists() else {}


def answer(terminal, question, *lines):
    for line in lines:
        terminal.expect(question)
        terminal.type(line)


def http(body, status="200 OK", more=""):
    return f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


# With questions


def test_the_answers_are_tried_and_become_settings(newcomer):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer)
    terminal.expect(f"{issuer} answers:")
    for line in ("Sign-in:", "with a code on another device", "Refresh tokens:", "Tokens bound to a key:", "vault can register one"):
        terminal.expect(line)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", keys)
    terminal.expect(f"{keys} answers.")
    terminal.expect("Saved the settings issuer, client-id and key-service.")
    answer(terminal, "Register an account now? [y/N] ", "")
    terminal.expect("Next: vault register")
    assert terminal.end() == 0
    assert saved(newcomer) == {"issuer": issuer, "client-id": client, "key-service": keys}
    newcomer.registered()


def test_without_a_key_service_the_next_command_says_so(newcomer):
    issuer, client, _ = newcomer.known
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", "none")
    terminal.expect("Guesses are not counted by a service.")
    answer(terminal, "Register an account now? [y/N] ", "n")
    terminal.expect("Next: vault register --no-key-service")
    assert terminal.end() == 0
    assert saved(newcomer) == {"issuer": issuer, "client-id": client}


@pytest.mark.parametrize("choice, status", [("y", 82), ("n", 0)])
def test_without_a_tpm_setup_asks_about_the_password_alone(newcomer, choice, status):
    issuer, client, _ = newcomer.known
    terminal = newcomer.terminal("setup", env={**NOWHERE, "CREDENTIAL_VAULT_TPM2": "swtpm:host=127.0.0.1,port=1"})
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", "none")
    answer(terminal, "Register an account now? [y/N] ", "y")
    # The reason comes first, and does not look like an error.
    terminal.expect("Without a key service, a TPM has to count wrong PINs. ")
    terminal.expect("But then a thief of the disk can try passwords without limit.")
    assert "vault: " not in terminal.shown and "--password-only" not in terminal.shown
    answer(terminal, "Register with the password alone? [y/N] ", choice)
    if choice == "y":
        terminal.expect("stop with Ctrl-C and type: vault register --no-key-service --password-only --no-browser")
        terminal.expect("To sign in, open this address on this machine:")
        terminal.press("c")
    else:
        terminal.expect("Next, with a token: vault register --no-key-service --fido2")
    assert terminal.end() == status


def test_when_a_variable_overrides_an_answer_then_nobody_is_registered_with_the_other_value(newcomer):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup", env={"CREDENTIAL_VAULT_KEY_SERVICE": "http://127.0.0.1:1"})
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, "Key service (its URL) [http://127.0.0.1:1]: ", keys)
    terminal.expect("To register with these settings: unset CREDENTIAL_VAULT_KEY_SERVICE; vault register")
    assert terminal.end() == 0
    assert saved(newcomer)["key-service"] == keys and "Register an account now?" not in terminal.shown


def test_when_the_person_says_yes_then_the_registration_begins(newcomer):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup", env=NOWHERE)
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", keys)
    answer(terminal, "Register an account now? [y/N] ", "y")
    terminal.expect("To sign in, open this address on this machine:")
    terminal.press("c")
    assert terminal.end() == 82
    assert saved(newcomer)["issuer"] == issuer


def test_when_setup_has_no_browser_then_the_registration_prints_the_address(newcomer):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup", "--no-browser")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", keys)
    answer(terminal, "Register an account now? [y/N] ", "y")
    terminal.browse()
    terminal.expect("Signed in as Alice Example")
    terminal.expect("New password (at least 8 characters): ")
    terminal.press("c")
    assert terminal.end() == 82


def test_when_setup_has_no_browser_then_the_next_command_has_none(newcomer):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup", "--no-browser")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", keys)
    answer(terminal, "Register an account now? [y/N] ", "n")
    terminal.expect("Next: vault register --no-browser")
    assert terminal.end() == 0


def test_an_empty_line_keeps_what_is_set(newcomer):
    issuer, client, keys = newcomer.known
    for name, value in (("issuer", issuer), ("client-id", client), ("key-service", keys)):
        assert newcomer.vault("config", "set", name, value).status == 0
    before = saved(newcomer)
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER} [{issuer}]: ", "")
    answer(terminal, f"{CLIENT} [{client}]: ", "")
    answer(terminal, f"Key service (its URL) [{keys}]: ", "")
    answer(terminal, "Register an account now? [y/N] ", "n")
    assert terminal.end() == 0
    assert saved(newcomer) == before and "Saved" not in terminal.shown


def test_after_a_wrong_answer_an_empty_line_keeps_what_is_set(newcomer):
    issuer, client, keys = newcomer.known
    for name, value in (("issuer", issuer), ("client-id", client), ("key-service", keys)):
        assert newcomer.vault("config", "set", name, value).status == 0
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER} [{issuer}]: ", "http://127.0.0.1:1")
    terminal.expect("The identity provider cannot be reached")
    answer(terminal, f"{PROVIDER} [{issuer}]: ", "")
    answer(terminal, f"{CLIENT} [{client}]: ", "")
    answer(terminal, f"Key service (its URL) [{keys}]: ", "http://127.0.0.1:1")
    terminal.expect("does not answer")
    answer(terminal, f"Key service (its URL) [{keys}]: ", "")
    answer(terminal, "Register an account now? [y/N] ", "n")
    assert terminal.end() == 0, terminal.shown


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_when_an_address_of_this_machine_has_no_scheme_then_plain_http_is_tried(newcomer, host):
    issuer, client, keys = newcomer.known
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer.removeprefix("http://"))
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", keys.removeprefix("http://").replace("127.0.0.1", host))
    answer(terminal, "Register an account now? [y/N] ", "n")
    assert terminal.end() == 0, terminal.shown
    assert saved(newcomer) == {
        "issuer": issuer, "client-id": client, "key-service": keys.replace("127.0.0.1", host)}


def test_a_wrong_answer_says_why_and_asks_again(newcomer):
    issuer, client, keys = newcomer.known
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # the port is taken, but nobody listens
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
        terminal = newcomer.terminal("setup")
        answer(terminal, f"{PROVIDER}: ", "")
        terminal.expect("vault: Type a URL")
        answer(terminal, f"{PROVIDER}: ", "http://login.example.com")
        terminal.expect("issuer has to be an https URL")
        answer(terminal, f"{PROVIDER}: ", "\x1b[A")
        terminal.expect("The input has a control character")
        answer(terminal, f"{PROVIDER}: ", nobody)
        terminal.expect("The identity provider cannot be reached")
        # A slash too many is no mistake.
        answer(terminal, f"{PROVIDER}: ", issuer + "/")
        answer(terminal, f"{CLIENT} (empty: vault registers a client): ", "nobody-knows-me")
        answer(terminal, "File with its secret (empty: another client): ", "")
        terminal.expect("The provider does not accept the client nobody-knows-me.")
        answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
        answer(terminal, f"{KEYS}: ", nobody)
        terminal.expect("does not answer")
        answer(terminal, f"{KEYS}: ", keys)
        answer(terminal, "Register an account now? [y/N] ", "n")
        assert terminal.end() == 0
    assert saved(newcomer) == {"issuer": issuer, "client-id": client, "key-service": keys}


OTHER_SERVERS = [
    http(b"<html>", "403 Forbidden", "Content-Type: text/html\r\n"), http(b"", "401 Unauthorized"),
    http(b"<html>", "501 Not Implemented"), json_answer({"error": "unknown"}, "400 Bad Request"),
    json_answer({"error": "Realm does not exist"}, "404 Not Found"),
]


@pytest.mark.parametrize("reply", OTHER_SERVERS, ids=["403", "401", "501", "400", "404"])
def test_another_web_server_is_no_key_service(newcomer, children, reply):
    issuer, client, keys = newcomer.known
    children.append(server := RawServer(reply))
    wrong = server.url + "/keys"
    says = f"There is no key service at {wrong}. Check the URL and its base path, or ask the operator"
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", client)
    answer(terminal, f"{KEYS}: ", wrong)
    terminal.expect(says)
    terminal.press("c")
    assert terminal.end() == 82
    options = ("--issuer", issuer, "--client-id", client, "--key-service", wrong)
    (check,) = [each for each in newcomer.vault("doctor", "--json", *options).json if each["name"] == "key service"]
    assert check["outcome"] == "fail" and says in check["finding"], check
    result = newcomer.vault("register", "--no-browser", *options, password=PASSWORD)
    assert result.status == 78 and says in result.err and "protocol" not in result.err, result


@pytest.mark.parametrize("key, status", [("c", 82), ("d", 82)])
def test_when_the_person_stops_then_nothing_is_written(newcomer, key, status):
    issuer, client, _ = newcomer.known
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT} (", client)
    terminal.expect(f"{KEYS}: ")
    terminal.press(key)
    assert terminal.end() == status and terminal.mode == terminal.original_mode
    assert saved(newcomer) == {}


def test_a_client_of_another_provider_is_not_proposed(newcomer):
    issuer, _, keys = newcomer.known
    secret = newcomer.password_file("s3cret", "secret")
    for name, value in (
        ("issuer", "https://old.example.com"), ("client-id", "old"), ("client-secret-file", str(secret)),
        ("ui-locales", "da"), ("key-service", keys),
    ):
        assert newcomer.vault("config", "set", name, value).status == 0
    terminal = newcomer.terminal("setup")
    answer(terminal, f"{PROVIDER} [https://old.example.com]: ", issuer)
    answer(terminal, f"{CLIENT} (empty: vault registers a client): ", "")
    answer(terminal, f"Key service (its URL) [{keys}]: ", "")
    terminal.expect("Saved the setting issuer.")
    terminal.expect("Removed the settings client-id and client-secret-file.")
    answer(terminal, "[y/N] ", "n")
    assert terminal.end() == 0
    assert saved(newcomer) == {"issuer": issuer, "key-service": keys, "ui-locales": "da"}


def test_where_clients_have_secrets_the_file_is_asked_for(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--no-registration", "--client-secret", "s3cret"))
    person = Person(tmp_path, {}, children)
    issuer, keys = services.issuer, services.key_service
    client, secret = services.environment["CREDENTIAL_VAULT_CLIENT_ID"], person.password_file("s3cret", "secret")
    terminal = person.terminal("setup")
    answer(terminal, f"{PROVIDER}: ", issuer)
    answer(terminal, f"{CLIENT}: ", "", "unknown")
    assert "This provider registers no clients by itself." in terminal.shown
    answer(terminal, "File with its secret (empty: another client): ", str(secret))
    terminal.expect("The provider does not accept the client unknown. Check its id and its secret.")
    answer(terminal, f"{CLIENT}: ", client)
    answer(terminal, "File with its secret (empty: another client): ", str(tmp_path / "missing"))
    terminal.expect("does not exist")
    answer(terminal, f"{CLIENT}: ", client)
    answer(terminal, "File with its secret (empty: another client): ", str(secret))
    answer(terminal, f"{KEYS}: ", keys)
    answer(terminal, "[y/N] ", "n")
    assert terminal.end() == 0
    expected = {"issuer": issuer, "client-id": client, "client-secret-file": str(secret), "key-service": keys}
    assert saved(person) == expected


def test_without_a_terminal_it_says_what_to_type(newcomer):
    result = newcomer.vault("setup")
    assert result.status == 78 and saved(newcomer) == {}
    for words in ("--from FILE --key KEY", "vault config set issuer URL", "vault config set key-service URL"):
        assert words in result.err, result


# The settings of an organisation


@pytest.fixture
def signer():
    return Signer()


@pytest.fixture
def organisation(newcomer, signer):
    """Writes the signed settings of an organisation, and returns the path."""
    issuer, client, keys = newcomer.known

    def write(by=signer, at=None, **more):
        content = {"settings-key": by.key, "issuer": issuer, "client-id": client, "key-service": keys}
        content |= {name.replace("_", "-"): value for name, value in more.items()}
        text = json.dumps({name: value for name, value in content.items() if value is not None})
        signing = {} if at is None else {"comment": f"timestamp:{at}\tfile:vault.json\thashed".encode()}
        return by.write(newcomer.folder / "vault.json", text.encode(), **signing)
    return write


def test_when_the_fingerprint_is_confirmed_then_the_settings_are_written(newcomer, organisation, signer):
    path = organisation()
    terminal = newcomer.terminal("setup", "--from", path)
    for value in newcomer.known:
        terminal.expect(value)
    terminal.expect(f"Fingerprint of the key that signed them: {signer.fingerprint}")
    terminal.expect("Comment of the signer: the settings of this year")
    answer(terminal, "If both are the same, type yes: ", "yes")
    terminal.expect("Saved the settings issuer, client-id, key-service and settings-key.")
    answer(terminal, "Register an account now? [y/N] ", "n")
    assert terminal.end() == 0
    issuer, client, keys = newcomer.known
    assert saved(newcomer) == {
        "issuer": issuer, "client-id": client, "key-service": keys, "settings-key": signer.key}
    # The same key signs the settings of the next year.
    organisation(scopes="openid offline_access")
    terminal = newcomer.terminal("setup", "--from", path)
    terminal.expect("The same key signed the settings that you use now.")
    answer(terminal, "Use these settings? [y/N] ", "y")
    answer(terminal, "Register an account now? [y/N] ", "n")
    assert terminal.end() == 0 and "WARNING" not in terminal.shown
    assert saved(newcomer)["scopes"] == "openid offline_access"


@pytest.mark.parametrize("typed", ["", "y", "no"])
def test_without_a_yes_nothing_is_written(newcomer, organisation, typed):
    terminal = newcomer.terminal("setup", "--from", organisation())
    answer(terminal, "type yes: ", typed)
    assert terminal.end() == 82 and "Nothing was changed." in terminal.shown
    assert saved(newcomer) == {}


def test_another_key_than_last_time_is_a_warning(newcomer, organisation, signer):
    assert newcomer.vault("setup", "--from", organisation(), "--key", signer.key).status == 0
    before, thief = saved(newcomer), Signer()
    path = organisation(by=thief)
    terminal = newcomer.terminal("setup", "--from", path)
    terminal.expect(f"Fingerprint of the key that signed them: {thief.fingerprint}")
    terminal.expect("WARNING: Another key signed the settings that you use now.")
    terminal.expect(signer.fingerprint)
    answer(terminal, "type yes: ", "no")
    assert terminal.end() == 82 and saved(newcomer) == before


def test_a_script_names_the_key(newcomer, organisation, signer):
    path = organisation()
    result = newcomer.vault("setup", "--from", path)
    assert result.status == 78 and "--key KEY" in result.err and saved(newcomer) == {}
    result = newcomer.vault("setup", "--from", path, "--key", Signer(b"somebody").key)
    assert result.status == 78 and "Another key than" in result.err and saved(newcomer) == {}
    result = newcomer.vault("setup", "--from", path, "--key", signer.key)
    assert result.status == 0 and result.err.endswith("Next: vault register\n"), result
    assert saved(newcomer)["issuer"] == newcomer.known[0]
    newcomer.registered()
    shown = newcomer.vault("setup", "--from", path, "--key", signer.key, "--json")
    assert (shown.status, shown.err) == (0, "") and shown.json["key_service"] == newcomer.known[2]


def test_an_older_file_of_the_same_key_is_refused(newcomer, organisation, signer):
    """Somebody who kept an old file, and can change the web server, brings no old key service back."""
    key = ("--key", signer.key)
    assert newcomer.vault("setup", "--from", organisation(at=1795814473), *key).status == 0
    before = saved(newcomer)
    assert before["settings-signed-at"] == "2026-11-27T21:21:13Z"
    path = organisation(at=1795814472, key_service="https://old.example.com")
    for result in (newcomer.vault("setup", "--from", path, *key), newcomer.vault("setup", "--from", path, "--json", *key)):
        assert result.status == 78 and saved(newcomer) == before, result
        assert "It was signed at 2026-11-27 21:21:12 UTC, and the settings that you use now at 2026-11-27 21:21:13" in result.err
    terminal = newcomer.terminal("setup", "--from", path)
    assert terminal.end() == 78 and "Ask your organisation for the newest file." in terminal.shown
    # The same file again, and a later one.
    assert newcomer.vault("setup", "--from", organisation(at=1795814473), *key).status == 0
    assert newcomer.vault("setup", "--from", organisation(at=1795814474, scopes="openid"), *key).status == 0
    before = saved(newcomer)
    assert before["settings-signed-at"] == "2026-11-27T21:21:14Z" and before["scopes"] == "openid"


def test_settings_without_a_time_do_not_replace_settings_with_one(newcomer, organisation, signer):
    """Otherwise an old file without a time would bring back an old key service."""
    assert newcomer.vault("setup", "--from", organisation(), "--key", signer.key).status == 0
    assert newcomer.vault("setup", "--from", organisation(scopes="openid"), "--key", signer.key).status == 0
    assert newcomer.vault("setup", "--from", organisation(at=1795814473), "--key", signer.key).status == 0
    before = saved(newcomer)
    result = newcomer.vault("setup", "--from", organisation(scopes="email"), "--key", signer.key)
    assert result.status == 78 and "Its signature does not say when it was made" in result.err, result
    assert saved(newcomer) == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["a pipe", "a folder"])
@pytest.mark.parametrize("name", ["vault.json", "vault.json.minisig"])
def test_what_is_no_regular_file_is_refused_at_once(newcomer, organisation, signer, make, name):
    path = organisation()
    path.with_name(name).unlink()
    make(path.with_name(name))
    result = newcomer.vault("setup", "--from", path, "--key", signer.key)
    assert result.status == 78 and f"{name} cannot be read. It is not a regular file." in result.err, result
    assert saved(newcomer) == {}


@pytest.mark.parametrize("words", [["--key", "RW"], ["--from", "vault.json", "--key", "RWQ" + "A" * 53]])
def test_what_is_no_key_is_wrong_usage(newcomer, words):
    assert newcomer.vault("setup", *words).status == 64


@pytest.mark.parametrize("more, says", [
    ({"isuer": "https://login.example.com"}, 'does not know the setting "isuer"'),
    ({"pinentry": "/tmp/program"}, "It may not set pinentry"), ({"ca_file": "/tmp/ca.pem"}, "It may not set ca-file"),
    ({"dpop": "off"}, "It may not set dpop"), ({"key_service_protocol": "1"}, "It may not set key-service-protocol"),
    ({"key_service_audience": "any"}, "It may not set key-service-audience to any"),
    ({"issuer": "http://login.example.com"}, "issuer has to be an https URL"), ({"issuer": None}, "It has no issuer"),
    ({"key_service": None}, "It has no key-service"), ({"client_id": 7}, "client-id has to be a text"),
    ({"scopes": "openid\x1b[2J"}, "scopes has to be a text"),
])
def test_what_a_signed_file_may_not_say_is_refused(newcomer, organisation, signer, more, says):
    result = newcomer.vault("setup", "--from", organisation(**more), "--key", signer.key)
    assert result.status == 78 and says in result.err and saved(newcomer) == {}, result


def test_a_changed_or_unsigned_file_is_refused(newcomer, organisation, signer):
    path = organisation()
    signature = path.with_name("vault.json.minisig")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"client", b"Client", 1))
    setup = ("setup", "--from", path, "--key", signer.key)
    assert "Somebody changed it after it was signed." in newcomer.vault(*setup).err
    path.write_bytes(content)
    signature.write_bytes(b"no signature\n")
    assert "is not as minisign -S writes it" in newcomer.vault(*setup).err
    signature.write_bytes(b"A" * 5000)
    assert "vault.json.minisig cannot be read. It is larger than 4 KiB." in newcomer.vault(*setup).err
    signature.unlink()
    result = newcomer.vault(*setup)
    assert result.status == 78 and "vault.json.minisig cannot be read. It does not exist, or" in result.err
    assert saved(newcomer) == {}


@pytest.fixture
def web(children):
    """A web server with these files."""
    def start(files):
        def found(head):
            path = head.split()[1].decode()
            return http(files[path]) if path in files else http(b"", "404 Not Found")
        children.append(server := RawServer(found))
        return server
    return start


def test_a_web_server_has_the_file_and_its_signature(newcomer, organisation, signer, web):
    content = organisation().read_bytes()
    files = {"/it/vault.json": content, "/it/vault.json.minisig": signer.signature(content)}
    url = web(files).url + "/it/vault.json"
    result = newcomer.vault("setup", "--from", url, "--key", signer.key)
    assert result.status == 0 and saved(newcomer)["issuer"] == newcomer.known[0], result


def test_what_a_web_server_may_not_do_is_refused(newcomer, organisation, signer, web, children):
    content = organisation().read_bytes()
    good = web({"/vault.json": content, "/vault.json.minisig": signer.signature(content)})
    elsewhere = http(b"", "302 Found", f"Location: {good.url}/vault.json\r\n")
    for server, path, says in [
        (web({"/vault.json": content}), "/vault.json", "HTTP 404"),
        (RawServer(elsewhere), "/vault.json", "HTTP 302"),
        (RawServer(http(b"x" * 70_000)), "/vault.json", "larger than allowed"),
        (good, "/vault.json?a=b", "has to name a file"), (good, "", "has to name a file"),
    ]:
        children.append(server)
        result = newcomer.vault("setup", "--from", server.url + path, "--key", signer.key)
        assert result.status == 78 and says in result.err and saved(newcomer) == {}, result
    result = newcomer.vault("setup", "--from", "http://intranet.example.com/vault.json", "--key", signer.key)
    assert result.status == 78 and "needs https" in result.err, result


# The settings of a machine


NEEDS_MACHINE = pytest.mark.skipif(not Machine.is_possible(), reason="a private /etc needs a mount namespace")


@pytest.fixture
def machine(newcomer, tmp_path):
    newcomer.disk = Machine(tmp_path)
    return newcomer.disk


@NEEDS_MACHINE
def test_the_machines_settings_are_the_weakest(newcomer, machine):
    machine.set_settings({"issuer": "https://machine.example", "scopes": "openid"})
    get = ("config", "get", "issuer")
    assert newcomer.vault(*get).out == "https://machine.example\n"
    assert newcomer.vault("config", "set", "issuer", "https://own.example").status == 0
    assert newcomer.vault(*get).out == "https://own.example\n"
    variable = {"CREDENTIAL_VAULT_ISSUER": "https://variable.example"}
    assert newcomer.vault(*get, env=variable).out == "https://variable.example\n"
    assert newcomer.vault(*get, "--issuer", "https://option.example", env=variable).out == "https://option.example\n"
    # Each value tells where it comes from.
    own = str(newcomer.config_home / "credential-vault" / "config.json")
    shown = newcomer.vault("config", "get", "--show-origin", "--json").json
    assert shown["issuer"] == {"value": "https://own.example", "origin": own}
    assert shown["scopes"] == {"value": "openid", "origin": SETTINGS}
    shown = newcomer.vault("config", "get", "issuer", "--show-origin", env=variable).out
    assert shown.split()[-3:] == ["issuer", "https://variable.example", "CREDENTIAL_VAULT_ISSUER"]
    removed = newcomer.vault("config", "set", "issuer", "")
    assert removed.status == 0 and f"removed, but {SETTINGS} has a value" in removed.err
    assert newcomer.vault(*get).out == "https://machine.example\n"


@NEEDS_MACHINE
def test_with_the_machines_settings_a_person_only_registers(newcomer, machine):
    issuer, client, keys = newcomer.known
    machine.set_settings({"issuer": issuer, "client-id": client, "key-service": keys})
    newcomer.registered()
    assert newcomer.vault("login", password=PASSWORD).status == 0
    assert saved(newcomer) == {}
    terminal = newcomer.keep(Terminal(machine.enter(VAULT, "setup"), newcomer.environment(TERM="xterm")))
    for question, usual in ((PROVIDER, issuer), (CLIENT, client), ("Key service (its URL)", keys)):
        answer(terminal, f"{question} [{usual}]: ", "")
    answer(terminal, "[y/N] ", "n")
    assert terminal.end() == 0
    assert saved(newcomer) == {}, "the administrator can still change them"


@NEEDS_MACHINE
@pytest.mark.parametrize("settings, mode, says", [
    ({"isuer": "https://a.example"}, 0o644, 'does not know the setting "isuer"'), ("{", 0o644, "one JSON object"),
    ({"issuer": "https://a.example"}, 0o666, f"users other than root can change {SETTINGS}"),
    ({"ca-file": "ca.pem"}, 0o644, "ca-file has to be an absolute path"),
    ({"pinentry": "./pinentry"}, 0o644, "pinentry has to be an absolute path"),
    ({"home": "vault"}, 0o644, "home has to be an absolute path"),
    ({"pkcs11": "pkcs11:?module-path=%2E%2Fmodule.so"}, 0o644, "pkcs11 has to be an absolute path"),
])
def test_a_wrong_file_of_the_machine_stops_with_its_name(newcomer, machine, settings, mode, says):
    machine.set_settings(settings, mode)
    for command in (["users"], ["config", "get"], ["setup"]):
        result = newcomer.vault(*command)
        assert result.status == 78 and says in result.err and f"The settings file {SETTINGS}" in result.err, result


@NEEDS_MACHINE
def test_a_wrong_file_of_the_machine_keeps_no_session_open(anna, tmp_path):
    anna.disk = machine = Machine(tmp_path)
    for command in (["lock"], ["agent", "lock"], ["logout"], ["agent", "stop"]):
        assert anna.vault("login", password=PASSWORD).status == 0
        machine.set_settings({"isuer": "https://a.example"})
        result = anna.vault(*command)
        assert result.status == 0, result
        machine.settings_file.unlink()
        assert anna.vault("token").status != 0, f"still open after {command}"


@NEEDS_MACHINE
def test_what_hid_a_setting_of_the_machine_goes_with_its_reason(newcomer, machine):
    """Otherwise the key service of the machine would not be pinned any more."""
    pin = "F0VTtFbd38aQjsqxwQH-arIeK6oGF3lbfUOmNIKZP9U"
    machine.set_settings({"key-service": "https://keys.example", "key-service-keys": pin})
    own = newcomer.config_home / "credential-vault" / "config.json"
    assert newcomer.vault("config", "set", "key-service", "https://own.example").status == 0
    content = json.loads(own.read_text()) | {"key-service-keys": ""}
    own.write_text(json.dumps(content))
    assert newcomer.vault("config", "get", "key-service-keys").out.strip() == ""
    newcomer.vault("config", "unset", "key-service")
    assert newcomer.vault("config", "get", "key-service-keys").out.strip() == pin


@NEEDS_MACHINE
def test_the_machine_can_switch_off_the_agent(anna, tmp_path):
    anna.disk = machine = Machine(tmp_path)
    assert anna.vault("login", password=PASSWORD).status == 0
    assert anna.vault("token").status == 0
    machine.set_settings({"agent": "off"})
    assert anna.vault("token").status == 78, "there is no terminal for a question, and no agent to ask"
    machine.settings_file.unlink()
    assert anna.vault("token").status == 0


# When all is well


@pytest.fixture
def desktop(children, tmp_path, tmp_path_factory):
    """The environment of a desktop with a browser and a logind."""
    logind = MockLogind(tmp_path_factory.mktemp("b"))
    children.append(logind)
    browser = tmp_path / "programs" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    return {"DBUS_SYSTEM_BUS_ADDRESS": logind.address, "DISPLAY": ":77", "PATH": f"{browser.parent}:/usr/bin:/bin"}


@pytest.fixture
def well(anna, desktop):
    """A person whose checks all pass."""
    anna.settings |= desktop
    return anna


def doctor(person, *arguments, columns=200, **env):
    # Root may lock any amount of memory, and other users at least as much as the shell that runs the tests.
    command = f'ulimit -l 8192; exec "$VAULT" doctor {" ".join(arguments)}'
    terminal = person.terminal(shell=command, env=env, columns=columns)
    return terminal.end(), [line for line in terminal.shown.split("\r\n") if line]


def test_when_all_is_well_then_doctor_prints_one_green_line(well):
    status, shown = doctor(well)
    line = "ok   All 14 checks passed. To see them: vault doctor --verbose"
    assert (status, shown) == (0, [f"\x1b[32m{line}\x1b[0m"])
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert doctor(well, **plain) == (0, [line])
    narrow = ["ok   All 14 checks passed. To see them: vault doctor", "     --verbose"]
    assert doctor(well, columns=60, NO_COLOR="1") == (0, narrow)
    status, shown = doctor(well, "--verbose")
    assert status == 0 and len([each for each in shown if each.startswith("ok ")]) == 14


def test_when_something_is_wrong_then_doctor_prints_all(well):
    status, shown = doctor(well, "--key-service", "http://127.0.0.1:1")
    starts = {each[:16] for each in shown}
    assert status == 1 and {"fail key service", "ok   issuer     "} <= starts and "checks passed" not in str(shown)


def test_without_settings_doctor_names_setup(person):
    """A newcomer's first command."""
    for name in ("CREDENTIAL_VAULT_ISSUER", "CREDENTIAL_VAULT_KEY_SERVICE"):
        person.settings.pop(name, None)
    checks = {check["name"]: check for check in person.vault("doctor", "--json").json}
    for name in ("issuer", "key service"):
        assert checks[name]["outcome"] == "warn" and "vault setup" in checks[name]["advice"], checks[name]
    # Who has an issuer already needs only the rest.
    checks = {check["name"]: check for check in person.vault("doctor", "--json", "--issuer", "http://127.0.0.1:1").json}
    assert checks["key service"]["advice"] == "vault config set key-service https://keys.example.com"
