"""Settings from options, environment and file, and the permissions of the files."""

import json
import os
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
    assert person.vault("config", "set", "issuer", "").status == 0
    result = person.vault("config", "get", "issuer")
    assert result.status == 78 and "vault config set issuer" in result.err


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
