"""Makes an image of a QR code that a terminal shows, and reads it with a scanner."""

import re
import subprocess

CELL = 4  # pixels per module
BLACK, WHITE = 0, 255
HALVES = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
PALETTE = {"16": BLACK, "231": WHITE}


def code_lines(shown):
    """The lines of a terminal's output that draw a QR code."""
    lines = [line.rstrip("\r") for line in shown.split("\n")]
    return [line for line in lines if len(COLOUR.sub("", line)) > 20 and set(COLOUR.sub("", line)) <= set(HALVES)]


def pixels(lines, foreground, background):
    """Draws two rows of modules per line, in the terminal's colours, with the background around them."""
    rows = []
    for line in lines:
        ink, paper = foreground, background
        upper, lower = [], []
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if match := COLOUR.fullmatch(part):
                values = match[1].split(";")
                if values in ([""], ["0"]):
                    ink, paper = foreground, background
                else:
                    assert values[0:2] == ["38", "5"] and values[3:5] == ["48", "5"], values
                    ink, paper = PALETTE[values[2]], PALETTE[values[5]]
                continue
            for character in part:
                top, bottom = HALVES[character]
                upper.append(ink if top else paper)
                lower.append(ink if bottom else paper)
        rows += [upper, lower]
    width = max(map(len, rows)) + 20
    framed = [[background] * 10 + row + [background] * (width - 10 - len(row)) for row in rows]
    return [[background] * width] * 10 + framed + [[background] * width] * 10


def scan(rows, folder):
    """Returns the text that zbarimg reads, or an empty text."""
    image = b"".join(bytes(value for value in row for _ in range(CELL)) * CELL for row in rows)
    path = folder / "screen.pgm"
    path.write_bytes(b"P5 %d %d 255\n" % (len(rows[0]) * CELL, len(rows) * CELL) + image)
    done = subprocess.run(["zbarimg", "--quiet", "--raw", path], capture_output=True, text=True)
    return done.stdout.rstrip("\n")
