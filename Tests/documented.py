#!/usr/bin/env python3
"""Checks that every public declaration has a doc comment: Tests/documented.py

A declaration in Sources is public if it says `public` or `open`. The members of public extensions, the requirements of
public protocols and the cases of public enums are public, too. Swift's own conformances that say nothing new need no
comment. The check reads the text of the files, so it needs no build.
"""

import pathlib
import re
import sys

# These declarations need no comment, because they mean the same in each type.
OBVIOUS = re.compile(
    r"func ==|func hash\(into |func encode\(to \w+: any Encoder|init\(from \w+: any Decoder"
    r"|(?:var|let) (?:description|debugDescription|customMirror|errorDescription)\b"
)
# Comments and strings. An interpolation may contain strings and calls.
TEXT = r'"(?:\\.|[^"\\\n])*"'
CALL = rf'\((?:[^()"\n]|{TEXT}|\((?:[^()"\n]|{TEXT}|\([^()"\n]*\))*\))*\)'
HIDDEN = re.compile(rf'//[^\n]*|/\*.*?\*/|(#+)".*?"\1|"""(?:\\.|.)*?"""|"(?:\\{CALL}|\\.|[^"\\\n])*"', re.DOTALL)
ATTRIBUTE = r"@\w+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?"
MODIFIER = (
    r"(?:public|open|package|internal|fileprivate|private)(?:\(set\))?|static|class(?=\s+(?:var|func|subscript))|final"
    r"|override|mutating|nonmutating|consuming|borrowing|required|convenience|indirect|lazy|weak|unowned(?:\(\w+\))?"
    r"|nonisolated(?:\(\w+\))?|isolated|distributed|dynamic|optional|prefix|postfix|infix"
)
KIND = r"class|struct|enum|protocol|actor|extension|func|var|let|init|subscript|typealias|associatedtype|case|macro|operator"
DECLARATION = re.compile(
    rf"^[ \t]*(?P<attributes>(?:{ATTRIBUTE}\s+)*)(?P<modifiers>(?:(?:{MODIFIER})\s+)*)(?P<kind>{KIND})\b", re.MULTILINE
)
LESS = {"package", "internal", "fileprivate", "private"}


def documented(lines: list[str], number: int) -> bool:
    """Whether a doc comment ends above this line, which is a declaration's first line."""
    above = number - 1
    while above >= 0 and (not lines[above].strip() or lines[above].lstrip().startswith(("// swift-format", "#if"))):
        above -= 1
    return above >= 0 and lines[above].lstrip().startswith("///")


def undocumented(text: str) -> tuple[int, list[int]]:
    """Returns the number of public declarations in a file, and the line numbers of those without a doc comment."""
    code = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), text)
    lines = text.split("\n")
    found, missing = 0, []
    starts = {match.end(): match for match in DECLARATION.finditer(code)}
    # The kind of each open brace: "public" if all members are public implicitly, "enum" if only the cases are.
    scopes: list[str] = []
    opens = ""
    for position, character in enumerate(code):
        if match := starts.get(position):
            modifiers, kind = set(match["modifiers"].split()), match["kind"]
            around = scopes[-1] if scopes else ""
            inherits = around == "public" or (around == "enum" and kind == "case")
            public = modifiers & {"public", "open"} or (inherits and not modifiers & LESS)
            if public and kind != "extension":
                found += 1
                rest = code[match.start("kind") :]
                start = code.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip()))
                if not OBVIOUS.match(rest) and not documented(lines, start):
                    missing.append(code.count("\n", 0, match.start("kind")) + 1)
            if kind in ("extension", "protocol") and public:
                opens = "public"
            else:
                opens = "enum" if kind == "enum" and public else "none"
        if character == "{":
            scopes.append(opens)
            opens = "none"
        elif character == "}":
            if not scopes:
                raise ValueError("a brace is closed that was not opened")
            scopes.pop()
    if scopes:
        raise ValueError("a brace is not closed")
    return found, missing


def main() -> int:
    package = pathlib.Path(__file__).resolve().parent.parent
    found, errors = 0, []
    for file in sorted((package / "Sources").rglob("*.swift")):
        name = file.relative_to(package)
        text = file.read_text()
        try:
            public, missing = undocumented(text)
        except ValueError as error:
            errors.append(f"{name}:1: this check cannot read the file: {error}")
            continue
        found += public
        errors += [f"{name}:{line}: no doc comment: {text.splitlines()[line - 1].strip()}" for line in missing]
    if not found:
        errors.append("No public declaration was found: this check reads the wrong folder.")
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        print(f"{len(errors)} of {found} public declarations need a doc comment.", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
