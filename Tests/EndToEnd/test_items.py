"""An app's secrets at the command line: `vault item`."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.person import PASSWORD
from support.programs import VAULT, run
from support.waiting import wait_until

LARGE = 16 * 2**20


def some_bytes(size, salt=b""):
    """Returns bytes that look random but are the same each time."""
    return hashlib.shake_128(salt + b"item").digest(size)


def put(person, name, content, *options, **more):
    """Stores an item. Standard input holds the value, so the password comes from a file."""
    command = ("item", "set", name, "--password-file", person.password_file(), *options)
    return person.vault(*command, input=content, stdin=None, **more)


def get(person, name, *options, password=PASSWORD, env=None):
    """Returns an item's bytes."""
    file = person.password_file(password)
    done = subprocess.run(
        person.command(VAULT, "item", "get", name, "--password-file", file, *options), capture_output=True,
        stdin=subprocess.DEVNULL, start_new_session=True, env=person.environment(**(env or {})), timeout=90)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize("size", [1, 65_536, 65_537, 3_000_000, LARGE])
def test_bytes_come_back_as_they_were_stored(alice, size):
    content = some_bytes(size)
    assert put(alice, "note", content).status == 0
    assert get(alice, "note") == content
    assert content[:64] not in b"".join(alice.files().values()) or size < 64, "it lies sealed"
    assert alice.vault("status", "--json").json["items"] == ["note"]


def test_an_item_too_large_is_refused_and_the_old_one_stays(alice):
    assert put(alice, "note", b"old").status == 0
    result = put(alice, "note", some_bytes(LARGE + 1), "--json")
    assert (result.status, result.error["code"]) == (64, "itemTooLarge")
    assert "16 MiB" in result.error["message"]
    assert get(alice, "note") == b"old"


def test_when_the_input_is_empty_then_the_old_item_stays(anna):
    assert put(anna, "note", b"old").status == 0
    assert anna.vault("login", password=PASSWORD).status == 0
    # The agent holds the account open. With the password, the command opens it itself.
    for result in (anna.vault("item", "set", "note", input=b"", stdin=None), put(anna, "note", b"")):
        assert (result.status, result.err) == (78, "vault: The value is empty. Nothing was changed.\n"), result
    terminal = anna.terminal("item", "set", "note")
    terminal.expect("Value of note: ")
    terminal.type("")
    assert terminal.end() == 78 and "The value is empty. Nothing was changed." in terminal.shown, terminal.shown
    assert get(anna, "note") == b"old"


def test_list_and_remove(alice):
    assert alice.vault("item", "list", "--json").json == []
    for name in ("b", "a", "größe/1"):
        assert put(alice, name, name.encode()).status == 0
    # The names need no password.
    assert alice.vault("item", "list").out == "a\nb\ngröße/1\n"
    assert alice.vault("item", "list", "--json").json == [{"name": "a"}, {"name": "b"}, {"name": "größe/1"}]
    assert alice.vault("item", "rm", "a", password=PASSWORD).out == "Removed a.\n"
    assert alice.vault("item", "rm", "b", "--json", password=PASSWORD).json == {"name": "b", "removed": True}
    assert alice.vault("item", "list").out == "größe/1\n"
    for command in ("rm", "get"):
        missing = alice.vault("item", command, "a", password=PASSWORD)
        assert missing.status == 66 and "See: vault item list --user alice" in missing.err
        assert alice.vault("item", command, "a", "--json", password=PASSWORD).error["code"] == "itemNotFound"


def test_as_json(alice):
    assert put(alice, "text", "größe\n".encode(), "--json").json == {"name": "text", "stored": True}
    assert put(alice, "bytes", b"\xff\x00").status == 0
    text = alice.vault("item", "get", "text", "--json", password=PASSWORD).json
    assert text == {"name": "text", "size": 8, "text": "größe\n"}
    assert alice.vault("item", "get", "bytes", "--json", password=PASSWORD).json == {
        "name": "bytes", "size": 2, "base64": "/wA="}


@pytest.mark.parametrize("options", [("--password-file", "-"), ("--password-fd", "0")], ids=" ".join)
def test_standard_input_is_the_value_and_not_the_password(alice, options):
    result = alice.vault("item", "set", "note", *options, input=b"x", stdin=None)
    assert result.status == 64 and "--password-file PATH" in result.err
    assert alice.vault("item", "list", "--json").json == []


@pytest.mark.parametrize("name", ["vault/refresh-token", "", "a\nb"])
def test_names_that_no_item_can_have(alice, name):
    for result in (put(alice, name, b"x"), alice.vault("item", "get", name, password=PASSWORD),
                   alice.vault("item", "rm", name, password=PASSWORD)):
        assert result.status == 78 and "name" in result.err
        assert not result.out


