"""A person's keys at a key service of the test's own."""

import hashlib

from .person import PASSWORD
from .thief import age_new_keys


def kill_at(point):
    """The environment in which a test build of `vault` dies at a point."""
    return {"CREDENTIAL_VAULT_FAULT": point}


def used(person):
    """The keys of the unlock methods."""
    return {key for (key,) in person.sql("SELECT key_id FROM keyslot WHERE staged = 0")}


def opens(person, password=PASSWORD, *options):
    """Logs in, which must succeed without a word about guesses of others."""
    result = person.vault("login", *options, password=password)
    assert (result.status, result.err) == (0, ""), result
    return True


def check_only_the_used_keys_live(person, key_service, password=PASSWORD):
    """The next login ends all keys that a crash left."""
    age_new_keys(person)
    assert opens(person, password)
    assert key_service.live_keys() == used(person)
    assert person.sql("SELECT 1 FROM record WHERE name = 'retired-keys'") == []


def store_wrapped(person, wrapped):
    """Stores another wrapped vault key, with the right checksum of its row, as somebody who can write the disk does."""
    ((issuer, subject, slot, kind, salt, passes, memory, lanes, key, *rest),) = person.sql(
        "SELECT issuer, subject, keyslot.id, kind, salt, argon2_passes, argon2_memory_kib, argon2_lanes, key_id,"
        " protection, check_key, end_signature, protocol FROM keyslot JOIN account ON account.id = account_id")
    texts = [issuer, subject, slot, kind, salt, f"{passes} {memory} {lanes}", key, wrapped, *rest[:-1], str(rest[-1])]
    fields = [text.encode() if isinstance(text, str) else text or b"" for text in texts]
    message = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
    checksum = hashlib.blake2b(message, digest_size=32).digest()
    person.sql("UPDATE keyslot SET wrapped = ?, checksum = ?", wrapped, checksum)
