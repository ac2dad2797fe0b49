"""Removed data also disappears from the disk, including SQLite's log, where an old password could still open it."""

import sqlite3

from support.person import OTHER_PASSWORD, PASSWORD


def secrets_of(person):
    """Returns every sealed blob of the store, with its salts and device secrets."""
    with sqlite3.connect(f"file:{person.database}?mode=ro", uri=True) as database:
        columns = [("keyslot", "wrapped"), ("keyslot", "salt"), ("account", "device_secret"), ("item", "sealed")]
        return {row[0] for table, column in columns for row in database.execute(f"SELECT {column} FROM {table}")}


def on_disk(person, secrets):
    files = [path for path in person.home.iterdir() if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    content = b"".join(path.read_bytes() for path in files)
    return {secret for secret in secrets if secret in content}


def keyslots_of(person):
    with sqlite3.connect(f"file:{person.database}?mode=ro", uri=True) as database:
        return {row[0] for row in database.execute("SELECT wrapped FROM keyslot")}


def test_the_old_keyslot_is_gone_after_a_change_of_password(alice):
    old = keyslots_of(alice)
    assert on_disk(alice, old) == old
    new = alice.password_file(OTHER_PASSWORD, "new-password")
    assert alice.vault("passwd", "--new-password-file", new, password=PASSWORD).status == 0
    assert on_disk(alice, old) == set()


def test_nothing_is_left_of_a_deleted_account(alice):
    old = secrets_of(alice)
    assert on_disk(alice, old) == old
    assert alice.vault("delete", "--yes").status == 0
    assert on_disk(alice, old) == set()


def test_the_access_token_is_gone_after_logging_out(alice):
    with sqlite3.connect(f"file:{alice.database}?mode=ro", uri=True) as database:
        (token,) = database.execute("SELECT sealed FROM item WHERE name = 'vault/access-token'").fetchone()
    assert on_disk(alice, {token}) == {token}
    assert alice.vault("logout").status == 0
    assert on_disk(alice, {token}) == set()
