"""The code blocks of the documents: the lines that a reader types, and the output.

A comment above a block tells the test more:

    <!-- test: types "wrong", "tea at half past four" -->   the person's answers to the next prompts
    <!-- test: in another terminal -->                      a command that keeps running, such as a server
    <!-- test: after Ctrl-C in the other terminal -->       first stops the command in the other terminal
    <!-- test: not run: REASON -->                          the test cannot run this block
    <!-- test: program NAME -->                             Swift: a whole program instead of lines of a function
    <!-- test: machine -->                                  the block needs root or systemd, so Tests/machine/run.sh runs
                                                            it on a booted machine
    <!-- test: machine, in another terminal -->             the same, with another comment of this list
    <!-- test: machine, file NAME -->                       the text of a file that the next commands use
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .programs import ROOT

BLOCK = re.compile(
    r"(?:<!-- test: (?P<directive>(?:(?!-->).)*?) -->\n+)?"
    r"^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass
class Block:
    path: Path
    line: int
    language: str
    text: str
    directive: str

    @property
    def is_for_machine(self):
        """Whether the block is run on a booted machine only."""
        return re.match(r"machine(, |$)", self.directive) is not None

    @property
    def instruction(self):
        """The directive for any machine."""
        return re.sub(r"^machine(, |$)", "", self.directive)

    def _after(self, word):
        return self.instruction.removeprefix(word) if self.instruction.startswith(word) else None

    @property
    def reason(self):
        """The reason why the block is not run, or None."""
        return self._after("not run: ")

    @property
    def typed(self):
        return re.findall(r'"([^"]*)"', self._after("types ") or "")

    @property
    def is_elsewhere(self):
        return self.instruction == "in another terminal"

    @property
    def is_after_stop(self):
        return self.instruction == "after Ctrl-C in the other terminal"

    @property
    def program(self):
        return self._after("program ")

    @property
    def file(self):
        """The name of the file whose text the block is, or None."""
        return self._after("file ")

    @property
    def steps(self):
        """Returns the commands of a console session, each with its output."""
        steps = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                steps.append(([line[2:]], []))
            elif steps and steps[-1][0][-1].endswith("\\") and not steps[-1][1]:
                steps[-1][0].append(line)
            else:
                assert steps, f"{self.path.name}:{self.line}: a console session begins with a command"
                steps[-1][1].append(line)
        return [("\n".join(command), shown) for command, shown in steps]

    def __str__(self):
        return f"{self.path.name}:{self.line}"


def documents():
    """Returns all documents for people, the README first."""
    found = [ROOT / "README.md", *sorted(ROOT.glob("Sources/*/*.docc/*.md")), *sorted(ROOT.glob(".github/*.md"))]
    return [path for path in found if path.exists()]


def blocks(path, *languages):
    text = path.read_text()
    return [
        Block(path, text.count("\n", 0, match.start("text")) + 1, match["language"], match["text"], match["directive"] or "")
        for match in BLOCK.finditer(text) if not languages or match["language"] in languages
    ]


# These values differ in each run. A comparison replaces each with a fixed word.
CHANGING = [
    (re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d| UTC)?"), "TIME"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b(?:[0-9A-Z]{4}-){7}[0-9A-Z]{4}\b"), "RECOVERY-CODE"),
    (re.compile(r"^[A-Z]{4}-[A-Z]{4}$|(?<=\")[A-Z]{4}-[A-Z]{4}(?=\")", re.M), "DEVICE-CODE"),
    (re.compile(r"\b(?:[0-9a-f]{4}-){4}[0-9a-f]{4}\b"), "FINGERPRINT"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "PUBLIC-KEY"),
    (re.compile(r"process \d+"), "process N"),
    (re.compile(r"/(tmp|home|root)/[\w./-]+"), "PATH"),
    (re.compile(r"~/[\w./-]+"), "PATH"),
    (re.compile(r"\b\d+(\.\d+)?(?= (s|ms|min|KB|MB|bytes)\b)"), "N"),
]


def comparable(text):
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def fits(shown, expected):
    """Whether a program's output matches the document. `…` in the document matches any text."""
    pattern = r"[\s\S]*?".join(re.escape(part) for part in comparable(expected).split("…"))
    return re.fullmatch(pattern, comparable(shown)) is not None