def test_a_wrong_password_shows_nothing(alice):
    assert put(alice, "note", b"secret").status == 0
    for result in (alice.vault("item", "get", "note", password="wrong"),
                   alice.vault("item", "rm", "note", password="wrong")):
        assert result.status == 77 and "secret" not in result.out + result.err
    assert get(alice, "note") == b"secret"


def test_a_typed_value_may_have_a_tab(alice):
    terminal = alice.terminal("item", "set", "note", "--password-file", alice.password_file())
    terminal.expect("Value of note: ")
    terminal.type("ward\t4")
    assert terminal.end() == 0
    assert get(alice, "note") == b"ward\t4"


def test_at_a_terminal_the_value_is_typed_unseen_and_shown_after_a_question(alice):
    file = alice.password_file()
    terminal = alice.terminal("item", "set", "note", "--password-file", file)
    terminal.expect("Value of note: ")
    terminal.type("Room 4: bandage")
    assert terminal.end() == 0
    assert "bandage" not in terminal.shown
    assert get(alice, "note") == b"Room 4: bandage"

    terminal = alice.terminal("item", "get", "note", "--password-file", file)
    terminal.expect("Show note on this terminal? [y/N] ")
    terminal.type("n")
    assert terminal.end() == 82
    assert "bandage" not in terminal.shown
    terminal = alice.terminal("item", "get", "note", "--password-file", file)
    terminal.expect("[y/N] ")
    terminal.type("y")
    terminal.expect("Room 4: bandage\r\n")
    assert terminal.end() == 0
    terminal = alice.terminal("item", "get", "note", "--yes", "--password-file", file)
    terminal.expect("Room 4: bandage\r\n")
    assert terminal.end() == 0 and "[y/N]" not in terminal.shown

    assert put(alice, "note", b"\xff\x1b[2J").status == 0
    terminal = alice.terminal("item", "get", "note", "--yes", "--password-file", file)
    terminal.expect("is not text")
    assert terminal.end() == 82
    assert put(alice, "note", b"a\x1b[2Jb").status == 0
    terminal = alice.terminal("item", "get", "note", "--yes", "--password-file", file)
    assert terminal.end() == 0 and "\x1b[2J" not in terminal.shown


def test_offline_and_with_a_dead_refresh_token(person, tmp_path, own_services):
    person.settings = dict(own_services.environment)
    person.registered()
    assert person.vault("unlock", "add", "offline", "--yes", password=PASSWORD).status == 0
    assert put(person, "note", some_bytes(100_000)).status == 0
    own_services.kill()
    assert get(person, "note") == some_bytes(100_000)
    assert put(person, "note", b"new").status == 0
    assert get(person, "note") == b"new"


def test_when_the_provider_refuses_the_account(alice):
    assert put(alice, "note", b"old").status == 0
    copy = alice.folder / "copy"
    shutil.copytree(alice.home, copy)
    assert alice.vault("login", password=PASSWORD).status == 0
    # The copy's token was already rotated. Its use reveals the theft, and the provider revokes both.
    reused = alice.vault("login", password=PASSWORD, env={"CREDENTIAL_VAULT_HOME": copy})
    assert reused.status == 81 and "or an older copy of the store was used" in reused.err, reused
    assert alice.vault("token", "--refresh", password=PASSWORD).status == 81
    assert get(alice, "note") == b"old"
    assert put(alice, "note", b"new").status == 0
    assert get(alice, "note") == b"new"


def test_when_the_reader_of_an_item_goes_then_vault_is_quiet(alice):
    assert put(alice, "note", some_bytes(1_000_000)).status == 0
    script = f'"$VAULT" item get note --password-file "{alice.password_file()}" | head -c 10 > /dev/null'
    result = run(["bash", "-c", f"set -o pipefail; {script}"], alice.environment(VAULT=VAULT))
    assert (result.status, result.err) == (0, "")


def waiting_set(person, content, **more):
    """Starts `vault item set`, which has read `content` and waits for the rest."""
    program = person.start(
        "item", "set", "note", "--password-file", person.password_file(), stdin=subprocess.PIPE, **more)
    program.process.stdin.write(content)
    program.process.stdin.flush()
    # The command has read all but a pipe's capacity, so it has already opened the account.
    return program


