"""The version, which stands in one place, and the script that makes a release."""

import os
import shutil
import subprocess

import pytest
from support.programs import KEY_SERVICE, ROOT, VAULT, VAULT_DEV, run
from support.released import present_version

ARTICLE = "Sources/CredentialVault/CredentialVault.docc/UsingTheLibrary.md"
SCRIPT = "Sources/Packaging/release.sh"
CONSTANT = "Sources/VaultBase/Release.swift"
VERSION = present_version()
RELEASED = f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-11-30\n\n### Added\n- Everything.\n"


@pytest.mark.parametrize("program", [VAULT, KEY_SERVICE, VAULT_DEV])
def test_each_program_prints_the_version(program):
    result = run([program, "--version"])
    assert (result.status, result.out, result.err) == (0, f"{VERSION}\n", "")


@pytest.mark.parametrize("program", [VAULT, KEY_SERVICE])
def test_the_manual_has_the_version(program):
    page = run([program, "manual"]).out
    (title,) = [line for line in page.splitlines() if line.startswith(".TH ")]
    assert title.endswith(f' {VERSION}"'), title


def test_a_released_version_has_its_section():
    """A tag needs a section with its date, and the constant is never older than the newest section."""
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == "## [Unreleased]"
    newest = headings[1].split("]")[0].removeprefix("## [") if len(headings) > 1 else "0.0.0"
    numbers = [[int(number) for number in version.split(".")] for version in (newest, VERSION)]
    assert numbers[0] <= numbers[1]


class Repository:
    """A repository with what the script reads, on a commit that passed the tests."""

    def __init__(self, folder):
        self.folder = folder
        for name in (SCRIPT, CONSTANT, ARTICLE):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.write("CHANGELOG.md", RELEASED)
        self.write(f"Tests/Upgrades/{VERSION}/files.tar.gz", "")
        self.write(".gitignore", ".build/\n")
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit()

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Change")
        for mark in (".build/tests/passed", ".build/optimised/passed", ".build/machine-passed"):
            self.write(mark, self.git("rev-parse", "HEAD"))

    def environment(self):
        names = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
                 for what, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.com"))}
        return {**os.environ, **names, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def git(self, *arguments):
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self.environment(), check=True, capture_output=True,
            text=True).stdout

    def release(self, *arguments):
        return run([self.folder / SCRIPT, *arguments], self.environment())

    def tags(self):
        return self.git("tag").split()


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def test_the_tag_is_made_only_on_request(repository):
    checked = repository.release()
    assert checked.status == 0 and f"{VERSION} can be released." in checked.out, checked
    assert repository.tags() == []
    made = repository.release("--tag")
    assert made.status == 0, made
    assert repository.tags() == [VERSION] and repository.git("cat-file", "-t", VERSION) == "tag\n"
    again = repository.release("--tag")
    assert again.status == 1 and f"The tag {VERSION} exists." in again.err, again
    assert repository.release("--push").status == 64


OBSTACLES = {
    "a change that is not committed": (lambda r: r.write("CHANGELOG.md", RELEASED + "\n"), "not committed"),
    "another branch": (lambda r: r.git("checkout", "--quiet", "-b", "other"), "The branch is other, not main."),
    "a commit without tests": (lambda r: r.write(".build/tests/passed", "older"), "as root: Tests/run.sh"),
    "optimised programs without tests": (
        lambda r: r.write(".build/optimised/passed", "older"), "as root: Tests/run.sh optimised"),
    "release programs without tests": (
        lambda r: r.write(".build/machine-passed", "older"), "as root: Tests/machine/run.sh"),
    "no section": (
        lambda r: r.write("CHANGELOG.md", "## [Unreleased]\n- All.\n"), f"## [{VERSION}] - YYYY-MM-DD"),
    "a section without a date": (
        lambda r: r.write("CHANGELOG.md", RELEASED.replace("2026-11-30", "soon")), f"## [{VERSION}] - YYYY-MM-DD"),
    "a line that is unreleased": (
        lambda r: r.write("CHANGELOG.md", RELEASED.replace("[Unreleased]", "[Unreleased]\n- More.")),
        "Move these lines"),
    "another version in the article": (
        lambda r: r.write(ARTICLE, (r.folder / ARTICLE).read_text().replace(VERSION, "9.9.9")), "another version"),
    "another version in the source": (
        lambda r: r.write(CONSTANT, (r.folder / CONSTANT).read_text().replace(VERSION, "9.9.9")), "## [9.9.9] - "),
    "no fixtures": (lambda r: shutil.rmtree(r.folder / "Tests"), "Tests/Upgrades/make.sh"),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_an_obstacle_stops_the_release(repository, obstacle):
    change, said = OBSTACLES[obstacle]
    change(repository)
    if obstacle != "a change that is not committed" and "without tests" not in obstacle:
        repository.commit()
    result = repository.release("--tag")
    assert result.status == 1 and said in result.err, result
    assert result.err.count("\n") == 1 or obstacle == "another version in the source", result
    assert repository.tags() == []
