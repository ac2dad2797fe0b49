"""The rows of the threat model that only the whole programs can show. See Tests/threats.py."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import pytest
import requests
from support.agent import agent_process, socket_of
from support.oprf import (
    Guess, OPRFKey, Record, Signer, derive, encode, finalize, message, multiply, unseal)
from support.own_user import OwnUser
from support.person import OTHER_PASSWORD, PASSWORD, Person
from support.programs import KEY_SERVICE, run
from support.thief import guess, thief_of
from test_devices import machine  # noqa: F401 (a fixture)
from test_owned_devices import service  # noqa: F401 (a fixture)
from test_unlock import PIN, kinds, with_pin  # noqa: F401 (a fixture)

AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can act as another user")
CONNECT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    connection.settimeout(20)
    print(connection.recv(1))
"""


# Row: only the id of a key
def test_when_somebody_has_only_an_id_then_nothing_changes(key_service):
    key = OPRFKey(key_service.url).make()
    stranger, signer = OPRFKey(key_service.url, key_id=key.id), Signer(bytes(32))
    answers = [
        stranger.create(), *(stranger.evaluate(Guess(b"%d" % number)) for number in range(5)),
        stranger.confirm(signer, bytes(16)), stranger.confirm(signer, bytes(16), first=True), stranger.finish(),
        stranger.post(f"/keys/{key.id}/claim", {"signature": encode(bytes(64))}, Authorization="Bearer x"),
        stranger.post(f"/devices/{key.id}/revoke", {}, Authorization="Bearer x"),
        requests.post(f"{key_service.url}/keyservice/v1/key", json={"keyid": key.id, "secret": "x"}, timeout=30),
    ]
    assert all(400 <= answer.status_code < 500 for answer in answers), [answer.text for answer in answers]
    assert key_service.keys()[key.id]["guessesRemaining"] == 3
    assert key.log_in()


class Argon2(ctypes.Structure):
    """`argon2_context` of libargon2."""

    _fields_ = [
        (name, kind) for part in ("out", "password", "salt", "secret", "data")
        for name, kind in ((part, ctypes.c_char_p), (f"{part}_size", ctypes.c_uint32))
    ] + [(name, ctypes.c_uint32) for name in ("passes", "memory", "lanes", "threads", "version")] + [
        ("allocate", ctypes.c_void_p), ("free", ctypes.c_void_p), ("flags", ctypes.c_uint32)]

    @staticmethod
    def id(password, salt, secret, passes, memory, lanes):
        out = ctypes.create_string_buffer(64)
        context = Argon2(
            ctypes.cast(out, ctypes.c_char_p), 64, password, len(password), salt, len(salt), secret, len(secret),
            None, 0, passes, memory, lanes, lanes, 0x13, None, None, 0)
        assert ctypes.CDLL("libargon2.so.1").argon2id_ctx(ctypes.byref(context)) == 0
        return out.raw


# Row: the service's database and master key; later the disk
def test_when_a_thief_has_both_sides_then_each_guess_is_one_argon2id(person, key_service):
    person.settings |= {"CREDENTIAL_VAULT_KEY_SERVICE": key_service.url, "CREDENTIAL_VAULT_CHEAP_ARGON2": "0"}
    person.registered("--no-agent")
    # From here on, nobody asks the service.
    key_service.kill()
    ((id, check, secret, salt, *cost),) = person.sql(
        "SELECT key_id, check_key, device_secret, salt, argon2_passes, argon2_memory_kib, argon2_lanes"
        " FROM keyslot JOIN account ON account.id = account_id")
    assert cost == [3, 65536, 4]
    with contextlib.closing(sqlite3.connect(key_service.data / "keys.sqlite")) as database:
        ((content,),) = database.execute("SELECT content FROM key_record WHERE id = ?", (id,)).fetchall()
    function = Record(content, id, (key_service.secrets / "master.key").read_bytes()).function
    right = []
    for password in (OTHER_PASSWORD, "a wrong password", PASSWORD):
        typed = Guess(Argon2.id(password.encode(), salt, secret, *cost))
        output = finalize(typed.secret, typed.blind, multiply(function, typed.blinded))
        if Signer(derive(output, message("confirm", id.encode()))).public == check:
            right.append(password)
    assert right == [PASSWORD]


