"""What the programs of each release stored opens with the present programs. The fixtures are in Tests/Upgrades."""

import contextlib
import re
import sqlite3

import pytest
from support.agent import socket_of
from support.person import Person
from support.postgres import Cluster
from support.programs import KEY_SERVICE, ROOT, run
from support.recorded_agent import FAILED, RecordedAgent, ask, kind, version
from support.released import KEY_SERVICE_ADDRESS, Released, digest, dump, load, present_version, versions
from support.turns import turn

NEW_PASSWORD = "lantern-77-orchard"
REMAKE = (
    "The stored form has changed. If {0} has no tag yet: Tests/Upgrades/make.sh. If it has one: raise the version in "
    "Sources/VaultBase/Release.swift, then Tests/Upgrades/make.sh")


@pytest.fixture(params=versions())
def released(request, tmp_path):
    """The fixtures of a release. All have the same addresses, so only one test at a time uses them."""
    children = []
    with turn("released"):
        yield Released(request.param, tmp_path, children)
        for child in reversed(children):
            child.kill()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    """The database of the key service."""
    return request.param


def login(released, user, *options, secret=None):
    return released.person.vault(
        "login", "--user", user, *options, password=secret or released.known["password"])


def items(person, user, password, names, *options):
    """The items of an account, each by its digest."""
    file = person.password_file(password, "password-for-items")
    found = {}
    for name in names:
        result = person.vault("item", "get", name, "--user", user, "--password-file", file, *options)
        assert result.status == 0, result
        found[name] = digest(result.out)
    return found


def test_there_are_fixtures_of_each_release():
    """The tests below would have nothing to open otherwise."""
    dated = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - ", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert set(versions()) == {*dated, present_version()}


def test_people_log_in_and_read_their_items(released, store):
    person, known = released.person, released.known
    released.start_provider()
    released.start_key_service(store)
    assert {user["preferred_username"] for user in person.vault("users", "--json").json} == {"alice", "bob"}
    assert released.listed(store) == known["keys"]
    for options, secret in (((), known["password"]), (("--pin",), known["pin"]),
                            (("--recovery-code",), known["recovery_code"])):
        result = login(released, "alice", *options, secret=secret)
        assert result.status == 0 and "Signed in as alice." in result.out, (options, result)
    result = login(released, "bob")
    assert result.status == 0 and result.out.startswith("Signed in as bob."), result
    for user, stored in known["items"].items():
        assert items(person, user, known["password"], stored) == stored
    # The present programs also change what they found.
    new = person.password_file(NEW_PASSWORD, "new-password")
    assert person.vault(
        "passwd", "--user", "bob", "--new-password-file", new, password=known["password"]).status == 0
    assert login(released, "bob", secret=NEW_PASSWORD).status == 0
    assert login(released, "bob").status == 77


def test_an_account_opens_without_the_network(released):
    known = released.known
    for _ in range(2):  # also after the first login has changed the store
        # Ten years are the longest time that vault allows.
        result = login(released, "bob", "--offline", "--offline-max-age", "3650")
        assert result.status == 0 and "without the network" in result.out, result
    stored = known["items"]["bob"]
    assert items(
        released.person, "bob", known["password"], stored, "--offline", "--offline-max-age", "3650") == stored


def test_a_backup_is_imported_on_another_machine(released, tmp_path):
    released.start_key_service()
    known = released.known
    (tmp_path / "other").mkdir()
    other = Person(
        tmp_path / "other", {"CREDENTIAL_VAULT_KEY_SERVICE": f"http://{KEY_SERVICE_ADDRESS}"}, released.children)
    result = other.vault(
        "import", released.folder / "vault-backup", "--passphrase-file",
        other.password_file(known["passphrase"], "passphrase"), "--new-password-file",
        other.password_file(NEW_PASSWORD, "new-password"))
    assert result.status == 0, result
    for user, stored in known["items"].items():
        assert items(other, user, NEW_PASSWORD, stored) == stored


def test_a_backup_of_the_key_service_is_restored(released):
    restored = released.operate("restore", "--from", released.folder / "keys-backup.sqlite")
    assert restored.status == 0, restored
    released.start_provider()
    released.start_key_service()
    assert released.listed().keys() == released.known["keys"].keys()
    for user in ("alice", "bob"):
        assert login(released, user).status == 0


