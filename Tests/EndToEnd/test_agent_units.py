"""The units that `vault agent install` writes, as systemd reads them."""

import re

import pytest
from support.programs import run


@pytest.fixture
def installed(anna):
    result = anna.vault("agent", "install", "--json")
    assert result.status == 0, result
    return result.json["written"]


def verify(anna, paths):
    return run(["systemd-analyze", "--user", "--man=no", "verify", *paths], anna.environment())


def test_systemd_takes_the_units(anna, installed):
    result = verify(anna, installed)
    # systemd-analyze also prints a message for an unknown setting, but ends with 0.
    assert (result.status, result.out, result.err) == (0, "", "")


def test_systemd_says_what_is_wrong(anna, installed):
    """Proves that the test above can fail."""
    service = next(path for path in installed if path.endswith(".service"))
    with open(service, "a") as file:
        file.write("NoSuchSetting=yes\n")
    assert "NoSuchSetting" in verify(anna, installed).err


def test_the_socket_is_the_one_that_the_command_looks_for(anna, installed, runtime):
    socket = next(path for path in installed if path.endswith(".socket"))
    with open(socket) as file:
        listen = re.search(r"^ListenStream=%t(/\S+)$", file.read(), re.M)[1]
    assert anna.vault("agent", "start").status == 0
    assert [str(path) for path in (runtime / "credential-vault").glob("*.sock")] == [f"{runtime}{listen}"]


def test_uninstalling_removes_them(anna, installed):
    assert sorted(anna.vault("agent", "uninstall", "--json").json["removed"]) == sorted(installed)
    assert anna.vault("agent", "uninstall").out == "There were no units.\n"