# Row: an older database, and puts it back into the service
def test_when_the_database_goes_back_then_ended_keys_have_one_guess(key_service, tmp_path):
    key = OPRFKey(key_service.url).make()
    database = key_service.data / "keys.sqlite"
    assert run([KEY_SERVICE, "backup", "--data", key_service.data, "--to", tmp_path / "old"]).status == 0
    assert key.finish().status_code == 200
    # A service that is killed has not raised its mark for the last half a second.
    key_service.program.signal(signal.SIGTERM)
    assert key_service.program.wait().status == 0
    for path in key_service.data.glob("keys.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "old", database)
    refused = run([KEY_SERVICE, "serve", "--data", key_service.data, "--listen", "127.0.0.1:0"])
    assert refused.status == 78 and "older than its high-water mark" in refused.err, refused
    assert run([KEY_SERVICE, "accept-rollback", "--data", key_service.data]).status == 0
    key_service.start()
    thief = OPRFKey(key_service.url, key_id=key.id)
    thief.request_key = key.request_key
    assert [thief.evaluate(Guess(b"%d" % number)).status_code for number in range(4)].count(200) == 1


# Row: the password, and you log in with the PIN
def test_when_a_thief_knows_the_password_then_a_new_one_helps(with_pin):  # noqa: F811
    thief = thief_of(with_pin)
    new = with_pin.password_file(OTHER_PASSWORD, "new")
    changed = with_pin.vault("passwd", "--pin", "--drop-other-methods", "--new-password-file", new, password=PIN)
    assert changed.status == 0, changed
    assert kinds(with_pin) == ["password"]
    assert guess(with_pin, secret=PASSWORD) == "wrongSecret"
    assert with_pin.vault("login", password=OTHER_PASSWORD).status == 0
    assert [guess(thief, secret=PASSWORD), guess(thief, "--pin", secret=PIN)] == ["keyMissing", "keyMissing"]


# Row: an access token that a program has
def test_when_a_machine_is_revoked_then_its_access_token_still_works(machine, django):  # noqa: F811
    laptop, desk = machine("laptop"), machine("desk")
    token = laptop.vault("token", password=PASSWORD).out.strip()
    lost = laptop.this_device()["id"]
    assert desk.vault("devices", "revoke", lost, "--yes", password=PASSWORD).status == 0
    assert laptop.vault("token", "--refresh", password=PASSWORD).status == 80
    metadata = requests.get(f"{django.issuer}/.well-known/openid-configuration", timeout=30).json()
    answer = requests.get(metadata["userinfo_endpoint"], headers={"Authorization": f"Bearer {token}"}, timeout=30)
    assert answer.status_code == 200, answer.text


@pytest.fixture
def someone(services, children):
    """A person who is not root, with an open session in the agent."""
    folder = Path(tempfile.mkdtemp(prefix="someone-"))
    person = Person(folder, services.environment, children).registered("--no-agent")
    runtime = folder / "r"
    runtime.mkdir(mode=0o700)
    person.disk = OwnUser()
    person.settings |= {"XDG_RUNTIME_DIR": runtime, "HOME": folder}
    person.disk.own(folder)
    assert person.vault("login", password=PASSWORD).status == 0
    yield person
    person.vault("agent", "stop", "--force")
    shutil.rmtree(folder)


# Row: other users of the machine
@AS_ROOT
def test_when_another_user_connects_then_the_agent_closes_the_connection(someone):
    socket = socket_of(someone.folder / "r")
    # The modes of the folders and the socket would be enough, so they are opened here.
    for path in (someone.folder, socket.parent.parent, socket.parent):
        path.chmod(0o755)
    socket.chmod(0o666)
    stranger = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    assert run([*stranger, "/usr/bin/python3", "-c", CONNECT, socket]).out == "b''\n"
    socket.chmod(0o600)
    for path in (someone.folder, socket.parent.parent, socket.parent):
        path.chmod(0o700)
    assert someone.vault("token").status == 0


# Row: programs of the same user
# Row: root
@AS_ROOT
def test_when_root_reads_the_agent_then_the_vault_key_is_there(someone):
    process = agent_process(someone)
    refused = run(someone.disk.enter("head", "-c1", f"/proc/{process}/mem"))
    assert refused.status != 0 and "Permission denied" in refused.err, refused
    ((issuer, subject, sealed),) = someone.sql(
        "SELECT issuer, subject, sealed FROM account JOIN item ON account.id = account_id"
        " WHERE name = 'vault/refresh-token'")
    context = ("credential-vault/v1/item", issuer, subject, "vault/refresh-token", "")
    opened = [text for key in keys_in_guarded_memory(process) if (text := opened_with(key, sealed, context))]
    assert opened and b'"value"' in opened[0]


def keys_in_guarded_memory(process):
    """Yields the start of each block of guarded memory. A block has 512 bytes, and a page without access follows."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            if found := re.match(r"[0-9a-f]+-([0-9a-f]+) rw-p .* 0 *$", line):
                memory.seek(int(found[1], 16) - 512)
                yield memory.read(32)


def opened_with(key, sealed, context):
    try:
        return unseal(sealed, key, *context)
    except ValueError:
        return None
