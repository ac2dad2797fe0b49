#!/usr/bin/env python3
"""Checks that no library names a command: Tests/messages.py

A library says what happened. Its callers are apps, and a person at an app has no command to type. So no text of a
library names a command of this package, an option or a signal. The programs add what to type: see
Sources/VaultCommands/Hints.swift. The check reads the string literals of the libraries. In the doc comments of their
public declarations, an app's developer reads what to do, so these name no command either. They may name signals and
the options of other programs.
"""

import pathlib
import re
import sys

# The programs, and the targets that only they use. All other targets are libraries.
PROGRAMS = {
    "VaultCommands", "vault", "vault-command", "vault-key-service", "vault-dev", "VaultManual", "VaultDevelopment",
    "VaultAgentProtocol",
}  # fmt: skip
SUBCOMMANDS = (
    "account agent backend completion config delete devices doctor exec export handle-redirect help helper import item "
    "items key-services lock login logout manual passwd register rekey setup status token unlock userinfo users"
)
NAMED = re.compile(
    rf"\bvault (?:{SUBCOMMANDS.replace(' ', '|')})\b"
    r"|\bvault-key-service\b|\bvault-dev\b|(?<![-\w])--[a-z][-a-z]*|\bp?kill\b|\bkillall\b|\bSIG[A-Z]{2,}\d?\b"
)
COMMANDS = re.compile(rf"\bvault (?:{SUBCOMMANDS.replace(' ', '|')})\b|\bvault-key-service\b|\bvault-dev\b|\bpkill\b")
# Options that a library passes to other programs, and a name that it gives to a database.
NO_MESSAGES = {
    "VaultAuth/SignIn/DefaultBrowser.swift": re.compile(r"--.*"),
    "KeyServicePostgreSQL/DatabaseURL.swift": re.compile(r"vault-key-service"),
}


def literals(text: str) -> list[tuple[int, str]]:
    """Returns the string literals of Swift code: line number and text, with `\\(…)` for an interpolation.

    A literal inside an interpolation is one of its own. Neighbours that "+" joins stay apart.
    """
    found: list[tuple[int, str]] = []
    position = 0

    def skip_code(end: str) -> None:
        """Reads code until the closing parenthesis of an interpolation, or to the end of the file."""
        nonlocal position
        depth = 0
        while position < len(text):
            if text.startswith("//", position):
                newline = text.find("\n", position)
                position = len(text) if newline < 0 else newline
            elif text.startswith("/*", position):
                open_comments, position = 1, position + 2
                while open_comments and position < len(text):
                    if text.startswith("/*", position):
                        open_comments, position = open_comments + 1, position + 2
                    elif text.startswith("*/", position):
                        open_comments, position = open_comments - 1, position + 2
                    else:
                        position += 1
            elif match := re.compile(r'(#*)("""(?=[ \t]*\n)|")').match(text, position):
                read_literal(match[1], match[2])
            else:
                if end and text[position] == "(":
                    depth += 1
                elif end and text[position] == ")":
                    if not depth:
                        position += 1
                        return
                    depth -= 1
                position += 1
        if end:
            raise ValueError("an interpolation does not end")

    def read_literal(hashes: str, quote: str) -> None:
        nonlocal position
        line = text.count("\n", 0, position) + 1
        position += len(hashes) + len(quote)
        content, escape = [], "\\" + hashes
        while not text.startswith(quote + hashes, position):
            if position >= len(text) or quote == '"' and text[position] == "\n":
                raise ValueError(f"the literal of line {line} does not end")
            if not text.startswith(escape, position):
                content.append(text[position])
                position += 1
                continue
            position += len(escape)
            if text[position] == "(":
                position += 1
                skip_code(")")
                content.append("\\(…)")
            elif match := re.compile(r"[ \t]*\n[ \t]*").match(text, position):
                position = match.end()
            else:
                content.append({"n": "\n", "t": "\t"}.get(text[position], text[position]))
                position += 1
        position += len(quote) + len(hashes)
        found.append((line, "".join(content)))

    skip_code("")
    return found


def public_comments(text: str) -> list[tuple[int, str]]:
    """Returns the lines of doc comments above public declarations."""
    found, block = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("///"):
            block.append((number, line))
            continue
        if line.lstrip().startswith(("@", "#if", "// swift-format")) and "public" not in line:
            continue
        if block and re.search(r"\b(?:public|open|case)\b", line):
            found += block
        block = []
    return found


def main() -> int:
    package = pathlib.Path(__file__).resolve().parent.parent
    errors, read = [], 0
    for folder in sorted(path for path in (package / "Sources").iterdir() if path.name not in PROGRAMS):
        for file in sorted(folder.rglob("*.swift")):
            name = str(file.relative_to(package / "Sources"))
            text = file.read_text()
            try:
                found = literals(text)
            except ValueError as error:
                errors.append(f"Sources/{name}:1: this check cannot read the file: {error}")
                continue
            read += len(found)
            excepted = NO_MESSAGES.get(name)
            found = [(line, content) for line, content in found if not (excepted and excepted.fullmatch(content))]
            for named, texts in ((NAMED, found), (COMMANDS, public_comments(text))):
                for line, content in texts:
                    if match := named.search(content):
                        errors.append(f"Sources/{name}:{line}: a library names {match[0]!r}: {content.strip()}")
    if not read:
        errors.append("No text was found: this check reads the wrong folder.")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
