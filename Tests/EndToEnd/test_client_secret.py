"""A client with a secret from the provider: `client-secret-file`."""

import os

import pytest
from support.person import PASSWORD, Person
from support.services import DevelopmentServices

SECRET = "se cret:1%&-of-the-client"
CLIENT = "CREDENTIAL_VAULT_CLIENT_ID"


@pytest.fixture(scope="module")
def confidential(tmp_path_factory):
    services = DevelopmentServices(
        tmp_path_factory.mktemp("confidential"), "--client-secret", SECRET, "--par", "required")
    yield services
    services.kill()


@pytest.fixture
def member(tmp_path, confidential, children):
    """A person whose client has a secret."""
    return Person(tmp_path, confidential.environment, children)


def secret_file(person, content=SECRET + "\n", mode=0o600, name="client-secret"):
    path = person.folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def test_a_renewal_needs_no_setting_and_nothing_shows_the_secret(member):
    file = secret_file(member)
    results = [member.register("--client-secret-file", file)]
    file.unlink()
    for arguments in (["login"], ["token"], ["logout", "--everywhere"]):
        results.append(member.vault(*arguments, password=PASSWORD))
    for result in results:
        assert result.status == 0, result
        assert SECRET not in result.out + result.err
    for name, content in member.files().items():
        assert SECRET.encode() not in content, name


def test_the_setting_is_found_from_any_folder(member, tmp_path):
    secret_file(member)
    assert member.vault("config", "set", "client-secret-file", "client-secret", cwd=tmp_path).status == 0
    assert member.vault("config", "get", "client-secret-file").out == f"{tmp_path}/client-secret\n"
    result = member.register()
    assert result.status == 78 and "the setting client-secret-file is not used" in result.err, result
    for name, variable in [("issuer", "CREDENTIAL_VAULT_ISSUER"), ("client-id", CLIENT)]:
        assert member.vault("config", "set", name, member.settings.pop(variable)).status == 0
    result = member.register()
    assert result.status == 0 and "is not used" not in result.err, result
    (check,) = [check for check in member.vault("doctor", "--json").json if check["name"] == "client secret"]
    assert check["outcome"] == "ok"
    (tmp_path / "client-secret").chmod(0o640)
    (check,) = [check for check in member.vault("doctor", "--json").json if check["name"] == "client secret"]
    assert check["outcome"] == "fail" and "chmod 600" in check["finding"]
    assert member.vault("login", password=PASSWORD).status == 0, "an account keeps its own"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused_with_the_command_that_mends_it(member, mode):
    file = secret_file(member, mode=mode)
    for result in (member.register("--client-secret-file", file),
                   member.vault("config", "set", "client-secret-file", file)):
        assert result.status == 78 and f"chmod 600 {file}" in result.err, result
        assert SECRET not in result.err and "/authorize" not in result.err
    file.chmod(0o600)
    assert member.register("--client-secret-file", file).status == 0


@pytest.mark.parametrize("kind, words", [
    ("missing", "does not exist"), ("folder", "not a regular file"), ("pipe", "not a regular file"),
    ("large", "larger than 4 KiB"), ("empty", "is empty"), ("newline", "is empty"), ("json", "jq -r"),
    ("two lines", "a character that is not allowed"),
])
def test_a_file_that_is_none(member, kind, words):
    contents = {
        "large": "x" * 4097, "empty": "", "newline": "\n", "json": '{"installed":{"client_secret":"x"}}\n',
        "two lines": f"{SECRET}\n\n",
    }
    file = member.folder / "client-secret"
    if kind in contents:
        secret_file(member, contents[kind])
    elif kind == "folder":
        file.mkdir(0o700)
    elif kind == "pipe":
        os.mkfifo(file, 0o600)
    result = member.register("--client-secret-file", file)
    assert result.status == 78 and words in result.err and SECRET not in result.err, result
    assert "/authorize" not in result.err


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to give a file away")
def test_a_file_of_somebody_else(member):
    file = secret_file(member)
    os.chown(file, 65534, 65534)
    result = member.register("--client-secret-file", file)
    assert result.status == 78 and "install -m 600" in result.err, result


def test_a_missing_or_wrong_secret_is_explained(member):
    result = member.register()
    assert result.status == 78 and "--client-secret-file PATH" in result.err, result
    wrong = secret_file(member, "another secret\n")
    result = member.register("--client-secret-file", wrong)
    assert result.status == 78 and "Check the client id and the client secret" in result.err, result
    assert "another secret" not in result.err


def test_a_secret_without_a_client_id(member):
    file = secret_file(member)
    del member.settings[CLIENT]
    result = member.register("--client-secret-file", file)
    assert result.status == 78 and "vault config set client-id ID" in result.err, result
    assert member.register("--new-client", "--client-secret-file", file).status == 64


@pytest.mark.parametrize("name", ["ISSUER", "CLIENT_ID"])
def test_a_secret_goes_to_no_other_issuer_or_client(person, confidential, name):
    """The other provider refuses a public client that sends a secret."""
    file = secret_file(person)
    others = {"ISSUER": ("issuer", "https://login.example.com"), "CLIENT_ID": ("client-id", "another")}
    for setting, value in [("client-id", "vault-cli"), ("issuer", person.settings["CREDENTIAL_VAULT_ISSUER"]),
                           others[name], ("client-secret-file", str(file))]:
        assert person.vault("config", "set", setting, value).status == 0
    environment = dict(person.settings)
    for kept in ("CREDENTIAL_VAULT_ISSUER", CLIENT):
        if not kept.endswith(name):
            del person.settings[kept]
    assert person.register().status == 0
    person.settings = {key: value for key, value in environment.items() if key not in ("CREDENTIAL_VAULT_ISSUER", CLIENT)}
    option = {"ISSUER": "--issuer", "CLIENT_ID": "--client-id"}[name]
    value = environment[f"CREDENTIAL_VAULT_{name}"]
    assert person.register(option, value, user="bob").status == 0


def test_a_client_that_is_registered_does_not_get_the_secret_of_another(person):
    assert person.vault("config", "set", "client-secret-file", secret_file(person)).status == 0
    assert person.register("--new-client").status == 0
