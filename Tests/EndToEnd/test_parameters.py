"""Additional parameters of a sign-in: --prompt, --login-hint and others."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from support.person import URL, Person
from support.programs import VAULT_DEV, run
from support.services import DevelopmentServices

OPTIONS = ("--prompt", "login", "--login-hint", "al ice&x=1", "--acr-values", "gold silver", "--audience",
           "https://api.example.com/", "--ui-locales", "da en", "--parameter", "access_type=offline", "--parameter",
           "hd=a=b&c")
SENT = {"prompt": "login", "login_hint": "al ice&x=1", "acr_values": "gold silver", "audience": "https://api.example.com/",
        "ui_locales": "da en", "access_type": "offline", "hd": "a=b&c"}


def asked(person, *arguments):
    """Returns the parameters in a registration's address."""
    program = person.start("register", "--no-browser", "--password-file", person.password_file(), *arguments)
    query = parse_qs(urlsplit(program.wait_for(URL, "err")[1]).query, strict_parsing=True)
    program.kill()
    own = {"response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
           "code_challenge_method", "dpop_jkt"}
    assert all(len(values) == 1 for values in query.values())
    return {name: values[0] for name, values in query.items() if name not in own}


def test_the_address_asks_for_what_the_options_say(person):
    assert asked(person) == {}
    assert asked(person, *OPTIONS) == SENT
    person.registered(*OPTIONS)


def test_settings_are_asked_for_unless_an_option_says_something_else(person):
    for name, value in [("prompt", "consent"), ("acr-values", "gold"), ("audience", "https://api.example.com"),
                        ("ui-locales", "da"), ("parameters", "access_type=offline&hd=a%26b")]:
        assert person.vault("config", "set", name, value).status == 0
    assert person.vault("config", "get", "acr-values").out == "gold\n"
    base = {"prompt": "consent", "acr_values": "gold", "audience": "https://api.example.com", "ui_locales": "da",
            "access_type": "offline", "hd": "a&b"}
    assert asked(person) == base
    more = asked(person, "--prompt", "", "--audience", "x", "--parameter", "hd=other", "--parameter", "access_type=")
    assert more == {"acr_values": "gold", "audience": "x", "ui_locales": "da", "hd": "other"}


@pytest.mark.parametrize("name", ["redirect_uri", "state", "scope", "request_uri", "response_mode", "dpop_jkt", "prompt"])
def test_a_parameter_of_the_protocol_is_refused_by_name(person, name):
    result = person.vault("register", "--no-browser", "--parameter", f"{name}=x", password="tangerine-42-umbrella")
    assert result.status == 78 and f" {name} " in result.err and "authorize?" not in result.err, result
    result = person.vault("config", "set", "parameters", f"hd=1&{name}=x")
    assert result.status == 78 and f" {name} " in result.err, result


@pytest.mark.parametrize("arguments", [
    ["--parameter", "x"], ["--parameter", "=x"], ["--parameter", "a=1", "--parameter", "a=2"],
    ["--method", "backend", "--prompt", "login"], ["--device", "--prompt", "none"],
    ["--method", "password-grant", "--login-hint", "x"],
])
def test_usage(person, arguments):
    assert person.vault("register", "--no-browser", *arguments, password="tangerine-42-umbrella").status == 64


@pytest.mark.parametrize("value", ["x", "a=%zz", "a=1&a=2", "a\nb=1"])
def test_a_setting_that_is_no_list_of_parameters(person, value):
    assert person.vault("config", "set", "parameters", value).status == (0 if value == "x" else 78)


def test_a_pushed_request_has_them_and_the_browser_does_not(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--par", "required"))
    person = Person(tmp_path, services.environment, children)
    shown = []

    def visit(url):
        shown.append((url, requests.get(url, timeout=30).text))

    program = person.start(
        "register", "--no-browser", "--password-file", person.password_file(), "--login-hint", "somebody-else")
    visit(program.wait_for(URL, "err")[1])
    (url, page), = shown
    assert "somebody-else" not in url and 'value="somebody-else"' in page


def test_with_prompt_none_a_provider_that_has_to_ask_says_so(person):
    result = person.register("--prompt", "none", visit=lambda url: requests.get(url, timeout=30))
    assert result.status == 78, result
    assert "nobody is logged in at the provider" in result.err and "prompt=none" in result.err


def test_a_device_asks_with_them(tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--device-interval", "1"))
    person = Person(tmp_path, services.environment, children)
    program = person.start("register", "--device", "--password-file", person.password_file(), *OPTIONS)
    code = program.wait_for(re.compile(r"^([A-Z0-9]{4}-[A-Z0-9]{4})$", re.M), "err")[1]
    assert run([VAULT_DEV, "browse", f"{services.issuer}/device", "--user-code", code, "--user", "bob"]).status == 0
    assert program.wait().status == 0
