"""A person's keys at a key service of the test's own."""

from .person import PASSWORD
from .thief import age_new_keys


def kill_at(point):
    """The environment in which a debug build of `vault` dies at a point."""
    return {"CREDENTIAL_VAULT_FAULT": point}


def used(person):
    """The keys of the ways in."""
    return {key for (key,) in person.sql("SELECT key_id FROM keyslot WHERE staged = 0")}


def opens(person, password=PASSWORD, *options):
    """Logs in, which must succeed without a word about tries of others."""
    result = person.vault("login", *options, password=password)
    assert (result.status, result.err) == (0, ""), result
    return True


def check_only_the_used_keys_live(person, key_service, password=PASSWORD):
    """The next login ends all keys that a crash left."""
    age_new_keys(person)
    assert opens(person, password)
    assert key_service.live_keys() == used(person)
    assert person.sql("SELECT 1 FROM record WHERE name = 'retired-keys'") == []
