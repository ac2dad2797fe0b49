"""Signing in on another device (RFC 8628)."""

import json
import re
import shlex
import signal
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from support.libraries import WithoutLibrary
from support.person import PASSWORD, Person
from support.programs import VAULT, VAULT_DEV, run
from support.raw_server import RawServer, json_answer
from support.screen import BLACK, WHITE, code_lines, pixels, scan
from support.services import DevelopmentServices
from support.waiting import wait_until

FAR = "https://login.example.com/device"
ADDRESS = re.compile(r"^(http://\S+/device)$", re.M)
CODE = re.compile(r"^([A-Z0-9]{4}-[A-Z0-9]{4})$", re.M)


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    services = DevelopmentServices(tmp_path_factory.mktemp("device"), "--device-interval", "1")
    yield services
    services.kill()


def connect(address, code, user="alice", *options):
    """Signs in as the person does on the other device."""
    return run([VAULT_DEV, "browse", address, "--user-code", code, "--user", user, *options])


def start(person, *arguments, **options):
    """Starts a registration, and waits for the address and the code."""
    program = person.start("register", *arguments, "--password-file", person.password_file(), **options)
    return program, program.wait_for(ADDRESS, "err")[1], program.wait_for(CODE, "err")[1]


def at_terminal(person, *arguments, env=None, shell=None):
    """Does the same at a terminal, which shows the countdown at the end."""
    terminal = person.terminal("register", *arguments, env=env, shell=shell)
    terminal.expect("Time left: ")
    address = re.search(r"^(https?://\S+/device)\r$", terminal.shown, re.M)[1]
    return terminal, address, re.search(r"^([A-Z0-9]{4}-[A-Z0-9]{4})\r$", terminal.shown, re.M)[1]


@pytest.fixture
def far(person, children):
    """A person whose provider shows the page for the code at an address that other devices reach."""
    def answer(head):
        path = head.split()[1].decode()
        if path == "/device_authorization":
            return json_answer({
                "device_code": "a-device-code", "user_code": "WDJB-MJHT", "verification_uri": FAR,
                "verification_uri_complete": f"{FAR}?user_code=WDJB-MJHT", "expires_in": 600, "interval": 5})
        if path == "/token":
            return json_answer({"error": "authorization_pending"}, "400 Bad Request")
        return json_answer({
            "issuer": server.url, "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
            "authorization_endpoint": f"{server.url}/authorize", "token_endpoint": f"{server.url}/token",
            "device_authorization_endpoint": f"{server.url}/device_authorization", "jwks_uri": f"{server.url}/jwks",
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]})

    server = RawServer(answer)
    children.append(server)
    person.settings |= {"CREDENTIAL_VAULT_ISSUER": server.url, "CREDENTIAL_VAULT_CLIENT_ID": "an-app"}
    return person


def test_a_code_that_is_entered_elsewhere_registers_the_account(person):
    program, address, code = start(person, "--device", "--alias", "me")
    wait_until(lambda: "The code is valid for 10 minutes." in program.err, "the code's lifetime")
    assert connect(address, code).status == 0
    result = program.wait()
    assert result.status == 0 and result.out.startswith("Registered me (")
    assert "█" not in result.err and "\x1b" not in result.err, "no drawing where there is no terminal"
    assert person.vault("login", password=PASSWORD).status == 0


def test_with_json_the_address_and_the_code_stand_alone(person):
    program, address, code = start(person, "--method", "device", "--json")
    connect(address, code)
    result = program.wait()
    assert result.status == 0 and result.json["method"] == "openid-connect"
    assert result.err == f"{address}\n{code}\n"


