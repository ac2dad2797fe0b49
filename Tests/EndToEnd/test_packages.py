"""The Debian packages of a release: their bytes, the lists of what is linked into the programs, and the signature."""

import hashlib
import json
import os
import re
import shutil

import pytest
from support.packages import SCRIPT, pack, packed
from support.programs import BINARIES, ROOT, clean_environment, run


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return packed(tmp_path_factory)


def contents(output):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in output.iterdir()}


def test_another_folder_and_another_person_make_the_same_bytes(packages, tmp_path):
    other = tmp_path / "another checkout"
    for path in [SCRIPT, "CHANGELOG.md", "Package.resolved", "Sources/CredentialVault/CredentialVault.docc/Policy.md"]:
        (other / path).parent.mkdir(parents=True, exist_ok=True)
        if not (other / path).exists():
            shutil.copy(ROOT / path, other / path)
    shutil.copytree(ROOT / "Sources/Packaging", other / "Sources/Packaging", dirs_exist_ok=True)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    output = pack(tmp_path / "output", root=other, TZ="Asia/Tokyo", LC_ALL="C", HOME=home)
    signature = {"SHA256SUMS.minisig"}
    assert len(contents(output)) >= 5
    assert contents(output) == {
        name: digest for name, digest in contents(packages / "output").items() if name not in signature}


def test_the_checksums_are_signed(packages):
    output = packages / "output"
    assert run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=output).status == 0
    listed = {line.split()[1] for line in (output / "SHA256SUMS").read_text().splitlines()}
    assert listed == set(contents(output)) - {"SHA256SUMS", "SHA256SUMS.minisig"}
    verify = ["minisign", "-V", "-p", packages / "tests.pub", "-x", output / "SHA256SUMS.minisig", "-m"]
    assert run([*verify, output / "SHA256SUMS"]).status == 0
    changed = packages / "changed"
    changed.write_text((output / "SHA256SUMS").read_text().replace("a", "b", 1))
    assert run([*verify, changed]).status != 0


@pytest.mark.parametrize("package, has, has_not", [
    ("credential-vault", ["GRDB.swift", "async-http-client", "swift-argument-parser"], ["hummingbird", "jwt-kit"]),
    ("credential-vault-key-service", ["GRDB.swift", "hummingbird"], ["jwt-kit"]),
])
def test_the_list_has_each_linked_package_with_its_version(packages, package, has, has_not):
    (path,) = (packages / "output").glob(f"{package}_*.spdx.json")
    document = json.loads(path.read_text())
    assert document["spdxVersion"] == "SPDX-2.3"
    linked = {entry["name"]: entry for entry in document["packages"]}
    resolved = {pin["location"].rsplit("/", 1)[1].removesuffix(".git"): pin["state"]
                for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]}
    for name in has:
        assert linked[name]["versionInfo"] == resolved[name]["version"]
        assert resolved[name]["revision"] in linked[name]["downloadLocation"]
    assert not set(has_not) & set(linked)
    assert {"swift", "libc6", "libsodium23", "libargon2-1", "libsqlite3-0"} <= set(linked)
    deb = path.with_name(path.name.replace(".spdx.json", ".deb"))
    (itself,) = (entry for entry in document["packages"] if "checksums" in entry)
    assert itself["checksums"][0]["checksumValue"] == hashlib.sha256(deb.read_bytes()).hexdigest()
    # Each entry has a relationship, and each relationship has its entry.
    related = {entry["relatedSpdxElement"] for entry in document["relationships"]}
    assert related == {entry["SPDXID"] for entry in document["packages"]}


def linked_packages(program):
    return run([ROOT / "Sources/Packaging/linked_packages.py", "copyright", program])


