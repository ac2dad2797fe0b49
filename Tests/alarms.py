#!/usr/bin/env python3
"""Checks the alarms of the key service: Tests/alarms.py [--write] [RULES]

The rules for Prometheus are in Sources/Packaging. The article KeyServiceWatching shows them in a table, which `--write`
makes from the rules. Tests/alarms.test.yml has one case in which each alarm is on, and one in which none is: promtool
runs them, if it is installed (Debian's package prometheus).
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
RULES = PACKAGE / "Sources/Packaging/vault-key-service.rules.yml"
ARTICLE = PACKAGE / "Sources/KeyServiceServer/KeyServiceServer.docc/KeyServiceWatching.md"
CASES = PACKAGE / "Tests/alarms.test.yml"
HEAD = "| Alarm | When | What to do |\n|---|---|---|\n"
# The form of a rule. YAML has many others, and Python has no parser of YAML.
RULE = re.compile(
    r"      - alert: (KeyService[A-Za-z0-9]+)\n"
    r"        expr: (\S.*\n(?: {10}\S.*\n)*)"
    r"(?:        for: \d+[mh]\n)?"
    r"        labels: \{severity: (?:critical|warning)\}\n"
    r"        annotations:\n"
    r"          summary: (\S.*\.)\n"
    r"          description: (\S.*)\n"
)
START = re.compile(r"(?:#.*\n)*groups:\n  - name: vault-key-service\n    rules:\n")


def rules(text: str) -> list[re.Match]:
    """Returns the rules of the file, each with its name, expression, summary and description."""
    start = START.match(text)
    parts = text[start.end():].split("\n\n") if start else [""]
    found = [RULE.fullmatch(part.rstrip("\n") + "\n") for part in parts]
    for part, rule in zip(parts, found):
        if not rule:
            raise ValueError(f"{RULES.name}: this is not of the form of the other rules:\n{part}")
    return found


def table(found: list[re.Match]) -> str:
    """Returns the rows of the article's table."""
    return "".join(f"| `{name}` | {summary} | {action.rstrip('.')}. |\n"
                   for name, _, summary, action in (rule.groups() for rule in found))


def promtool(path: pathlib.Path) -> bool:
    """Runs the cases with the rules. Returns whether they are right."""
    if not shutil.which("promtool"):
        print("promtool is not installed, so the rules were not run.", file=sys.stderr)
        return True
    with tempfile.TemporaryDirectory() as folder:
        cases = pathlib.Path(folder) / CASES.name
        cases.write_text(re.sub(r"^rule_files:.*$", f"rule_files: [{path.resolve()}]", CASES.read_text(), flags=re.M))
        commands = [["promtool", "check", "rules", str(path)], ["promtool", "test", "rules", str(cases)]]
        done = [subprocess.run(command, capture_output=True, text=True) for command in commands]
    for result in done:
        if result.returncode != 0:
            print(result.stdout + result.stderr, file=sys.stderr)
    return all(result.returncode == 0 for result in done)


def main(arguments: list[str]) -> int:
    paths = [word for word in arguments if word != "--write"]
    path = pathlib.Path(paths[0]) if paths else RULES
    errors = []
    try:
        found = rules(path.read_text())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    names = [rule[1] for rule in found]
    article = ARTICLE.read_text()
    shown = re.search(re.escape(HEAD) + r"((?:\|.*\n)*)", article)
    if not shown:
        errors.append(f"{ARTICLE.name}: the table of the alarms is gone.")
    elif shown[1] != table(found):
        if "--write" in arguments:
            ARTICLE.write_text(article[:shown.start(1)] + table(found) + article[shown.end(1):])
        else:
            errors.append(f"{ARTICLE.name}: the table is not that of the rules. To make it: Tests/alarms.py --write")
    cases = CASES.read_text()
    tested = re.findall(r'^ +- labels: \'\{alertname="(\w+)"\}\'$', cases, re.M)
    for name in sorted({*names} ^ {*tested}):
        errors.append(f"{CASES.name} or {path.name} lacks the alarm {name}.")
    if len(names) != len({*names}):
        errors.append(f"{path.name}: two alarms have the same name.")
    for error in errors:
        print(error, file=sys.stderr)
    return 0 if promtool(path) and not errors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