def test_another_program_is_told_line_by_line(person):
    told = person.folder / "told"
    with open(told, "wb") as file:
        program = person.start(
            "register", "--device", "--status-fd", file.fileno(), "--password-file", person.password_file(),
            pass_fds=[file.fileno()])

    def event(number):
        lines = told.read_text().split("\n")  # the text after the last line feed is not complete yet
        return json.loads(lines[number]) if len(lines) > number + 1 else None
    device = wait_until(lambda: event(0), "the first event")
    assert device["event"] == "device" and device["verification_uri_complete"].endswith(device["user_code"])
    end = time.mktime(time.strptime(device["expires_at"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    assert 0 < end - time.time() <= 601
    assert connect(device["verification_uri"], device["user_code"]).status == 0
    signed_in = wait_until(lambda: event(1), "the second event")
    assert signed_in["event"] == "signed_in" and signed_in["issuer"] == person.settings["CREDENTIAL_VAULT_ISSUER"]
    assert program.wait().status == 0
    assert told.read_text().count("\n") == 2


def test_a_descriptor_that_is_none_is_refused(person):
    result = person.vault("register", "--device", "--status-fd", "77", password=PASSWORD)
    assert result.status == 78 and "77" in result.err


@pytest.mark.parametrize("background", [BLACK, WHITE], ids=["dark", "light"])
def test_the_printed_code_scans(far, tmp_path, background):
    terminal, address, code = at_terminal(far, "--device")
    lines = code_lines(terminal.shown)
    assert scan(pixels(lines, WHITE - background, background), tmp_path) == f"{address}?user_code={code}"
    terminal.press("c")
    assert terminal.end() == 82


def test_the_printed_code_scans_without_colours(far, tmp_path):
    terminal, address, code = at_terminal(far, "--device", env={"NO_COLOR": "1"})
    assert "\x1b[3" not in terminal.shown and "\x1b[4" not in terminal.shown
    assert scan(pixels(code_lines(terminal.shown), WHITE, BLACK), tmp_path) == f"{address}?user_code={code}"
    terminal.press("c")
    assert terminal.end() == 82


def test_when_only_this_machine_reaches_the_address_then_no_code_is_drawn(person):
    terminal, _, _ = at_terminal(person, "--device")
    assert code_lines(terminal.shown) == [] and "scan" not in terminal.shown
    terminal.press("c")
    assert terminal.end() == 82


def test_when_libqrencode_is_missing_then_its_package_is_named(far, tmp_path):
    machine = WithoutLibrary(tmp_path, "libqrencode.so.4")
    terminal, _, _ = at_terminal(far, shell="exec " + shlex.join(machine.enter(VAULT, "register", "--device")))
    assert not code_lines(terminal.shown)
    assert (
        "There is no code to scan. The library libqrencode.so.4 (Debian: libqrencode4) is missing. "
        "As root: apt install libqrencode4") in terminal.shown
    terminal.press("c")
    assert terminal.end() == 82


@pytest.mark.parametrize("shell", [
    'stty cols 30 rows 50; exec "$VAULT" register --device', 'stty cols 200 rows 12; exec "$VAULT" register --device',
], ids=["narrow", "low"])
def test_where_no_code_fits_none_is_drawn(far, shell):
    terminal, _, _ = at_terminal(far, shell=shell)
    assert code_lines(terminal.shown) == []
    terminal.press("c")
    assert terminal.end() == 82


def test_the_person_chooses_a_password_afterwards(person):
    terminal, address, code = at_terminal(person, "--device")
    assert connect(address, code).status == 0
    for prompt in ("New password", "again: "):
        terminal.expect(prompt)
        assert not terminal.echoes
        terminal.type(PASSWORD)
    assert terminal.end() == 0
    assert person.vault("login", password=PASSWORD).status == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(person, number):
    program, _, _ = start(person, "--device")
    program.signal(number)
    assert program.wait().status == (82 if number == signal.SIGINT else -number)
    assert person.vault("users", "--json").json == []


def test_whoever_says_no_registers_nothing(person):
    program, address, code = start(person, "--device")
    connect(address, code, "alice", "--deny")
    result = program.wait()
    assert result.status == 82 and "denied" in result.err
    assert person.vault("users", "--json").json == []


def test_a_code_that_is_not_entered_in_time(person, children):
    """The provider's codes expire before the first poll."""
    class Provider(BaseHTTPRequestHandler):
        def answer(self, content):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def do_GET(self):
            base = f"http://127.0.0.1:{self.server.server_port}"
            endpoints = ["authorization_endpoint", "token_endpoint", "jwks_uri", "device_authorization_endpoint"]
            self.answer({"issuer": base, **{name: f"{base}/{name}" for name in endpoints}})

        def do_POST(self):
            base = f"http://127.0.0.1:{self.server.server_port}"
            self.answer({
                "device_code": "secret", "user_code": "ABCD-EFGH", "verification_uri": f"{base}/device",
                "expires_in": 90, "interval": 3600})

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        issuer = f"http://127.0.0.1:{server.server_port}"
        result = person.vault("register", "--device", "--issuer", issuer, password=PASSWORD)
        server.shutdown()
    assert result.status == 82, result
    assert "valid for 90 seconds" in result.err and "not entered in time. Start again." in result.err


def test_the_setting_gives_way_to_a_browser_that_is_asked_for(person):
    assert person.vault("config", "set", "method", "device").status == 0
    program, _, _ = start(person)
    program.kill()
    program = person.start("register", "--no-browser", "--password-file", person.password_file())
    program.wait_for(re.compile(r"^http://\S+/authorize\S+$", re.M), "err")


def test_it_is_what_happens_where_there_is_no_browser(person):
    program, address, code = start(person, env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": "/usr/bin:/bin"})
    typed = rf"(type: vault register \S.* --no-browser|add --no-browser)\nTo sign in, open this address on this machine:\n{address}\n"
    assert re.search(f"There is no browser here. To use one on this machine, stop with Ctrl-C and {typed}", program.err)
    connect(address, code)
    assert program.wait().status == 0


def test_without_a_browser_and_without_device_codes_the_address_is_printed(person, tmp_path, children):
    children.append(services := DevelopmentServices(tmp_path, "--no-device"))
    person = Person(tmp_path, services.environment, children)
    nowhere = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": "/usr/bin:/bin"}
    program = person.start("register", "--password-file", person.password_file(), env=nowhere)
    url = program.wait_for(re.compile(r"^(http://\S+/authorize\S+)$", re.M), "err")[1]
    assert "--paste" in program.err
    assert run([VAULT_DEV, "browse", url]).status == 0
    assert program.wait().status == 0
    result = person.vault("register", "--device", password=PASSWORD)
    assert result.status == 78 and "--paste" in result.err


def test_a_browser_that_was_asked_for_is_not_replaced(person):
    """--no-browser, --paste and --method browser keep their meaning if there is no browser."""
    for option in ("--no-browser", "--method=browser"):
        program = person.start(
            "register", option, "--password-file", person.password_file(), env={"DISPLAY": "", "PATH": "/usr/bin:/bin"})
        program.wait_for(re.compile(r"^http://\S+/authorize\S+$", re.M), "err")
        program.kill()
