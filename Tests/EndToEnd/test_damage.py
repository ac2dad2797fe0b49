"""A store that is damaged, foreign, newer, or open to others. The command reports this clearly and deletes nothing."""

import shlex
import sqlite3

import pytest
from support.person import PASSWORD, OTHER_PASSWORD


@pytest.fixture
def two(person, services):
    services.prepare(
        "two", person, lambda: person.registered().registered(user="bob", password=OTHER_PASSWORD))
    return person


def login(person, user="alice", password=PASSWORD):
    return person.vault("login", "--user", user, password=password)


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "cut off in a page": lambda content: content[:5000],
    "empty": lambda content: b"",
    "all zero": lambda content: bytes(len(content)),
    "garbage": lambda content: bytes((i * 7919 >> 3) % 251 for i in range(len(content))),
    "no header": lambda content: bytes(100) + content[100:],
    "zeroed after the header": lambda content: content[:100] + bytes(len(content) - 100),
    "another program's database": lambda content: other_database(),
}


def other_database():
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY)")
    return database.serialize()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database(two, damage):
    two.sql("SELECT 1")  # copies everything from SQLite's log into the database
    whole = two.database.read_bytes()
    two.database.write_bytes(DAMAGES[damage](whole))
    before = two.files()
    for command in (["users"], ["login", "--user", "alice"], ["delete", "--user", "alice", "--yes"], ["status"]):
        result = two.vault(*command, password=PASSWORD if command[0] == "login" else None)
        assert result.status == 65, (command, result)
        assert "damaged" in result.err or "cut off" in result.err or "not a store" in result.err, result
        assert result.err.count("\n") == 1 and "SQL" not in result.err
    after = two.files()
    assert {name: after.get(name) for name in before} == before
    # After the repair, it works as before.
    two.database.write_bytes(whole)
    assert login(two).status == 0 and login(two, "bob", OTHER_PASSWORD).status == 0


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_keeps_its_log(two, damage):
    """SQLite's log may hold the only copy of the last changes, so the log stays, even if the database is damaged."""
    assert login(two).status == 0
    before = two.files()
    assert before["vault.sqlite-wal"]
    whole = two.database.read_bytes()
    two.database.write_bytes(DAMAGES[damage](whole))
    for command in ("users", "status"):
        result = two.vault(command, "--json")
        assert result.status in (65, 66) or result.status == 0 and len(result.json) == 2, result
    two.database.write_bytes(whole)
    assert two.files() == before
    assert login(two).status == 0 and login(two, "bob", OTHER_PASSWORD).status == 0


BLOBS = [("account", "device_secret"), ("account", "checksum"), ("keyslot", "salt"), ("keyslot", "wrapped"),
         ("keyslot", "checksum"), ("item", "sealed")]


@pytest.mark.parametrize("table, column", BLOBS, ids=lambda name: name)
@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_flipped_bit_in_what_is_stored(two, table, column, place):
    account = "id" if table == "account" else "account_id"
    where = f"{account} = (SELECT id FROM account WHERE preferred_username = 'alice')"
    if table == "item":
        where += " AND name = 'vault/refresh-token'"
    ((blob,),) = two.sql(f"SELECT {column} FROM {table} WHERE {where}")
    damaged = bytearray(blob)
    damaged[place] ^= 0x10
    two.sql(f"UPDATE {table} SET {column} = ? WHERE {where}", bytes(damaged))
    before = two.stored()
    for _ in range(4):  # more attempts than guesses, because damage must not cost a guess
        result = login(two)
        assert result.status == 65, result
        assert result.out == "" and "damaged" in result.err or "does not open" in result.err, result
    assert two.stored() == before
    assert login(two, "bob", OTHER_PASSWORD).status == 0
    two.sql(f"UPDATE {table} SET {column} = ? WHERE {where}", blob)
    assert login(two).status == 0


@pytest.mark.parametrize("table, column", [("account", "device_secret"), *BLOBS[2:4], BLOBS[5]], ids=lambda name: name)
def test_swapped_rows(two, table, column):
    """Alice's data does not open as bob's, and bob's does not open as alice's."""
    name = " AND name = 'vault/refresh-token'" if table == "item" else ""
    account = "id" if table == "account" else "account_id"

    def swap():
        (alice, a), (bob, b) = [
            (id, two.sql(f"SELECT {column} FROM {table} WHERE {account} = ?{name}", id)[0][0])
            for (id,) in two.sql("SELECT id FROM account ORDER BY id")]
        two.sql(f"UPDATE {table} SET {column} = ? WHERE {account} = ?{name}", b, alice)
        two.sql(f"UPDATE {table} SET {column} = ? WHERE {account} = ?{name}", a, bob)

    swap()
    before = two.stored()
    assert login(two).status == 65
    assert login(two, "bob", OTHER_PASSWORD).status == 65
    assert two.stored() == before
    swap()
    assert login(two).status == 0 and login(two, "bob", OTHER_PASSWORD).status == 0


def test_a_whole_keyslot_given_to_somebody_else(two):
    """Bob's password must not open alice's account, even if somebody changes the database."""
    two.sql("UPDATE keyslot SET account_id = (SELECT max(id) + min(id) FROM account) - account_id")
    assert login(two).status == 65
    assert login(two, "alice", OTHER_PASSWORD).status == 65


def test_a_row_with_values_of_impossible_cost(two):
    two.sql("UPDATE keyslot SET argon2_memory_kib = 4294967295")
    assert login(two).status == 65


def test_a_store_of_a_newer_version_is_left_alone(two):
    two.sql("INSERT INTO grdb_migrations VALUES ('999 of the future')")
    before = two.stored()
    for command in (["users"], ["delete", "--yes", "--user", "alice"]):
        result = two.vault(*command)
        assert result.status == 74 and "newer version" in result.err
    assert login(two).status == 74
    assert two.register().status == 74
    assert two.stored() == before
    two.sql("DELETE FROM grdb_migrations WHERE identifier LIKE '999%'")
    assert login(two).status == 0


@pytest.mark.parametrize("what, mode, right", [
    ("home", 0o755, "700"), ("home", 0o710, "700"), ("home", 0o777, "700"),
    ("database", 0o644, "600"), ("database", 0o640, "600"), ("database", 0o602, "600"),
])
def test_a_store_that_is_open_to_others(alice, what, mode, right):
    path = getattr(alice, what)
    path.chmod(mode)
    result = login(alice)
    assert result.status == 78
    assert f"Type: chmod {right} {shlex.quote(str(path))}" in result.err
    path.chmod(int(right, 8))
    assert login(alice).status == 0


def test_a_link_in_place_of_the_store(alice):
    for path in (alice.database, alice.home):
        elsewhere = path.with_name(path.name + "-elsewhere")
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        assert alice.vault("users").status == 78
        path.unlink()
        elsewhere.rename(path)
    assert login(alice).status == 0


def test_a_file_in_place_of_the_folder(person):
    person.home.write_text("")
    result = person.vault("users")
    assert result.status in (74, 78) and str(person.home) in result.err


def test_the_folder_is_made_in_a_place_that_forbids_it(person):
    person.home = person.folder / "file" / "home"
    (person.folder / "file").write_text("")
    result = person.vault("users")
    assert result.status == 74 and str(person.home) in result.err, result
