"""From one machine to another: `vault export` and `vault import`."""

import signal

import pytest
from support.disk import SmallDisk
from support.person import OTHER_PASSWORD, PASSWORD, Person

PASSPHRASE = "seven owls on a wire at dusk"
NEW_PASSWORD = "lantern-77-orchard"


def put(person, name, content, user="alice", password=PASSWORD):
    file = person.password_file(password, f"password-of-{user}")
    result = person.vault("item", "set", name, "--user", user, "--password-file", file, input=content, stdin=None)
    assert result.status == 0, result


def get(person, name, user="alice", password=PASSWORD):
    return person.vault("item", "get", name, "--user", user, "--json", password=password).json["text"].encode()


def export(person, file, *options, passphrase=PASSPHRASE, password=PASSWORD, **more):
    return person.vault(
        "export", "--to", file, "--passphrase-file", person.password_file(passphrase, "passphrase"), *options,
        password=password, **more)


def restore(person, file, *options, passphrase=PASSPHRASE, new=NEW_PASSWORD, **more):
    return person.vault(
        "import", file, "--passphrase-file", person.password_file(passphrase, "passphrase"), "--new-password-file",
        person.password_file(new, "new-password"), *options, **more)


@pytest.fixture
def other(tmp_path, services, children):
    """The new machine of the same person."""
    folder = tmp_path / "new-machine"
    folder.mkdir()
    return Person(folder, services.environment, children)


@pytest.fixture
def backup(alice, tmp_path):
    put(alice, "note", b"Room 4: bandage\n")
    put(alice, "large", b"0123456789" * 100_000)
    assert alice.vault("unlock", "add", "pin", "--new-pin-file", alice.password_file("2846", "pin"),
                       password=PASSWORD).status == 0
    file = tmp_path / "backup"
    result = export(alice, file)
    assert result.status == 0 and "2 items" in result.out, result
    return file


def test_on_a_new_machine(alice, other, backup):
    content = backup.read_bytes()
    assert backup.stat().st_mode & 0o777 == 0o600
    assert b"alice" not in content and b"bandage" not in content and content.startswith(b"CVBK\x01")
    result = restore(other, backup, "--json")
    assert result.status == 0, result
    (report,) = result.json["accounts"]
    assert report["new"] and report["items"] == ["large", "note"] and report["methods_left_behind"] == ["password", "pin"]
    assert report["next"].startswith("vault register --issuer http://127.0.0.1:")
    # The items are available at once, without a login.
    assert get(other, "note", password=NEW_PASSWORD) == b"Room 4: bandage\n"
    assert get(other, "large", password=NEW_PASSWORD) == b"0123456789" * 100_000
    assert other.vault("item", "get", "note", password=PASSWORD).status == 77
    login = other.vault("login", password=NEW_PASSWORD)
    assert login.status == 83 and "alice has no refresh token on this machine. Sign in. Type: vault register" in login.err
    assert "none: never signed in on this machine. Next: vault register" in other.vault("status").out
    # After one sign-in it is a full account, and nothing is lost.
    registered = other.register(password=NEW_PASSWORD)
    assert registered.status == 0, registered
    assert other.vault("login", password=NEW_PASSWORD).status == 0
    assert get(other, "note", password=NEW_PASSWORD) == b"Room 4: bandage\n"
    # The old machine did not change.
    assert alice.vault("login", password=PASSWORD).status == 0
    assert get(alice, "note") == b"Room 4: bandage\n"


def test_the_shown_command_signs_in(alice, other, backup):
    result = restore(other, backup)
    assert result.out == "alice: imported 2 items.\n"
    assert "--private-browser" not in result.err
    assert "These unlock methods stay on the old machine: pin. To add new ones here: vault unlock add pin\n" in result.err
    command = result.err.split("To sign in to alice, with the new password: vault ")[1].splitlines()[0].split()
    assert command[0] == "register"
    assert other.register(*command[1:], password=NEW_PASSWORD).status == 0
    assert get(other, "note", password=NEW_PASSWORD) == b"Room 4: bandage\n"


