"""A redirect with a custom scheme. The desktop's xdg-open passes it to the command."""

import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from support.desktop import Desktop
from support.pages import redirect_of
from support.person import PASSWORD
from support.programs import VAULT, run
from support.services import DevelopmentServices
from support.waiting import wait_until

URL = re.compile(r"^(http://\S+/authorize\S+)$", re.M)
REDIRECT = "myapp://callback"
SUPPORT = Path(__file__).parent

OTHERS = b"[Default Applications]\ntext/html=other.desktop\nx-scheme-handler/myapp=other.desktop;third.desktop;\n"
LISTS = {
    "none": None,
    "empty": b"",
    "other things": b"# mine\n\n[Added Associations]\ntext/plain=editor.desktop;\n",
    "a section": b"[Added Associations]\na/b=c.desktop\n[Default Applications]\ntext/html=other.desktop",
    "another handler": OTHERS,
    "an empty handler": b"[Default Applications]\nx-scheme-handler/myapp=\n",
    "no end of line": b"[Added Associations]\ntext/plain=editor.desktop;",
    "odd bytes": b"[Default Applications]\r\ntext/html=\xff\xfe.desktop\r\n\n\n[x]\r\n",
}


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    services = DevelopmentServices(
        tmp_path_factory.mktemp("scheme"), "--redirect-uri", REDIRECT, "--redirect-uri", "other.app:/cb")
    yield services
    services.kill()


@pytest.fixture
def desktop(person):
    desktop = Desktop(person)
    desktop.install("other", "exit 9")
    return desktop


def start(person, *arguments, redirect=REDIRECT, env=None):
    """Starts a registration with a redirect through the desktop, and returns the address to open."""
    program = person.start(
        "register", "--redirect-uri", redirect, "--no-browser", "--password-file", person.password_file(), *arguments,
        env=env)
    return program, program.wait_for(URL, "err")[1]


@pytest.mark.parametrize("content", LISTS.values(), ids=LISTS.keys())
def test_xdg_open_brings_the_redirect_and_nothing_is_left(person, desktop, content):
    if content is not None:
        desktop.write_list(content)
    before, opened_before = desktop.everything(), desktop.handler("myapp")
    program, url = start(person)
    handler = desktop.handler("myapp")
    assert handler.startswith("credential-vault-redirect-")
    assert b"NoDisplay=true" in desktop.everything()[f"desk/.local/share/applications/{handler}"][2]
    opened = desktop.open(redirect_of(url))
    assert opened.status == 0, opened
    assert program.wait().status == 0
    assert desktop.everything() == before and desktop.handler("myapp") == opened_before
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("content", LISTS.values(), ids=LISTS.keys())
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_nothing(person, desktop, number, content):
    if content is not None:
        desktop.write_list(content)
    before = desktop.everything()
    program, _ = start(person)
    program.signal(number)
    program.wait()
    if number == signal.SIGKILL:  # after SIGKILL, only the next run can clean up
        assert desktop.everything() != before
        result = person.vault("register", "--redirect-uri", "https://app.example/cb", password=PASSWORD)
        assert result.status == 78
    assert desktop.everything() == before


def test_a_desktop_without_any_folders_has_none_afterwards(person):
    desktop = Desktop(person)
    before = desktop.everything()
    program, url = start(person)
    assert desktop.open(redirect_of(url)).status == 0
    assert program.wait().status == 0
    assert desktop.everything() == before == {}


def test_the_browser_that_is_the_desktops_signs_in(person, desktop):
    """The full way: xdg-open starts the browser, and the browser passes the redirect to xdg-open."""
    (person.folder / "browse.py").write_text(
        f"import sys; sys.path.insert(0, '{SUPPORT}')\n"
        "from support.pages import redirect_of; print(redirect_of(sys.argv[1]))\n")
    desktop.install("browser", f'xdg-open "$("{sys.executable}" "{person.folder}/browse.py" "$1")"')
    desktop.write_list(b"[Default Applications]\nx-scheme-handler/http=browser.desktop\n")
    before = desktop.everything()
    result = person.vault("register", "--redirect-uri", REDIRECT, password=PASSWORD)
    assert result.status == 0, result
    assert desktop.everything() == before


def test_whoever_denies_is_brought_back_too(person, desktop):
    before = desktop.everything()
    program, url = start(person)
    desktop.open(redirect_of(url, deny=True))
    assert program.wait().status == 82
    assert desktop.everything() == before


