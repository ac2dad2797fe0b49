"""A thief with a copy of a person's store, who uses the same key service."""

import json
import shutil

from .person import Person


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


def age_new_keys(person):
    """Makes the keys on the list of keys to end look older than ten minutes. Younger ones may get a keyslot yet."""
    for (value,) in person.sql("SELECT value FROM record WHERE name = 'retired-keys'"):
        lines = [json.loads(line) for line in bytes(value).splitlines()]
        for line in lines:
            if "madeAt" in line:
                line["madeAt"] -= 700
        person.sql("UPDATE record SET value = ? WHERE name = 'retired-keys'",
                   "\n".join(json.dumps(line) for line in lines).encode())