def test_when_there_is_no_terminal_then_the_passphrase_file_is_named(alice, backup, tmp_path):
    wanted = "There is no terminal to ask for the passphrase. Use --passphrase-file PATH."
    for words in (["export", "--to", tmp_path / "other"], ["import", backup]):
        result = alice.vault(*words, password=PASSWORD)
        assert result.status == 78 and wanted in result.err, result
    assert not (tmp_path / "other").exists()


def test_when_the_name_has_one_character_then_the_backup_is_written(alice, tmp_path):
    result = export(alice, "x", cwd=tmp_path)
    assert result.status == 0 and (tmp_path / "x").stat().st_size > 0, result


def test_a_file_that_is_no_backup_is_refused_before_anything_is_asked(other, tmp_path):
    text = tmp_path / "text"
    text.write_text("hello\n")
    for file, status, message in ((tmp_path / "none", 78, "no such file"), (text, 65, "not a backup")):
        terminal = other.terminal("import", file)
        terminal.expect(message)
        assert terminal.end() == status


def test_at_a_terminal(alice, other, backup, tmp_path):
    second = tmp_path / "second"
    terminal = alice.terminal("export", "--item", "note", "--to", second)
    terminal.expect("Passphrase for the backup")
    terminal.type("short")
    terminal.expect("The passphrase needs at least 8 characters.")
    terminal.expect("Passphrase for the backup")
    terminal.type(PASSPHRASE)
    terminal.expect("This passphrase is hard to guess.")
    terminal.expect("The same again: ")
    terminal.type(PASSPHRASE)
    terminal.expect("PIN of alice: ")
    terminal.type("2846")
    terminal.expect("alice: 1 item")
    assert terminal.end() == 0
    terminal = other.terminal("import", second)
    terminal.expect("Passphrase of the backup: ")
    terminal.type(PASSPHRASE)
    terminal.expect("New password for alice")
    terminal.type(NEW_PASSWORD)
    terminal.expect("The same again: ")
    terminal.type(NEW_PASSWORD)
    terminal.expect("alice: imported 1 item.")
    assert terminal.end() == 0
    # The second time, the account is already here.
    put(other, "note", b"newer", password=NEW_PASSWORD)
    for answer, left in (("n", b"newer"), ("y", b"Room 4: bandage\n")):
        terminal = other.terminal("import", second)
        terminal.expect("Passphrase of the backup: ")
        terminal.type(PASSPHRASE)
        terminal.expect("alice is here already, with these items: note.")
        terminal.expect("Replace them with the items of the backup? [y/N] ")
        terminal.type(answer)
        terminal.expect("Password of alice: ")
        terminal.type(NEW_PASSWORD)
        assert terminal.end() == 0
        assert get(other, "note", password=NEW_PASSWORD) == left


def test_when_the_passphrase_is_mistyped_then_no_account_was_asked_for(alice, tmp_path):
    alice.registered("--alias", "bob", user="bob")
    terminal = alice.terminal("export", "--to", tmp_path / "both")
    for again in ("seven owls on a wire at dawn", PASSPHRASE):
        terminal.expect("Passphrase for the backup")
        terminal.type(PASSPHRASE)
        terminal.expect("The same again: ")
        assert "Password of " not in terminal.shown, terminal.shown
        terminal.type(again)
    for name in ("alice", "bob"):
        terminal.expect(f"Password of {name}: ")
        terminal.type(PASSWORD)
    terminal.expect("bob: 0 items")
    assert terminal.end() == 0 and (tmp_path / "both").exists()


