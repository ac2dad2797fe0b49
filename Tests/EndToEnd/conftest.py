"""Fixtures for all tests: the services and a person with a fresh home. No child process outlives its test."""

import signal

import pytest

from support.django_provider import DjangoProvider
from support.glewlwyd import Glewlwyd
from support.person import Person
from support.programs import BINARIES
from support.recorder import Recorder
from support.services import DevelopmentServices, KeyService


def pytest_sessionstart(session):
    # A shell may ignore these signals for tests in the background. Every program started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    missing = [name for name in ("vault", "vault-dev", "vault-key-service") if not (BINARIES / name).exists()]
    if missing:
        pytest.exit(f"Build the programs first (swift build): {', '.join(missing)} not in {BINARIES}", 4)


@pytest.fixture
def children():
    """The processes that a test starts. They end when the test ends, even if it fails."""
    started = []
    yield started
    for child in reversed(started):
        child.kill()


@pytest.fixture(scope="session")
def services(tmp_path_factory):
    """One `vault-dev` for all tests that do not change it. The fixtures below set its data back."""
    services = DevelopmentServices(tmp_path_factory.mktemp("services"))
    yield services
    services.kill()


@pytest.fixture(scope="session")
def glewlwyd(tmp_path_factory):
    """One Glewlwyd for all tests that need one."""
    provider = Glewlwyd(tmp_path_factory.mktemp("provider") / "glewlwyd")
    yield provider
    provider.kill()


@pytest.fixture(scope="session")
def django(tmp_path_factory):
    """One django-oauth-toolkit for all tests that do not change it."""
    provider = DjangoProvider(tmp_path_factory.mktemp("provider") / "django")
    yield provider
    provider.kill()


@pytest.fixture
def own_services(tmp_path, children):
    """A `vault-dev` for one test, which can stop, kill and restart it."""
    services = DevelopmentServices(tmp_path)
    children.append(services)
    return services


@pytest.fixture
def key_service(tmp_path, children):
    """A `vault-key-service` for one test."""
    service = KeyService(tmp_path)
    children.append(service)
    return service


@pytest.fixture
def recorder(key_service, children):
    """A proxy before `key_service`."""
    recorder = Recorder(key_service.url)
    children.append(recorder)
    return recorder


@pytest.fixture
def person(tmp_path, services, children):
    """A person without accounts."""
    return Person(tmp_path, services.environment, children)


@pytest.fixture
def alice(person, services):
    """A person with one account, alice."""
    services.prepare("alice", person, person.registered)
    return person


@pytest.fixture
def runtime(tmp_path_factory):
    """The person's runtime folder, with a path short enough for a socket."""
    folder = tmp_path_factory.mktemp("r")
    folder.chmod(0o700)
    return folder


@pytest.fixture
def anna(person, services, runtime):
    """A person with one account, alice, and a runtime folder. No agent runs yet."""
    services.prepare("alice", person, person.registered)
    person.settings["XDG_RUNTIME_DIR"] = str(runtime)
    yield person
    person.vault("agent", "stop", "--force")
