"""Man pages, made from the commands' help. man and mandoc show them without a warning."""

import re

import pytest
from support.programs import KEY_SERVICE, ROOT, VAULT, run
from test_output import COMMANDS

PROGRAMS = [(VAULT, "vault"), (KEY_SERVICE, "vault-key-service")]


def shown(page, folder, columns=80):
    """Returns the page as man shows it, without a warning."""
    file = folder / "page.1"
    file.write_text(page)
    result = run(
        ["man", "--warnings", "-l", str(file)],
        {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": str(columns)})
    assert (result.status, result.err) == (0, "")
    return re.sub(".\b", "", result.out)


@pytest.mark.parametrize("program, name", PROGRAMS)
def test_the_page_reads_well_and_has_every_command(program, name, tmp_path):
    result = run([program, "manual"])
    assert (result.status, result.err) == (0, "")
    page = tmp_path / name
    page.write_text(result.out)
    lint = run(["mandoc", "-Tlint", str(page)])
    assert (lint.status, lint.out, lint.err) == (0, "", "")
    text = shown(result.out, tmp_path)
    # A sample command stays on its line.
    samples = "".join(re.findall(r"^\.nf\n(.*?)^\.fi", result.out, re.M | re.S))
    for escape, character in {"\\-": "-", "\\(aq": "'", "\\(dq": '"', "\\(ti": "~", "\\e": "\\"}.items():
        samples = samples.replace(escape, character)
    assert not [line for line in text.splitlines() if len(line) > 80 and line.strip()[:40] not in samples]
    sections = re.findall(r"^[A-Z][A-Z ]+$", text, re.M)
    assert sections == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", *[s for s in sections if s.startswith("OPTIONS OF ")],
        "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]
    assert " vault-command" not in text and "handle-redirect" not in text
    commands = COMMANDS if program == VAULT else ["serve", "init", "keys", "keys list", "keys unlock", "backup", "manual"]
    for command in commands:
        assert re.search(rf"^   {name} {command}$", text, re.M), command


@pytest.mark.parametrize("page", [
    *[[program, "manual"] for program, _ in PROGRAMS],
    ["cat", ROOT / "Sources/Packaging/debian/vault-key-service-operate.8"],
])
def test_a_narrow_terminal_shows_the_page_without_a_warning(page, tmp_path):
    page = run(page)
    assert (page.status, page.err) == (0, "")
    for columns in (60, 78, 120):
        assert shown(page.out, tmp_path, columns)
    # groff 1.23, which is that of Debian 13, warns if it has to stretch a line.
    assert "\n.ds AD l\n" in page.out


def test_the_page_of_the_operators_command_is_correct():
    lint = run(["mandoc", "-Tlint", ROOT / "Sources/Packaging/debian/vault-key-service-operate.8"])
    assert (lint.status, lint.out, lint.err) == (0, "", "")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_option_of_the_help_is_in_the_page_of_the_command(command, tmp_path):
    page = run([VAULT, "manual", *command.split()])
    assert (page.status, page.err) == (0, "")
    file = tmp_path / "page.1"
    file.write_text(page.out)
    lint = run(["mandoc", "-Tlint", str(file)])
    assert (lint.status, lint.out) == (0, "")
    text = page.out.replace("\\-", "-")
    help = run([VAULT, *command.split(), "--help"]).out
    for option in set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", help, re.M)) - {"--help", "--version"}:
        assert re.search(rf"^\\fB.*{option}\b", text, re.M), option


def test_exit_statuses_are_those_of_the_help(tmp_path):
    help = " ".join(run([VAULT, "--help"]).out.split())
    page = " ".join(shown(run([VAULT, "manual"]).out, tmp_path).split())
    assert "Exit status: 0 done 1 any other error 64 wrong usage" in help
    assert "EXIT STATUS 0 done 1 any other error 64 wrong usage" in page
    assert "Exit status: 0" not in page


def test_text_that_roff_would_read_stays_as_it_is(tmp_path):
    text = shown(run([VAULT, "manual", "exec"]).out, tmp_path)
    assert re.search(r"^ +vault exec --user alice -- \\$", text, re.M)
    assert """sh -c 'curl -H "Authorization: Bearer $ACCESS_TOKEN" https://example.com/'""" in text


def test_the_date_is_that_of_a_build_that_can_be_repeated():
    page = run([VAULT, "manual"], {"SOURCE_DATE_EPOCH": "1000000000"})
    assert page.out.startswith('.TH "VAULT" 1 "2001-09-09" "vault ')


def test_a_command_that_is_not_there(person):
    result = person.vault("manual", "unlock", "nothing")
    assert result.status == 64 and 'There is no command "unlock nothing". See: vault --help' in result.err
    assert person.vault("manual", "unlock", "--json").json["page"].startswith(".TH")


@pytest.mark.parametrize("program, name", PROGRAMS)
def test_at_a_terminal_man_shows_the_page(person, program, name, tmp_path):
    man = tmp_path / "programs/man"
    man.parent.mkdir()
    man.write_text('#!/bin/sh\necho "man $*"; head -n 1\n')
    man.chmod(0o755)
    terminal = person.terminal(shell=f'PATH="{man.parent}:$PATH" exec "{program}" manual')
    assert terminal.end() == 0
    title = name.upper().replace("-", "\\-")
    assert f'man -l -\r\n.TH "{title}" ' in terminal.shown


@pytest.mark.parametrize("program, name", PROGRAMS)
def test_without_man_the_page_is_printed(person, program, name, tmp_path):
    terminal = person.terminal(shell=f'PATH="{tmp_path}" exec "{program}" manual')
    assert terminal.end() == 0
    assert ".SH \"SYNOPSIS\"" in terminal.shown
