#!/usr/bin/env python3
"""Checks that each claim about a thief has a test: Tests/threats.py

The tables below say what a thief gets, and what each unlock method costs. Each row is carried out by at least one test.
A comment above the test has the text of the row's first cell:

    // Row: the disk
    @Test func `when a thief has the disk, …

In Python, the comment begins with "# Row: ". A long text goes on in the next line of the comment, after three spaces.
The check fails if a row has no test, if a comment names no row, and if a table of these pages is in neither list.
"""

import pathlib
import re
import sys

# Tables whose rows are claims: page, heading, first header cell.
CLAIMS = [
    ("ThreatModel.md", "What is protected", ""),
    ("ThreatModel.md", "What a thief gets", "The thief has"),
    ("ThreatModel.md", "A false service while a key is made", "The machine knows"),
    ("ThreatModel.md", "What each further unlock method adds", "Unlock method"),
    ("ThreatModel.md", "What each further unlock method adds", "Hardware"),
    ("ThreatModel.md", "An account without a key service", "The thief has"),
    ("ThreatModel.md", "What the disk shows in the clear", "Subject"),
    ("ThreatModelInUse.md", "Sessions in the agent", "Who"),
    ("UnlockMethods.md", "Which unlock methods there are", "`vault unlock add`"),
    ("UnlockMethods.md", "Replace the vault key", "Somebody perhaps knows"),
    ("UnlockMethods.md", "If a machine is lost", "Still works"),
]
# Tables that claim nothing about a thief: definitions of words, and what a person types.
OTHERS = [
    ("ThreatModel.md", "What is protected", "Word"),
    ("UnlockMethods.md", "Which method `vault login` takes", "Command"),
    ("UnlockMethods.md", "Which method `vault login` takes", "Option"),
    ("UnlockMethods.md", "Open with the desktop", "You see"),
    ("UnlockMethods.md", "Locked or forgotten", "You see"),
    ("UnlockMethods.md", "Locked or forgotten", "You forgot or lost"),
    ("UnlockMethods.md", "If a machine is lost", "To"),
]
PAGES = "Sources/CredentialVault/CredentialVault.docc"
COMMENT = re.compile(r"\s*(?://|#) Row: (.*\S)")
MORE = re.compile(r"\s*(?://|#)   +(.*\S)")
# The code under the comment must begin a test.
ANY_COMMENT = re.compile(r"\s*(?://|# |#$)")
TEST = re.compile(r"\s*(?:@Test\b|@pytest\.mark\.|@[A-Z_]+$|def test_)")


def tables(page: pathlib.Path) -> dict[tuple[str, str, str], list[str]]:
    """Returns the first cells of each table's rows, by page, heading and first header cell."""
    found, heading, in_code, key = {}, "", False, None
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            in_code = not in_code
        if in_code or not line.startswith("|"):
            key = None
            if not in_code and line.startswith("#"):
                heading = line.lstrip("#").strip()
            continue
        cell = re.split(r"(?<!\\)\|", line)[1].strip()
        if key is None:
            key = (page.name, heading, cell)
            if key in found:
                raise ValueError(f"{page.name}: two tables of {heading!r} begin with {cell!r}")
            found[key] = []
        elif not re.fullmatch(r":?-+:?", cell):
            found[key].append(cell)
    return found


def comments(file: pathlib.Path) -> list[tuple[int, str, bool]]:
    """Returns the rows that a file's comments name: line number, text, and whether a test follows."""
    found, lines = [], file.read_text().splitlines()
    for number, line in enumerate(lines):
        if not (match := COMMENT.match(line)):
            continue
        text, below = match[1], number + 1
        while below < len(lines) and (more := MORE.match(lines[below])):
            text, below = f"{text} {more[1]}", below + 1
        while below < len(lines) and ANY_COMMENT.match(lines[below]):
            below += 1
        found.append((number + 1, text, below < len(lines) and bool(TEST.match(lines[below]))))
    return found


def main() -> int:
    package = pathlib.Path(__file__).resolve().parent.parent
    errors, known, rows = [], {}, {}
    for name in sorted({page for page, _, _ in CLAIMS + OTHERS}):
        known |= tables(package / PAGES / name)
    for table in known.keys() - {*CLAIMS, *OTHERS}:
        errors.append(f"{PAGES}/{table[0]}: Tests/threats.py does not list the table {table[2]!r} of {table[1]!r}.")
    for table in [*CLAIMS, *OTHERS]:
        if table not in known:
            errors.append(f"{PAGES}/{table[0]}: the table {table[2]!r} of {table[1]!r} is gone.")
    for table in CLAIMS:
        for row in known.get(table, []):
            if row in rows:
                errors.append(f"{PAGES}/{table[0]}: two rows begin with {row!r}, so a comment cannot tell them apart.")
            rows[row] = table[0]
    tested = set()
    for file in sorted((package / "Tests").rglob("*")):
        if file.suffix not in (".swift", ".py") or file == pathlib.Path(__file__).resolve():
            continue
        for number, text, is_above_test in comments(file):
            place = f"{file.relative_to(package)}:{number}"
            if not is_above_test:
                errors.append(f"{place}: no test follows this comment.")
            elif text not in rows:
                errors.append(f"{place}: no table has the row {text!r}.")
            tested.add(text)
    errors += [f"{PAGES}/{page}: no test carries out the row {row!r}." for row, page in rows.items() if row not in tested]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
