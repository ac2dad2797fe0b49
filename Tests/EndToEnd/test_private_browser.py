"""`--private-browser` starts the desktop's default browser in a mode that keeps no login."""

import os
import signal

import pytest
from support.desktop import Desktop
from support.person import PASSWORD
from support.programs import VAULT_DEV
from support.waiting import wait_until

PRIVATE = ("register", "--private-browser")


class Browsers:
    """A desktop whose default browser is a script that records its arguments."""

    def __init__(self, person):
        self.person = person
        self.desktop = Desktop(person)
        self.temporary = person.folder / "tmp"
        self.temporary.mkdir()
        # Hides the machine's own browsers.
        person.settings |= {"TMPDIR": self.temporary, "XDG_DATA_DIRS": person.folder / "share"}

    def install(self, name, script):
        """Sets the script. `$last` is the last argument, and `$folder` is the test's folder."""
        head = f'folder="{self.person.folder}"; echo $$ > "$folder/pid"; printf "%s\\n" "$@" > "$folder/arguments.new"\n'
        head += 'mv "$folder/arguments.new" "$folder/arguments"; for last; do :; done\n'
        self.desktop.install(name, head + script)
        entries = "".join(f"x-scheme-handler/{scheme}={name}.desktop\n" for scheme in ("http", "https"))
        self.desktop.write_list(f"[Default Applications]\n{entries}".encode())

    @property
    def arguments(self):
        file = self.person.folder / "arguments"
        return file.read_text().splitlines() if file.exists() else None

    @property
    def profiles(self):
        return list(self.temporary.glob("credential-vault-browser-*"))

    def is_running(self):
        try:
            os.kill(int((self.person.folder / "pid").read_text()), 0)
        except ProcessLookupError:
            return False
        return True


@pytest.fixture
def browsers(person):
    return Browsers(person)


SIGN_IN = f'"{VAULT_DEV}" browse "$last" --user alice > "$folder/shown"'


@pytest.mark.parametrize("name, option", [
    ("firefox-esr", "--private-window"), ("chromium", "--incognito"), ("brave-browser", "--incognito"),
    ("microsoft-edge", "--inprivate"),
])
def test_a_private_window_of_a_known_browser(person, browsers, name, option):
    browsers.install(name, SIGN_IN)
    result = person.vault(*PRIVATE, "--login-hint", '$(id)`id`";x', password=PASSWORD)
    assert result.status == 0, result
    (first, url) = browsers.arguments
    assert first == option and url.startswith("http://127.0.0.1:") and "login_hint=%24%28id%29" in url
    assert "private window" in result.err and "http" not in result.err
    assert browsers.profiles == []


def test_a_browser_that_is_not_known_is_named_and_not_opened(person, browsers):
    browsers.install("konqueror", SIGN_IN)
    result = person.vault(*PRIVATE, password=PASSWORD)
    assert result.status == 78 and "konqueror" in result.err and "--no-browser" in result.err, result
    assert browsers.arguments is None and person.vault("users").out == ""


def test_a_desktop_without_a_default_browser(person, browsers):
    result = person.vault(*PRIVATE, password=PASSWORD)
    assert result.status == 78 and "xdg-settings set default-web-browser" in result.err, result
    assert "--no-browser" in result.err


@pytest.mark.parametrize("name", ["firefox", "qutebrowser"])
def test_a_browser_that_does_not_start(person, browsers, name):
    browsers.install(name, "exit 3")
    result = person.vault(*PRIVATE, password=PASSWORD)
    assert result.status == 78 and name in result.err and "--no-browser" in result.err, result
    assert browsers.profiles == []


def test_a_browser_that_is_not_installed_any_more(person, browsers):
    browsers.install("firefox", SIGN_IN)
    (person.folder / "firefox").unlink()
    (person.folder / "bin").mkdir()
    settings = person.folder / "bin/xdg-settings"  # for a desktop that does not check
    settings.write_text("#!/bin/sh\necho firefox.desktop\n")
    settings.chmod(0o755)
    path = f"{settings.parent}:{os.environ['PATH']}"
    result = person.vault(*PRIVATE, password=PASSWORD, env={"PATH": path})
    assert result.status == 78 and "not installed" in result.err, result


def test_the_setting_makes_each_sign_in_private(person, browsers):
    browsers.install("firefox-esr", SIGN_IN)
    assert person.vault("config", "set", "private-browser", "sometimes").status == 78
    assert person.vault("config", "set", "private-browser", "yes").status == 0
    result = person.vault("register", password=PASSWORD)
    assert result.status == 0 and "private window" in result.err, result
    assert browsers.arguments[0] == "--private-window"
    # The setting is only for a browser that vault opens.
    (person.folder / "arguments").unlink()
    person.registered()
    assert browsers.arguments is None


def test_82_a_browser_that_the_person_closes(person, browsers):
    browsers.install("qutebrowser", f"{LINGERING}exit 0")
    result = person.vault(*PRIVATE, password=PASSWORD)
    assert result.status == 82 and "browser was closed" in result.err, result
    assert "printed address" not in result.err
    assert browsers.profiles == [] and person.vault("users").out == ""


LINGERING = 'echo cookie > "$2/cookies"; stat -c %a "$2" > "$folder/mode"\n'


def test_a_profile_of_its_own_goes_after_the_sign_in(person, browsers):
    browsers.install("qutebrowser", f"{LINGERING}{SIGN_IN}\nsleep 100")
    result = person.vault(*PRIVATE, password=PASSWORD)
    assert result.status == 0, result
    option, folder, _ = browsers.arguments
    assert option == "--basedir" and folder.startswith(f"{browsers.temporary}/")
    assert (person.folder / "mode").read_text() == "700\n"
    assert not os.path.exists(folder) and not browsers.is_running()


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 82), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_profile_goes_when_the_sign_in_is_called_off(person, browsers, number, status):
    browsers.install("qutebrowser", f"trap '' INT HUP\n{LINGERING}sleep 100")
    program = person.start(*PRIVATE, "--password-file", person.password_file())
    wait_until(lambda: browsers.profiles and (browsers.profiles[0] / "cookies").exists(), "the browser")
    program.signal(number)
    assert program.wait().status == status
    assert browsers.profiles == [] and not browsers.is_running()


def test_what_a_killed_run_left_is_removed_by_the_next(person, browsers):
    browsers.install("qutebrowser", f"{LINGERING}sleep 20")
    program = person.start(*PRIVATE, "--password-file", person.password_file())
    wait_until(lambda: browsers.profiles and (browsers.profiles[0] / "cookies").exists(), "the browser")
    running = browsers.profiles
    browsers.install("qutebrowser", f"ls -d {browsers.temporary}/credential-vault-* > \"$folder/seen\"\n{SIGN_IN}")
    assert person.vault(*PRIVATE, password=PASSWORD).status == 0
    assert browsers.profiles == running, "one that is in use stays"
    program.process.send_signal(signal.SIGKILL)
    program.wait()
    assert person.vault(*PRIVATE, password=PASSWORD).status == 0
    assert browsers.profiles == []


@pytest.mark.parametrize("arguments", [["--no-browser"], ["--paste"], ["--device"], ["--method", "password-grant"]])
def test_usage(person, arguments):
    assert person.vault(*PRIVATE, *arguments, password=PASSWORD).status == 64