def test_the_audit_log_goes_on(released, store):
    anchor = ("--anchor", released.known["anchor"])
    before = released.verify_audit_log(*anchor, store=store)
    assert before.status == 0 and ", all genuine." in before.out, before
    released.start_key_service(store)
    released.stop_key_service()
    after = released.verify_audit_log(*anchor, store=store)
    assert after.status == 0 and ", all genuine." in after.out, after
    assert int(after.out.split()[0]) > int(before.out.split()[0])


def test_clients_know_the_key_service_again(released, store):
    released.start_key_service(store)
    assert released.identity(store) == released.known["identity"]


def exchanges(released):
    return [tuple(bytes.fromhex(part) for part in exchange) for exchange in released.known["agent"]]


def test_the_present_agent_answers_an_older_command(released, runtime):
    """Either it understands the command, or it says what to do."""
    person = released.person
    released.start_provider()
    released.start_key_service()
    person.settings["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        assert login(released, "alice").status == 0
        for request, recorded in exchanges(released):
            answer = ask(socket_of(runtime), request)
            if version(answer) == version(request):
                assert kind(answer) == kind(recorded), (request, answer)
            else:
                assert kind(answer) == FAILED and b"agentOfOtherVersion" in answer, (request, answer)
                assert b"End the agent" in answer
                assert kind(recorded) == FAILED or not released.is_present, REMAKE.format(released.version)
    finally:
        person.vault("agent", "stop", "--force")


def test_the_present_command_asks_an_older_agent(released, runtime):
    person = released.person
    person.settings["XDG_RUNTIME_DIR"] = str(runtime)
    assert person.vault("agent", "start").status == 0
    path = socket_of(runtime)
    assert person.vault("agent", "stop").status == 0
    path.unlink(missing_ok=True)
    agent = RecordedAgent(path, exchanges(released))
    released.keep(agent)
    status = person.vault("agent", "status")
    if version(agent.requests[0]) == version(exchanges(released)[0][0]):
        assert status.status == 0 and "alice" in status.out, status
        (token,) = [answer for request, answer in exchanges(released) if kind(request) == 1]
        result = person.vault("token", "--user", "alice")
        assert result.status == 0 and result.out.strip().encode() in token, result
    else:
        assert status.status == 78 and "different versions" in status.err, status
        assert "Type: vault agent stop" in status.err
        assert not released.is_present, REMAKE.format(released.version)


def form(path):
    """The tables of a SQLite database, and the steps that made them."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        return (database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall(),
                database.execute("SELECT identifier FROM grdb_migrations ORDER BY identifier").fetchall(),
                database.execute("PRAGMA application_id").fetchall())


def test_the_fixtures_of_the_coming_release_have_the_present_form(tmp_path, children):
    """A change of a table needs a new step and a new version, or before the tag new fixtures."""
    released = Released(present_version(), tmp_path, children)
    advice = REMAKE.format(released.version)
    new = tmp_path / "new"
    new.mkdir()
    person = Person(new, {}, children)
    assert person.vault("users").status == 0
    assert form(released.person.database) == form(person.database), advice
    assert run([KEY_SERVICE, "init", "--data", new / "keys"]).status == 0
    assert form(tmp_path / "keys" / "keys.sqlite") == form(new / "keys" / "keys.sqlite"), advice
    cluster = Cluster()
    children.append(cluster)
    load(cluster.primary, tmp_path / "shared" / "keys.sql")
    cluster.primary.sql("CREATE DATABASE new OWNER vault", database="postgres")
    url = cluster.url.replace("/vault?", "/new?")
    assert run([KEY_SERVICE, "init", "--data", new / "shared", "--database-url", url]).status == 0
    tables = [dump(cluster.primary, "--schema-only", database=name) for name in ("vault", "new")]
    assert tables[0] == tables[1], advice
    steps = "SELECT version FROM key_service.schema_version"
    assert cluster.primary.sql(steps) == cluster.primary.sql(steps, database="new"), advice