@pytest.mark.parametrize("old", [b"old", some_bytes(5_000_000, b"old")], ids=["small", "large"])
@pytest.mark.parametrize("new", [b"new", some_bytes(5_000_000)], ids=["small", "large"])
@pytest.mark.parametrize("point", ["item-sealed", "item-half-written", "item-stored"])
def test_a_crash_while_an_item_is_stored(alice, old, new, point):
    if point == "item-half-written" and len(new) < 100:
        pytest.skip("a small item is one row")
    assert put(alice, "note", old).status == 0
    died = put(alice, "note", new, env={"CREDENTIAL_VAULT_FAULT": point})
    assert died.status == -signal.SIGKILL
    assert get(alice, "note") == (new if point == "item-stored" else old)
    assert not [path for path in alice.home.iterdir() if "chunks" in path.name]
    assert put(alice, "note", b"again").status == 0
    assert alice.sql("SELECT count(*) FROM chunk") == [(0,)]
    assert alice.sql("PRAGMA integrity_check") == [("ok",)] and alice.sql("PRAGMA foreign_key_check") == []


def test_a_kill_in_the_middle_of_the_input(alice):
    old = some_bytes(1_000_000, b"old")
    assert put(alice, "note", old).status == 0
    program = waiting_set(alice, some_bytes(4_000_000))
    program.signal(signal.SIGKILL)
    assert program.wait().status == -signal.SIGKILL
    assert get(alice, "note") == old
    assert not [path for path in alice.home.iterdir() if "chunks" in path.name]


def test_a_slow_value_keeps_nobody_from_the_account(alice):
    program = waiting_set(alice, some_bytes(4_000_000))
    assert alice.vault("token", "--refresh", password=PASSWORD).status == 0
    assert put(alice, "note", b"meanwhile").status == 0
    program.process.stdin.close()
    assert program.wait().status == 0
    assert get(alice, "note") == some_bytes(4_000_000)


def test_on_a_full_disk_the_old_value_stays(alice, tmp_path, children):
    from support.disk import SmallDisk
    disk = SmallDisk(tmp_path / "disk", size="8m")
    children.append(disk)
    disk.shell(f"cp {alice.home}/vault.sqlite* {disk.folder}/ && chmod 600 {disk.folder}/vault.sqlite*")
    alice.disk, alice.home = disk, disk.folder
    assert put(alice, "note", b"old").status == 0
    full = put(alice, "note", some_bytes(LARGE), "--json")
    assert (full.status, full.error["code"]) == (74, "storeUnreadable")
    assert "The disk is full. Nothing was changed." in full.error["message"]
    full = put(alice, "note", some_bytes(5_000_000), "--json")  # the chunks fit, but the transaction does not
    assert "The disk is full. Nothing was changed." in full.error["message"]
    assert get(alice, "note") == b"old"
    assert put(alice, "note", some_bytes(1_000_000)).status == 0


def peak(program):
    """Returns the highest memory use of a process since `reset_peak`, in KiB."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{program.pid}/status").read_text())[1])


def reset_peak(program):
    Path(f"/proc/{program.pid}/clear_refs").write_text("5")


@pytest.mark.skipif(os.geteuid() != 0, reason="the program lets only root look at its memory")
def test_memory_does_not_grow_with_the_item(alice):
    """Opening the account needs 64 MiB for Argon2, so the test measures the peak after that."""
    peaks, small = {}, 300_000
    for size in (small, LARGE):
        content = some_bytes(size)
        program = waiting_set(alice, content[:90_000])
        # The command reads the value after it has opened the account.
        wait_until(lambda: any("chunks" in os.readlink(file) for file in descriptors(program)), "the first chunk")
        reset_peak(program)
        program.process.stdin.write(content[90_000:])
        program.process.stdin.close()
        highest = 0
        while program.process.poll() is None:
            try:
                highest = max(highest, peak(program))
            except (FileNotFoundError, TypeError, ProcessLookupError):
                break
            time.sleep(0.002)
        assert program.wait().status == 0
        peaks["set", size] = highest

        process = subprocess.Popen(
            [VAULT, "item", "get", "note", "--password-file", alice.password_file()], stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, start_new_session=True, env=alice.environment())
        first = os.read(process.stdout.fileno(), 1)
        reset_peak(process)
        rest = bytearray()
        while len(rest) < size - 140_000:  # the rest exceeds the pipe's capacity, so the program still waits
            rest += os.read(process.stdout.fileno(), 65_536)
        peaks["get", size] = peak(process)
        rest += process.stdout.read()
        assert process.wait(90) == 0 and first + rest == content
    print(json.dumps({f"{command} {size}": value for (command, size), value in peaks.items()}))
    for command in ("set", "get"):
        assert peaks[command, LARGE] < peaks[command, small] + 6 * 1024, peaks


def descriptors(program):
    return [path for path in Path(f"/proc/{program.pid}/fd").iterdir()]
