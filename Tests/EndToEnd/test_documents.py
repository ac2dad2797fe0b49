"""The README and the articles: their commands produce the output that they show."""

import json
import os
import re

import pytest
from support.document_session import differences
from support.documents import LINK, blocks, documents
from support.programs import BINARIES, ROOT, VAULT_DEV, clean_environment, run
from support.shell import Shell
from support.turns import turn
from test_hardware import SoftwareTPM

SESSIONS = [
    path for path in documents()
    if any(block.reason is None and not block.is_for_machine for block in blocks(path, "console"))]


@pytest.fixture
def port(request):
    """The usual port of the key service, for one session at a time. It is free again when the session's programs have
    ended."""
    if "8787" not in request.getfixturevalue("path").read_text():
        yield
        return
    with turn("documents"):
        yield


@pytest.fixture
def desk(port, tmp_path, tmp_path_factory, services, children):
    """Opens terminals for one person, whose browser signs in as alice."""
    home, runtime, programs = tmp_path / "home", tmp_path_factory.mktemp("r"), tmp_path / "programs"
    home.mkdir()
    runtime.chmod(0o700)
    programs.mkdir()
    for name in ("vault", "vault-command", "vault-dev", "vault-key-service"):
        (programs / name).symlink_to(BINARIES / name)
    browser = programs / "xdg-open"
    browser.write_text(f'#!/bin/sh\n"{VAULT_DEV}" browse "$1" --user alice >/dev/null 2>&1 </dev/null &\n')
    browser.chmod(0o755)
    environment = clean_environment(**services.environment) | {
        "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "DISPLAY": ":77", "BROWSER": "",
        "PATH": f"{programs}:{os.environ['PATH']}",
    }

    def terminal(**more):
        shell = Shell(environment | more, home)
        children.append(shell)
        return shell

    yield terminal
    terminal().run("vault agent stop")


def test_only_its_owner_can_read_the_verification_key_of_a_document():
    found = [line for path in documents() for line in path.read_text().splitlines() if "--verification-key - >" in line]
    assert found and all(line.startswith("$ (umask 077; ") and line.endswith("audit.key)") for line in found), found


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_each_session_shows_what_the_document_shows(path, desk, tmp_path, children):
    settings = {}
    if "<!-- test: with a TPM -->" in path.read_text():
        tpm = SoftwareTPM(tmp_path / "tpm")
        children.append(tpm)
        settings = {"CREDENTIAL_VAULT_TPM2": tpm.address}
    here = [block for block in blocks(path) if not block.is_for_machine]
    found = differences(here, lambda: desk(**settings), tmp_path / "home")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_what_is_not_run_has_a_reason_and_json_is_json(path):
    for block in blocks(path):
        assert block.reason is None or len(block.reason) > 10, block
        if block.language == "json":
            json.loads(block.text)


def test_each_sample_in_c_compiles():
    samples = [block for path in documents() for block in blocks(path, "c")]
    assert samples
    for block in samples:
        done = run(["clang", "-x", "c", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-"], password=block.text)
        assert done.status == 0, f"{block}: {done.err}"


def test_the_booted_machine_runs_each_document_with_blocks_for_it():
    listed = run([ROOT / "Tests" / "machine" / "run.sh", "--list"])
    assert listed.status == 0, listed
    runs = {line.split()[1] for line in listed.out.splitlines() if line.startswith("Tests/machine/document.sh ")}
    wanted = {path for path in documents() if any(block.is_for_machine for block in blocks(path))}
    assert wanted and runs == {str(path.relative_to(ROOT)) for path in wanted}


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_each_link_leads_somewhere(path):
    text = path.read_text()
    for link in LINK.findall(text):
        if re.match(r"https?:|mailto:|doc:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        assert target.exists(), f"{path.name}: {link}"
        if anchor and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.M)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{path.name}: {link}"


def test_the_readme_can_be_read_in_one_go():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