def test_an_account_that_is_here_already(alice, backup):
    put(alice, "note", b"newer")
    before = alice.stored_for_good()
    asked = restore(alice, backup, password=PASSWORD)
    assert asked.status == 1 and "--replace" in asked.err and "--keep" in asked.err
    assert alice.stored_for_good() == before
    assert restore(alice, backup, "--replace", password="wrong").status == 77
    assert get(alice, "note") == b"newer"
    kept = restore(alice, backup, "--keep", "--json", password=PASSWORD).json["accounts"][0]
    assert (kept["new"], kept["items"], kept["kept_items"]) == (False, [], ["large", "note"])
    assert get(alice, "note") == b"newer"
    replaced = restore(alice, backup, "--replace", password=PASSWORD)
    assert replaced.status == 0 and "vault register" not in replaced.err
    assert get(alice, "note") == b"Room 4: bandage\n"
    assert alice.vault("login", password=PASSWORD).status == 0


def test_several_accounts_and_some_of_them(alice, other, backup, tmp_path):
    alice.registered(user="bob")
    put(alice, "plan", b"bob's", user="bob")
    both = tmp_path / "both"
    # The command reads the password from standard input once, but from a file for each account.
    result = alice.vault(
        "export", "--to", both, "--passphrase-file", alice.password_file(PASSPHRASE, "passphrase"),
        "--password-file", alice.password_file(), "--json")
    assert [account["items"] for account in result.json["accounts"]] == [["large", "note"], ["plan"]]
    only = restore(other, both, "--user", "bob", "--json").json["accounts"]
    assert [account["items"] for account in only] == [["plan"]]
    nobody = restore(other, both, "--user", "carol")
    assert nobody.status == 66 and "alice, bob" in nobody.err
    missing = export(alice, tmp_path / "third", "--user", "bob", "--item", "note")
    assert missing.status == 66 and not (tmp_path / "third").exists()
    assert restore(other, both, "--user", "alice").status == 0
    assert len(other.vault("users", "--json").json) == 2


def test_when_two_accounts_are_imported_then_each_command_names_its_account(alice, other, tmp_path):
    alice.registered("--alias", "bob", user="bob")
    for name in ("alice", "bob"):
        pin = alice.password_file("2846", "pin")
        assert alice.vault("unlock", "add", "pin", "--user", name, "--new-pin-file", pin, password=PASSWORD).status == 0
    both = tmp_path / "both"
    passphrase = alice.password_file(PASSPHRASE, "passphrase")
    assert alice.vault("export", "--to", both, "--passphrase-file", passphrase, "--password-file",
                       alice.password_file()).status == 0
    result = restore(other, both)
    assert result.status == 0, result
    for name in ("alice", "bob"):
        assert f"To sign in to {name}, with the new password: vault register --issuer " in result.err, result
        assert f"To add new ones here: vault unlock add pin --user {name}\n" in result.err, result
    # A browser that is still signed in as alice would register her again.
    assert "is still signed in as somebody else, add --private-browser to the command.\n" in result.err, result


def test_when_the_account_has_another_name_here_then_import_finds_it(alice, backup):
    assert alice.vault("account", "rename", "alicia").status == 0
    result = restore(alice, backup, "--user", "alicia", "--keep", "--json", password=PASSWORD)
    assert result.status == 0 and result.json["accounts"][0]["kept_items"] == ["large", "note"], result
    alice.registered("--alias", "carol", user="bob")
    assert restore(alice, backup, "--user", "carol", "--keep", password=PASSWORD).status == 66


