"""The settings of vault-key-service: from options, the environment and a file."""

import json
import re

import pytest
from support.programs import KEY_SERVICE, Program, clean_environment, run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder of a key service. Settings do not change it."""
    folder = tmp_path_factory.mktemp("settings") / "keys"
    assert run([KEY_SERVICE, "init", "--data", folder]).status == 0
    return folder


def serve(tmp_path, data, settings, *options):
    file = tmp_path / "settings.json"
    file.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return [KEY_SERVICE, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", file, *options]


NAMES = re.findall(r"[A-Za-z]+", re.search(
    r"names\s+in\s+the\s+file:\s*([^.]*)\.", run([KEY_SERVICE, "--help"]).out, re.S)[1])


def test_the_help_names_every_setting():
    options = set(re.findall(r"--([a-z-]+) <", run([KEY_SERVICE, "serve", "--help"]).out)) - {"config"}
    dashed = {re.sub("[A-Z]", lambda letter: "-" + letter[0].lower(), name) for name in NAMES}
    assert options <= dashed and "insecureAllowRemoteHttp" in NAMES
    page = run([KEY_SERVICE, "manual"]).out.replace("\\-", "-")
    for name in dashed:
        assert "VAULT_KEY_SERVICE_" + name.replace("-", "_").upper() in page and f"--{name}" in page


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [{}, [7], None, 1.5])
def test_a_value_of_a_wrong_type_is_refused(tmp_path, data, name, value):
    result = run(serve(tmp_path, data, {name: value}))
    assert result.status == 78 and name in result.err and "settings.json" in result.err and not result.out


@pytest.mark.parametrize("settings, word", [
    ({"maxGuesess": 3}, "maxGuesess"), ({"max-guesses": 3}, "max-guesses"), ({"maxGuesses": "3"}, "maxGuesses"),
    ({"maxGuesses": True}, "maxGuesses"), ({"insecureAllowRemoteHttp": "yes"}, "insecureAllowRemoteHttp"),
    ({"listen": 8787}, "listen"), ("[]", "JSON object"), ("{", "JSON object"),
    ('{"maxGuesses": 3, "maxGuesses": 100}', "comes twice"), ({"trustedProxy": ["127.0.0.1", "x"]}, '"x"'),
    ({"createsPerHour": -1}, "0 means no limit"), ({"refusalsPerMinute": -1}, "0 means no limit"),
    ({"drainDelay": -1}, "drain delay"), ({"tlsKey": "/x"}, "--tls-certificate"),
    ({"maxConnections": 0}, "between 1 and 1000000"),
    ({"tlsCertificate": "/x"}, "--tls-key"), ({"tlsCertificate": "/x", "tlsKey": "/y", "tlsMinimum": "1.1"}, "1.1"),
    ({"healthListen": "x"}, "HOST:PORT")])
def test_a_wrong_setting_is_refused(tmp_path, data, settings, word):
    result = run(serve(tmp_path, data, settings))
    assert result.status == 78 and word in result.err and not result.out


@pytest.mark.parametrize("name, value", [
    ("CREATES_PER_HOUR", "many"), ("INSECURE_ALLOW_REMOTE_HTTP", "perhaps"), ("DRAIN_DELAY", "1s"),
    ("TRUSTED_PROXY", "127.0.0.1, x"), ("MAX_CONNECTIONS_PER_ADDRESS", "-1"), ("LOG_LEVEL", "loud")])
def test_a_wrong_variable_is_refused(tmp_path, data, name, value):
    result = run(serve(tmp_path, data, {}), clean_environment(**{f"VAULT_KEY_SERVICE_{name}": value}))
    assert result.status == 78 and not result.out


def test_every_setting_of_a_client_limit_comes_from_the_file(tmp_path, data, children):
    program = Program(serve(tmp_path, data, {
        "trustedProxy": "127.0.0.1", "maxConnections": 100, "maxConnectionsPerAddress": 0, "createsPerHour": 5,
        "createsPerHourTotal": 0, "refusalsPerMinute": 0, "healthListen": "127.0.0.1:0", "drainDelay": 1, "logLevel": "warning",
        "insecureAllowRemoteHttp": True}), tmp_path)
    children.append(program)
    program.wait_for(re.compile("Health on"))
    program.wait_for(re.compile("Listening on"))
