"""Settings from options, environment and file, and the permissions of the files."""

import json
import os
import socket
import stat

import pytest
from support.person import PASSWORD
from support.programs import VAULT, run

ISSUER = "CREDENTIAL_VAULT_ISSUER"


@pytest.fixture
def settings_file(person):
    path = person.config_home / "credential-vault" / "config.json"
    assert person.vault("config", "path").out == f"{path}\n"
    return path


def test_set_writes_the_file_and_get_reads_it(person, settings_file):
    person.settings = {}
    assert person.vault("config", "set", "issuer", "https://login.example.com").status == 0
    assert person.vault("config", "set", "client-id", "my-app").status == 0
    assert json.loads(settings_file.read_text()) == {"client-id": "my-app", "issuer": "https://login.example.com"}
    assert person.vault("config", "get", "issuer").out == "https://login.example.com\n"
    for setting, removal in (("issuer", ("set", "issuer", "")), ("client-id", ("unset", "client-id"))):
        assert person.vault("config", *removal).status == 0
        result = person.vault("config", "get", setting)
        assert result.status == 78 and f"vault config set {setting}" in result.err
    assert json.loads(settings_file.read_text()) == {}


def test_options_win_over_the_environment_and_that_over_the_file(person, settings_file):
    person.settings = {}
    get = ("config", "get", "issuer")
    assert person.vault("config", "set", "issuer", "https://file.example").status == 0
    assert person.vault(*get).out == "https://file.example\n"
    assert person.vault(*get, env={ISSUER: "https://environment.example"}).out == "https://environment.example\n"
    flag = ("--issuer", "https://flag.example")
    assert person.vault(*get, *flag, env={ISSUER: "https://environment.example"}).out == "https://flag.example\n"


@pytest.mark.parametrize("name, longest", [
    ("connect-timeout", 60), ("provider-timeout", 600), ("key-service-timeout", 600)])
def test_a_time_limit_has_bounds(alice, name, longest):
    variable = "CREDENTIAL_VAULT_" + name.upper().replace("-", "_")
    for value in ("0", str(longest + 1), "1.5", "soon"):
        for result in (alice.vault("users", env={variable: value}), alice.vault("config", "set", name, value)):
            assert result.status == 78 and f"{name} is a number of seconds, 1 to {longest}, and not {value}" in result.err
    assert alice.vault("config", "set", name, str(longest)).status == 0
    assert alice.vault("login", password=PASSWORD).status == 0


def test_the_file_is_enough_to_register(person, settings_file):
    names = {"issuer": ISSUER, "client-id": "CREDENTIAL_VAULT_CLIENT_ID", "key-service": "CREDENTIAL_VAULT_KEY_SERVICE"}
    for name, variable in names.items():
        assert person.vault("config", "set", name, person.settings[variable]).status == 0
    person.settings = {}
    person.registered()
    assert person.vault("login", password=PASSWORD).status == 0


def of_provider(person):
    """The issuer, and the options that a new person gives with it. No variable names them any more."""
    issuer, client, service = (
        person.settings.pop(f"CREDENTIAL_VAULT_{name}") for name in ("ISSUER", "CLIENT_ID", "KEY_SERVICE"))
    return [issuer, "--client-id", client, "--key-service", service]


def test_register_with_an_address_saves_it_with_its_options(person, settings_file):
    words = of_provider(person)
    result = person.register(*words)
    assert result.status == 0, result
    assert "Saved the settings issuer, client-id and key-service.\n" in result.err
    saved = {"issuer": words[0], "client-id": words[2], "key-service": words[4]}
    assert json.loads(settings_file.read_text()) == saved
    again = person.register(user="bob")
    assert again.status == 0 and "Saved" not in again.err
    assert person.register(words[0]).status == 0
    assert json.loads(settings_file.read_text()) == saved


def test_a_denied_sign_in_keeps_the_saved_settings(person, settings_file):
    words = of_provider(person)
    assert person.register(*words, deny=True).status == 82
    assert json.loads(settings_file.read_text())["issuer"] == words[0]
    assert person.register().status == 0


