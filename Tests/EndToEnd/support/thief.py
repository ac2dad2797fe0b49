"""A thief with a copy of a person's store, who uses the same key service."""

import json
import shutil

from .person import PASSWORD, Person


def thief_of(person, name="thief"):
    """Copies the current store."""
    folder = person.folder / name
    folder.mkdir()
    thief = Person(folder, person.settings, person.children)
    shutil.copytree(person.home, thief.home)
    return thief


def guess(thief, *options, secret="not the secret"):
    """Tries a secret with the copy. Returns the key service's answer: wrongSecret, keyLocked, or None if the copy
    opened."""
    result = thief.vault("token", "--json", "--user", "alice", *options, password=secret)
    return result.error["code"] if result.status else None


def use_a_token_twice(person):
    """Lets a copy of the store send a refresh token that the person's login has rotated. The provider notices the theft
    and refuses both, so the person has to register again."""
    copy = person.folder / "copy"
    shutil.copytree(person.home, copy)
    assert person.vault("login", password=PASSWORD).status == 0
    stolen = person.vault("login", "--no-agent", "--json", password=PASSWORD, env={"CREDENTIAL_VAULT_HOME": copy})
    assert (stolen.status, stolen.error["code"]) == (81, "refreshTokenExpired"), stolen
    before = person.stored_for_good()
    result = person.vault("login", password=PASSWORD)
    assert result.status == 81 and "Register again" in result.err, result
    assert person.stored_for_good() == before


def age_new_keys(person):
    """Makes the keys on the list of keys to end look older than ten minutes. Younger ones may get a keyslot yet."""
    for (value,) in person.sql("SELECT value FROM record WHERE name = 'retired-keys'"):
        lines = [json.loads(line) for line in bytes(value).splitlines()]
        for line in lines:
            if "madeAt" in line:
                line["madeAt"] -= 700
        person.sql("UPDATE record SET value = ? WHERE name = 'retired-keys'",
                   "\n".join(json.dumps(line) for line in lines).encode())
