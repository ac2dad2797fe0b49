"""An account whose tokens are bound to a key (DPoP): helpers for other programs, and what the commands say about it."""

import re

import pytest
from support.person import PASSWORD, Person
from support.programs import VAULT, run
from support.services import DevelopmentServices

TOOLS = ["git", "docker", "kubectl"]
# The helper of each program, and the question of the program.
QUESTIONS = {
    "git": (["git", "--host", "git.example.com", "get"], "protocol=https\nhost=git.example.com\n\n"),
    "docker": (["docker", "--host", "registry.example.com", "get"], "registry.example.com"),
    "kubectl": (["kubectl"], ""),
}


@pytest.fixture(scope="module")
def binding(tmp_path_factory):
    """A provider that binds tokens to a key."""
    services = DevelopmentServices(tmp_path_factory.mktemp("binding"), "--dpop", "offered")
    yield services
    services.kill()


@pytest.fixture
def bound(binding, tmp_path, children):
    """alice, with a home folder for the settings of other programs."""
    person = Person(tmp_path, binding.environment, children).registered()
    folder = tmp_path / "user"
    folder.mkdir()
    person.settings |= {
        "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "DOCKER_CONFIG": folder / ".docker",
        "KUBECONFIG": folder / ".kube/config", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    person.user_home = folder
    return person


def asked(person, tool, *options):
    """Runs a helper as its program does."""
    words, question = QUESTIONS[tool]
    return run([VAULT, "helper", words[0], *options, *words[1:]], person.environment(), question)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_program_without_proofs_gets_no_bound_token(bound, tool):
    result = asked(bound, tool, "--password-file", bound.password_file())
    assert result.status == 78, result
    assert "bound to a key (DPoP)" in result.out + result.err
    assert "vault register --no-dpop" in result.out + result.err and "dpop off" in result.out + result.err
    assert bound.vault("token", password=PASSWORD).out.strip() not in result.out
    if tool == "git":  # otherwise git would ask for a password
        assert result.out == "quit=1\n"
    result = asked(bound, tool)
    assert "bound to a key (DPoP)" in result.out + result.err, "nobody is asked for a password in vain"


@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_is_set_up_for_a_program_without_proofs(bound, tool):
    hosts = [] if tool == "kubectl" else ["--host", "a.example.com"]
    result = bound.vault("helper", "install", tool, *hosts)
    assert (result.status, result.out) == (78, "")
    assert f"{tool} cannot use the tokens of alice" in result.err and "vault register --no-dpop" in result.err
    assert list(bound.user_home.iterdir()) == []


def test_after_registering_without_a_key_the_helpers_work(bound):
    assert bound.register("--no-dpop").status == 0
    token = bound.vault("token", password=PASSWORD).out.strip()
    for tool in TOOLS:
        result = asked(bound, tool, "--password-file", bound.password_file())
        assert result.status == 0 and token in result.out, result
    assert bound.vault("helper", "install", "git", "--host", "git.example.com").status == 0


def curl(person, configuration, *words):
    return run(["curl", "--silent", "--show-error", "--fail", "-K", "-", *words], person.environment(), configuration)


@pytest.mark.parametrize("method, words", [(None, []), ("get", []), ("POST", ["--data", ""])])
def test_curl_itself_sends_the_proof(bound, binding, method, words):
    request = ["--request", method] if method else []
    url = f"{binding.issuer}/userinfo"
    configuration = bound.vault(
        "helper", "curl", "--url", url, *request, "--password-file", bound.password_file())
    assert (configuration.status, configuration.err) == (0, "")
    assert 'header = "Authorization: DPoP ' in configuration.out and 'header = "DPoP: ' in configuration.out
    result = curl(bound, configuration.out, *words)
    assert result.status == 0 and result.json["email"] == "alice@example.com", result
    assert curl(bound, configuration.out, *words).status != 0, "a proof counts once"


def test_curl_gets_no_bound_token_for_an_unknown_address(bound):
    result = bound.vault("helper", "curl", "--password-file", bound.password_file())
    assert (result.status, result.out) == (78, "") and "--url URL" in result.err
    assert "--url URL" in bound.vault("helper", "curl").err, "nobody is asked for a password"


def test_the_commands_say_that_the_tokens_are_bound(bound):
    assert re.search(r"^Token type: +DPoP \(bound to a key\)$", bound.vault("status").out, re.M)
    assert bound.vault("status", "--json").json["account"]["token_type"] == "DPoP"
    assert bound.vault("users", "--json").json[0]["token_type"] == "DPoP"
    assert bound.vault("login", password=PASSWORD).status == 0
    assert bound.vault("status", "--json").json["account"]["token_type"] == "DPoP"
    registered = bound.register()
    assert "The tokens are bound to a key (DPoP)." in registered.err and "--no-dpop" in registered.err
    registered = bound.register("--no-dpop")
    assert registered.status == 0 and "DPoP" not in registered.err
    assert re.search(r"^Token type: +Bearer$", bound.vault("status").out, re.M)
    assert bound.vault("users", "--json").json[0]["token_type"] == "Bearer"