def test_when_the_project_is_in_a_folder_of_checkouts_then_the_list_has_the_packages(tmp_path):
    project = tmp_path / "checkouts/vault"
    package = project / ".build/checkouts/GRDB.swift"
    program = project / ".build/release/vault"
    for path, text in {
        package / "LICENSE": "Permission is hereby granted, free of charge",
        program.parent / "vault.product/Objects.LinkFileList": "/GRDB.build/A.swift.o\n/VaultBase.build/B.swift.o\n",
        program.parent / "GRDB.build/sources": f"{package}/GRDB/A.swift\n",
        program.parent / "VaultBase.build/sources": f"{project}/Sources/VaultBase/B.swift\n",
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
    program.symlink_to(BINARIES / "vault")
    result = linked_packages(program)
    assert result.status == 0 and re.search(r"^GRDB\.swift \d", result.out, re.M), result


def test_without_the_lists_of_swift_the_program_is_refused(tmp_path):
    (tmp_path / "checkouts").mkdir()
    for program in [tmp_path / "vault", "/usr/bin/true"]:
        result = linked_packages(program)
        assert result.status == 1 and "Name the program in .build, not a copy." in result.err, result
        assert "Traceback" not in result.err


def test_the_programs_are_stripped_and_their_licences_are_there(packages, tmp_path):
    for package, program, licence in [
        ("credential-vault", "vault-command", "Gwendal Roué"),
        ("credential-vault-key-service", "vault-key-service", "Hummingbird"),
    ]:
        (deb,) = (packages / "output").glob(f"{package}_*.deb")
        folder = tmp_path / package
        assert run(["dpkg-deb", "--extract", deb, folder]).status == 0
        assert ".debug_info" not in run(["readelf", "--sections", "--wide", folder / "usr/bin" / program]).out
        assert licence in (folder / "usr/share/doc" / package / "copyright").read_text()
        # The programs of the package stand in one folder, and so does the unit's.
        for unit in folder.glob("*/systemd/system/*.service"):
            text = unit.read_text()
            assert re.search(rf"^ExecStart=.*/usr/s?bin/{program}[- ]", text, re.M) and "/usr/local/" not in text


def test_a_version_before_its_release_is_lower_than_the_release(packages):
    (deb,) = (packages / "output").glob("credential-vault_*.deb")
    version = run(["dpkg-deb", "--field", deb, "Version"]).out.strip()
    shown = run([BINARIES / "vault", "--version"]).out.strip()
    assert version.startswith(shown)
    is_released = f"## [{shown}]" in (ROOT / "CHANGELOG.md").read_text()
    relation = "eq" if is_released else "lt"
    assert run(["dpkg", "--compare-versions", version, relation, f"{shown}-1"]).status == 0


@pytest.mark.parametrize("options, status, said", [
    (["pack", "--programs", "/nowhere"], 1, r"/nowhere/vault is missing\. To build it, type: "),
    (["pack", "--programs", BINARIES], 1, r"vault-command has the code of TEST_HOOKS, which no package may have\."),
    (["pack", "--sign-with", "/nowhere"], 1, r"The secret key /nowhere cannot be read\."),
    (["--outptu", "folder"], 64, "--output FOLDER"),
    (["pack", "--output"], 64, "--output FOLDER"),
])
def test_the_script_says_what_is_wrong(options, status, said):
    result = run([ROOT / SCRIPT, *options])
    assert result.status == status and re.search(said, result.err), result


def test_when_a_step_of_the_build_fails_then_the_script_fails(tmp_path):
    """A stand-in for Swift fails. Programs of an earlier build must not go into the packages."""
    shutil.copytree(ROOT / "Sources/Packaging", tmp_path / "Sources/Packaging")
    for name, text in {"swift": 'echo "swift $1" >>"$0.log"; exit 1', "clang": "echo /dev/null",
                       "Sources/Packaging/icu_data.py": ""}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    result = run([tmp_path / SCRIPT, "compile"], clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}"))
    assert result.status == 1, result
    assert (tmp_path / "swift.log").read_text() == "swift build\n"
