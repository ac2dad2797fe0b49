"""A store on a file system that lacks features that SQLite needs."""

import shutil

import pytest
from support.disk import MirroredFolder
from support.person import PASSWORD


@pytest.fixture
def alice(person, tmp_path, children):
    assert shutil.which("bindfs"), "install bindfs"
    person.disk = MirroredFolder(tmp_path / "fuse", tmp_path / "mirrored")
    children.append(person.disk)
    person.home = person.disk.folder / "home"
    return person


def test_a_store_on_fuse_is_refused_until_it_is_allowed(alice):
    for arguments in (["users"], ["login"], ["status"]):
        result = alice.vault(*arguments, "--json", password=PASSWORD if arguments == ["login"] else None)
        assert (result.status, result.error["code"]) == (78, "unsafeFileSystem"), result
    assert "vault config set allow-fuse yes" in result.error["message"]
    assert not any(alice.disk.mirrored.iterdir())
    checks = {check["name"]: check for check in alice.vault("doctor", "--json").json}
    assert (checks["file system"]["outcome"], checks["store"]["outcome"]) == ("fail", "fail")

    assert alice.vault("config", "set", "allow-fuse", "perhaps").status == 78
    assert alice.vault("config", "set", "allow-fuse", "yes").status == 0
    alice.registered()
    assert alice.vault("login", password=PASSWORD).status == 0
    checks = {check["name"]: check for check in alice.vault("doctor", "--json").json}
    assert (checks["file system"]["outcome"], checks["store"]["outcome"]) == ("warn", "ok")
    assert alice.vault("users", env={"CREDENTIAL_VAULT_ALLOW_FUSE": "no"}).status == 78


def test_a_local_store_is_on_a_local_disk(person):
    (check,) = [check for check in person.vault("doctor", "--json").json if check["name"] == "file system"]
    assert check["outcome"] == "ok"