@pytest.mark.parametrize("damage", ["cut", "flipped", "extended", "empty", "other"])
def test_a_damaged_file_changes_nothing(alice, other, backup, damage):
    content = backup.read_bytes()
    middle = len(content) - 1_000
    backup.write_bytes({
        "cut": content[:-1], "extended": content + b"x", "empty": b"", "other": b"SQLite format 3\0" * 10,
        "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]}[damage])
    result = restore(other, backup, "--json")
    assert (result.status, result.error["code"]) == (65, "backupInvalid"), result
    assert other.vault("users", "--json").json == []


def test_wrong_secrets_and_places(alice, other, backup, tmp_path):
    wrong = restore(other, backup, passphrase="seven owls on a wire at dawn", new=NEW_PASSWORD)
    assert wrong.status == 77 and "passphrase is wrong" in wrong.err
    assert restore(other, tmp_path / "nothing").status == 78
    weak = restore(other, backup, new="password")
    assert weak.status == 77
    assert other.vault("users", "--json").json == []
    content = backup.read_bytes()
    again = export(alice, backup)
    assert again.status == 78 and "already" in again.err and backup.read_bytes() == content
    place = tmp_path / "place"
    assert export(alice, place, password="wrong").status == 77
    for passphrase, says in (("password", "very common"), ("short", "at least 8 characters")):
        easy = export(alice, place, passphrase=passphrase)
        assert easy.status == 77 and says in easy.err and easy.err.startswith("vault: The passphrase "), easy
    missing = alice.vault("export", "--to", place, "--passphrase-file", alice.folder / "none", password=PASSWORD)
    assert missing.status == 78 and "The passphrase file" in missing.err, missing
    assert export(alice, tmp_path / "no-folder" / "x").status == 78
    both = alice.vault("export", "--to", place, "--passphrase-file", "-", password=PASSWORD)
    assert both.status == 64 and "standard input" in both.err
    assert not place.exists() and not list(tmp_path.glob("place*"))


def test_a_crash_before_a_backup_is_complete(alice, tmp_path):
    folder = tmp_path / "usb-stick"
    folder.mkdir()
    put(alice, "large", b"0123456789" * 100_000)
    died = export(alice, folder / "backup", env={"CREDENTIAL_VAULT_FAULT": "backup-written"})
    assert died.status == -signal.SIGKILL and list(folder.iterdir()) == []
    assert export(alice, folder / "backup").status == 0
    assert [path.name for path in folder.iterdir()] == ["backup"]


def test_in_the_folder_where_one_is(alice, other, tmp_path):
    put(alice, "note", b"Room 4")
    (tmp_path / "stick").mkdir()
    assert export(alice, "backup", cwd=tmp_path / "stick").status == 0
    assert restore(other, "backup", cwd=tmp_path / "stick").status == 0


def test_a_full_disk(alice, tmp_path, children):
    disk = SmallDisk(tmp_path / "stick", size="1m")
    children.append(disk)
    put(alice, "large", b"0123456789" * 200_000)
    alice.disk = disk
    full = export(alice, disk.folder / "backup")
    assert full.status == 74 and "the disk is full. No backup was made." in full.err
    assert disk.shell(f"ls -A {disk.folder}") == ""


def test_a_crash_in_the_middle_of_an_import(alice, other, backup):
    died = restore(other, backup, env={"CREDENTIAL_VAULT_FAULT": "backup-read"})
    assert died.status == -signal.SIGKILL
    assert other.vault("users", "--json").json == []
    assert restore(other, backup).status == 0
    put(other, "note", b"newer", password=NEW_PASSWORD)
    died = restore(other, backup, "--replace", password=NEW_PASSWORD, env={"CREDENTIAL_VAULT_FAULT": "item-half-written"})
    assert died.status == -signal.SIGKILL
    assert get(other, "note", password=NEW_PASSWORD) == b"newer"
    assert get(other, "large", password=NEW_PASSWORD) == b"0123456789" * 100_000
    assert restore(other, backup, "--replace", password=NEW_PASSWORD).status == 0
    assert get(other, "note", password=NEW_PASSWORD) == b"Room 4: bandage\n"


def test_no_token_is_in_the_backup(alice, other, backup):
    """The refresh token stays in one place. After an import, each machine has a separate login, or neither has one."""
    assert restore(other, backup).status == 0
    names = {name for (name,) in other.sql("SELECT name FROM item WHERE name LIKE 'vault/%'")}
    assert names == {"vault/id-token-claims"}
    assert other.vault("status", "--json").json["has_refresh_token"] is False
