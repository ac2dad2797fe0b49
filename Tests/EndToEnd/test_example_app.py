"""The example apps and the documents' samples, built against this package as another developer's app would be."""

import os
import re
import shutil
import subprocess

import pytest
from support.programs import BINARIES, ROOT, VAULT_DEV, clean_environment
from support.samples import add_samples
from support.terminal import Terminal
from support.turns import RUN, turn
from support.waiting import wait_until

PASSWORD = "seven otters juggle\n"


def build_options():
    lines = (ROOT / os.environ.get("BUILD_OPTIONS", "Tests/build-options.txt")).read_text().splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def swift(*arguments):
    # Tests/run.sh explains the variable.
    environment = os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"}
    return subprocess.run(["swift", *arguments], capture_output=True, text=True, timeout=1800, env=environment)


@pytest.fixture(scope="module")
def package():
    """The examples' package and its build options. It uses the traits, the folder and the versions of the programs
    under test. So the build compiles only the examples. Tests/run.sh says why the order of the traits matters."""
    folder = BINARIES.parent / "examples"
    stamp = folder / "made-by"
    with turn("examples"):
        if not stamp.exists() or stamp.read_text() != RUN:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(ROOT / "Examples", folder, ignore=shutil.ignore_patterns(".*", "Package.resolved"))
            shutil.copy(ROOT / "Package.resolved", folder)
            manifest = folder / "Package.swift"
            dependency = '.package(name: "credential-vault", path: "..")'
            traits = '"FIDO2", "Networking", "PKCS11", "PostgreSQL", "TPM2"'
            with_traits = f'.package(name: "credential-vault", path: "{ROOT}", traits: [{traits}])'
            assert dependency in manifest.read_text()
            manifest.write_text(manifest.read_text().replace(dependency, with_traits))
            add_samples(folder)
            # Swift's incremental build overlooks that a type of another module has another size now.
            for target in [*folder.glob("Sources/*"), *folder.glob("Tests/*")]:
                shutil.rmtree(BINARIES / f"{target.name}.build", ignore_errors=True)
            stamp.write_text(RUN)
    return [*build_options(), "--package-path", folder, "--scratch-path", BINARIES.parent]


@pytest.fixture(scope="module")
def app(package):
    with turn("examples"):
        # As Tests/run.sh builds. Without the option, or by "swift test", everything would be compiled again.
        built = swift("build", "--build-tests", *package)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    return BINARIES / "OfflineReLogin"


def test_it_registers_quits_and_logs_in_again(app, services, tmp_path):
    environment = clean_environment(**services.environment) | {"CREDENTIAL_VAULT_HOME": str(tmp_path / "vault")}

    def run(*arguments, password=PASSWORD):
        return subprocess.run(
            [app, *arguments], input=password, env=environment, capture_output=True, text=True, timeout=60)

    registered = run("register", "--scripted")
    assert registered.returncode == 0 and "Registered alice." in registered.stdout, registered.stdout
    again = run("login")
    assert again.returncode == 0 and "Logged in." in again.stdout, again.stdout
    assert "is anybody logged in? false" in again.stdout
    wrong = run("login", password="not this one\n")
    assert wrong.returncode == 1 and "2 guesses are left" in wrong.stdout, wrong.stdout
    assert "juggle" not in registered.stdout + again.stdout + registered.stderr + again.stderr


def test_the_shared_desk_passes_its_own_tests(package, app):
    with turn("examples"):
        tested = swift("test", "--skip-build", "--filter", "SharedDeskTests", *package)
    assert tested.returncode == 0, tested.stdout[-4000:] + tested.stderr[-4000:]
    assert "Test run with 10 tests" in tested.stdout, tested.stdout[-4000:]


def test_a_secret_is_read_at_the_desk_without_echo_and_ctrl_c_gives_the_echo_back(app, services, tmp_path):
    environment = clean_environment(**services.environment) | {"CREDENTIAL_VAULT_HOME": str(tmp_path / "vault")}
    subprocess.run(
        [app, "register", "--scripted"], input=PASSWORD, env=environment, capture_output=True, text=True, timeout=60,
        check=True)
    desk = Terminal([str(app.parent / "SharedDesk")], environment)
    desk.expect("quit")
    desk.type("take alice")
    desk.expect("Password: ")
    assert not desk.echoes
    desk.press("c")
    desk.expect("Cancelled.")
    wait_until(lambda: desk.echoes, "the echo")
    desk.type("take alice")
    desk.expect("Password: ")
    desk.type(PASSWORD.strip())
    desk.expect("Hello Alice")
    desk.type("quit")
    assert desk.end() == 0
    assert "juggle" not in desk.shown


def test_the_app_of_the_readme_registers_and_logs_in_again(app, services, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    browser = programs / "xdg-open"
    browser.write_text(f'#!/bin/sh\n"{VAULT_DEV}" browse "$1" --user alice >/dev/null 2>&1 </dev/null &\n')
    browser.chmod(0o755)
    environment = clean_environment(**services.environment) | {
        "HOME": str(tmp_path), "DISPLAY": ":77", "BROWSER": "", "PATH": f"{programs}:{os.environ['PATH']}"}

    def run(password=PASSWORD):
        return subprocess.run(
            [app.parent / "FirstApp"], input=password, env=environment, capture_output=True, text=True, timeout=60)

    assert "Registered." in run().stdout
    again = run()
    assert "Hello alice. Your access token has " in again.stdout, again
    assert "Wrong password. Guesses left: 2" in run("not this one\n").stdout


def test_the_app_of_the_readme_says_so_when_the_provider_is_away(app, services, tmp_path):
    environment = clean_environment(**services.environment) | {
        "HOME": str(tmp_path), "CREDENTIAL_VAULT_ISSUER": "http://127.0.0.1:9"}
    done = subprocess.run(
        [app.parent / "FirstApp"], input=PASSWORD, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "cannot be reached" in done.stdout, done
    assert "Fatal error" not in done.stderr


def test_the_tests_of_the_documents_pass(package, app):
    with turn("examples"):
        tested = swift("test", "--skip-build", "--filter", "DocumentTests", *package)
    assert tested.returncode == 0, tested.stdout[-4000:] + tested.stderr[-4000:]
    assert re.search(r"Test run with [1-9]\d* test", tested.stdout), tested.stdout[-4000:]
