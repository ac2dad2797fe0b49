"""The system's browser, which `xdg-open` starts. Here a script on the PATH plays the person."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from support.desktop import desktop
from support.person import URL
from support.programs import VAULT_DEV, run
from support.services import lasting_address

AT_ONCE = {"CREDENTIAL_VAULT_REMINDER_SECONDS": "0"}


def test_register_opens_the_browser(person, tmp_path):
    path = desktop(tmp_path / "bin", f'exec "{VAULT_DEV}" browse "$1" --user alice > "{tmp_path}/shown"')
    result = person.vault("register", password="tangerine-42-umbrella", env={"PATH": path})
    assert result.status == 0, result
    assert result.out.startswith("Registered alice (")
    assert "http" not in result.err, "the address is printed only where no browser opens"
    assert (tmp_path / "shown").read_text() == "Signed in\n"


def test_a_browser_that_does_not_start_ends_the_registration_with_advice(person, tmp_path):
    path = desktop(tmp_path / "bin", "exit 3")
    result = person.vault("register", password="tangerine-42-umbrella", env={"PATH": path})
    assert result.status == 78, result
    for option in ("--no-browser", "--paste"):
        # Without a terminal, the words are not all that was typed.
        assert f"add {option}" in result.err and "type: vault" not in result.err, result
    assert person.vault("users").out == ""


@pytest.mark.parametrize("exact", [False, True])
def test_a_person_who_waits_is_told_what_to_check(person, exact):
    options = ["--redirect-uri", f"http://{lasting_address()}/callback"] if exact else []
    words = ["register", "--no-browser", "--password-file", person.password_file(), *options]
    program = person.start(*words, env=AT_ONCE)
    kind = "exactly this redirect URI" if exact else "this redirect URI, with any port"
    told = program.wait_for(re.compile(rf"^The client must allow {kind}: (\S+)$", re.M), "err")[1]
    other = "URI" if exact else "http://127.0.0.1:8765/callback"
    program.wait_for(re.compile(rf": vault config set redirect-uri {other}$", re.M), "err")
    address = URL.search(program.err)[1]
    assert parse_qs(urlsplit(address).query)["redirect_uri"] == [told]
    # The sign-in goes on.
    assert run([VAULT_DEV, "browse", address, "--user", "alice"]).out == "Signed in\n"
    assert program.wait().status == 0


def test_a_program_gets_no_remark(person):
    result = person.register("--json", env=AT_ONCE)
    assert result.status == 0 and re.fullmatch(r"http://\S+\n", result.err), result
