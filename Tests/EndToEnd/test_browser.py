"""The system's browser, which `xdg-open` starts. Here a script on the PATH plays the person."""

from support.desktop import desktop
from support.programs import VAULT_DEV


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
    assert "--no-browser" in result.err
    assert person.vault("users").out == ""