def test_a_list_of_the_desktop_in_use_comes_first(person, desktop):
    desktop.write_list(OTHERS, "gnome-mimeapps.list")
    person.settings |= {"XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}
    before = desktop.everything()
    program, _ = start(person)
    assert desktop.handler("myapp").startswith("credential-vault-redirect-")
    program.signal(signal.SIGTERM)
    program.wait()
    assert desktop.everything() == before


def test_a_list_that_is_a_link_stays_one(person, desktop):
    (desktop.home / "dotfiles").mkdir()
    (desktop.home / "dotfiles/list").write_bytes(OTHERS)
    (desktop.home / "dotfiles/list").chmod(0o640)
    desktop.config.mkdir()
    desktop.list().symlink_to("../dotfiles/list")
    before = desktop.everything()
    program, _ = start(person)
    assert b"credential-vault" in (desktop.home / "dotfiles/list").read_bytes()
    program.signal(signal.SIGTERM)
    program.wait()
    assert desktop.everything() == before


def test_what_others_change_meanwhile_stays(person, desktop):
    program, _ = start(person)
    assert run(["xdg-mime", "default", "other.desktop", "text/html"], person.environment()).status == 0
    program.signal(signal.SIGTERM)
    program.wait()
    assert desktop.list().read_bytes() == b"[Default Applications]\ntext/html=other.desktop\n"


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("content", [OTHERS, b"[Added Associations]\n"], ids=["another handler", "no section"])
def test_two_at_once_do_not_disturb_each_other(person, desktop, content, last):
    desktop.write_list(content)
    before = desktop.everything()
    programs = [start(person)[0], start(person)[0]]
    assert len([name for name in desktop.everything() if "credential-vault-redirect" in name]) == 2
    programs[1 - last].signal(signal.SIGTERM)
    programs[1 - last].wait()
    assert desktop.handler("myapp").startswith("credential-vault-redirect-")
    programs[last].signal(signal.SIGTERM)
    programs[last].wait()
    assert desktop.everything() == before


def test_nobody_else_can_reach_the_socket(person, desktop):
    program, _ = start(person)
    folder = desktop.private_folder()
    assert folder.parent == desktop.cache / "credential-vault"
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}
    assert (folder / "redirect").is_socket() and (folder / "redirect").stat().st_mode & 0o777 == 0o600
    assert program.process.poll() is None


def place_of_ones_own():
    """A folder that nobody else can ever make or replace: no other user may write to a folder above it."""
    for place in (Path.home(), Path(f"/run/user/{os.getuid()}"), Path("/run"), Path("/")):
        above = [place.resolve(), *place.resolve().parents]
        if os.access(place, os.W_OK) and all(
                path.stat().st_uid in (0, os.getuid()) and not path.stat().st_mode & 0o022 for path in above):
            return place.resolve()
    return pytest.skip("everybody may write to a folder above the home folder, and there is no other place")


def test_the_folder_of_the_session_is_used_where_nobody_else_can_ever_make_it(person, desktop):
    """A folder in /tmp is not used. It is gone after a restart, and then another user could create it first."""
    own = Path(tempfile.mkdtemp(prefix=".run-", dir=place_of_ones_own()))
    others = Path(tempfile.mkdtemp(prefix="run-", dir="/tmp"))
    (others / "open").mkdir()
    (others / "open").chmod(0o777)
    (others / "link").symlink_to(others)
    try:
        for runtime, is_used in [
                (own, True), (others, False), (others / "open", False), (others / "link", False), ("/tmp", False),
                (others / "missing", False), ("relative", False), ("", False)]:
            before = desktop.everything()
            program, url = start(person, env={"XDG_RUNTIME_DIR": runtime, "TMPDIR": others})
            folder = desktop.private_folder()
            assert folder.parent == (own if is_used else desktop.cache / "credential-vault"), runtime
            assert desktop.open(redirect_of(url)).status == 0
            assert program.wait().status == 0
            assert not folder.exists() and desktop.everything() == before
            assert person.vault("delete", "--yes").status == 0
        # A folder that others may write to is not used.
        (desktop.cache / "credential-vault").mkdir()
        (desktop.cache / "credential-vault").chmod(0o777)
        before = desktop.everything()
        result = person.vault("register", "--redirect-uri", REDIRECT, password=PASSWORD)
        assert result.status == 78 and "others may write to it" in result.err and "--paste" in result.err
        assert desktop.everything() == before
    finally:
        shutil.rmtree(own)
        shutil.rmtree(others)


def test_what_is_no_redirect_of_this_login_changes_nothing(person, desktop):
    before = desktop.everything()
    program, url = start(person)
    folder = desktop.private_folder()

    def hand(text):
        return run([VAULT, "handle-redirect", folder / "redirect", text], person.environment()).status
    assert hand("otherapp://callback?code=1&state=2") == 0
    assert hand("myapp://callback?code=stolen&state=guessed") == 0
    for malformed in ("myapp:x", "myapp://callback", "myapp://callback?%zz", "myapp://callback?state=a&state=b"):
        assert hand(malformed) == 0
    assert program.process.poll() is None and person.vault("users", "--json").json == []
    assert hand(redirect_of(url)) == 0
    assert program.wait().status == 0 and desktop.everything() == before


def test_a_redirect_that_comes_late_meets_nobody_and_cleans_up(person, desktop):
    before = desktop.everything()
    program, url = start(person)
    redirect = redirect_of(url)
    program.signal(signal.SIGKILL)
    program.wait()
    desktop.open(redirect)
    wait_until(lambda: desktop.everything() == before, "nothing to be left")
    result = run([VAULT, "handle-redirect", desktop.cache / "none", redirect], person.environment())
    assert result.status == 83 and "No sign-in is waiting" in result.err


def test_a_path_that_needs_quotes(person, desktop, tmp_path):
    link = tmp_path / "a folder" / "my vault"
    link.parent.mkdir()
    link.symlink_to(VAULT)
    command = person.command
    person.command = lambda *words: command(*[link if word == VAULT else word for word in words])
    program, url = start(person, redirect="other.app:/cb")
    assert desktop.open(redirect_of(url)).status == 0
    assert program.wait().status == 0


@pytest.mark.parametrize("uri, word", [
    ("https://app.example/callback", "--paste"), ("file:///callback", "--paste"), ("http://192.0.2.1/cb", "127.0.0.1"),
    ("nonsense", "not a URL"),
])
def test_a_redirect_that_cannot_come_back_is_refused_at_once(person, desktop, uri, word):
    before = desktop.everything()
    result = person.vault("register", "--redirect-uri", uri, password=PASSWORD)
    assert result.status == 78 and word in result.err
    assert desktop.everything() == before