def test_a_provider_that_does_not_answer_is_not_saved(person, settings_file):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # the port is taken, but nobody listens
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        result = person.vault("register", url, "--no-browser", password=PASSWORD)
    assert result.status == 69 and not settings_file.exists(), result


def test_register_does_not_replace_another_issuer(person, settings_file):
    old, new = "https://old.example.com", person.settings[ISSUER]
    assert person.vault("config", "set", "issuer", old).status == 0
    result = person.vault("register", new, "--no-browser", password=PASSWORD)
    assert result.status == 78 and f"vault config set issuer {new}" in result.err, result
    assert f"vault register --issuer {new}" in result.err
    assert json.loads(settings_file.read_text()) == {"issuer": old}


@pytest.mark.parametrize("words, status", [
    (["alice"], 78), (["http://login.example.com"], 78),
    (["https://login.example.com", "--issuer", "https://login.example.com"], 64)])
def test_what_is_no_address_of_a_provider_is_refused(person, settings_file, words, status):
    result = person.vault("register", *words, "--no-browser", password=PASSWORD)
    assert result.status == status and not settings_file.exists(), result


def test_json_has_underscores_in_names(person):
    set_json = person.vault("config", "set", "key-service-timeout", "20", "--json").json
    assert set_json == {"key_service_timeout": "20"}
    found = person.vault("config", "get", "--json").json
    assert found["key_service_timeout"] == "20" and {"issuer", "client_id", "key_service"} <= found.keys()
    assert not [name for name in found if "-" in name]
    assert person.vault("config", "get", "client-id", "--json").json == {"client_id": found["client_id"]}


@pytest.mark.parametrize("missing", ["ISSUER", "KEY_SERVICE"])
def test_a_missing_setting_is_named(person, missing):
    person.settings = {name: value for name, value in person.settings.items() if not name.endswith(missing)}
    result = person.vault("register", "--no-browser", password=PASSWORD)
    assert result.status == 78
    name = missing.lower().replace("_", "-")
    assert f"--{name} URL" in result.err and f"vault config set {name} URL" in result.err


def test_an_account_keeps_to_its_key_service_and_needs_no_settings(alice):
    alice.settings = {}
    assert alice.vault("login", password=PASSWORD).status == 0


def test_a_broken_file_is_named_and_kept(person, settings_file):
    settings_file.parent.mkdir(parents=True)
    settings_file.write_text('{"issuer": ')
    for arguments in (["users"], ["config", "set", "issuer", "https://login.example.com"]):
        result = person.vault(*arguments)
        assert result.status == 78
        assert str(settings_file) in result.err
    assert settings_file.read_text() == '{"issuer": '


@pytest.mark.parametrize("umask", ["000", "077", "027"])
def test_the_umask_does_not_matter(person, umask):
    alice = person.registered()
    assert run(["sh", "-c", f'umask {umask}; exec "$0" login --password-file -', VAULT], alice.environment(),
               PASSWORD).status == 0
    elsewhere = alice.environment(CREDENTIAL_VAULT_HOME=alice.folder / "new")
    result = run(["sh", "-c", f'umask {umask}; exec "$0" users', VAULT], elsewhere)
    assert result.status == 0, result
    for folder in (alice.home, alice.folder / "new"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(folder.iterdir())
        assert (folder / "vault.sqlite") in files
        assert {oct(stat.S_IMODE(file.stat().st_mode)) for file in files} == {"0o600"}


def test_the_standard_folder(person):
    environment = person.environment(XDG_DATA_HOME=person.folder / "data")
    del environment["CREDENTIAL_VAULT_HOME"]
    assert run([VAULT, "users"], environment).status == 0
    assert (person.folder / "data/credential-vault/vault.sqlite").exists()
    environment |= {"HOME": str(person.folder / "me")}
    del environment["XDG_DATA_HOME"]
    os.mkdir(person.folder / "me")
    assert run([VAULT, "users"], environment).status == 0
    assert (person.folder / "me/.local/share/credential-vault/vault.sqlite").exists()
