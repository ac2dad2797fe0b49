"""A pinentry that follows a script: `python scripted_pinentry.py`, with a folder in TEST_PINENTRY.

The folder has `script.json`: the answers to the questions, in order, over several runs. `log.json` gets one list for
each run: the commands that it received.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote_to_bytes

ROUGH = {
    "garbage": b"HTTP/1.1 400 Bad Request\n", "no-line": b"O" * 100_000, "endless": b"# a comment\n" * 100_000,
    "not-text": b"\xff\xfe\x00\n", "empty": b"", "error": b"ERR\n", "huge": (b"D " + b"x" * 900 + b"\n") * 20 + b"OK\n",
}


def write(data):
    try:
        os.write(1, data)
    except BrokenPipeError:
        sys.exit()


class Log:
    def __init__(self, folder):
        self.path = folder / "log.json"
        self.all = json.loads(self.path.read_text()) if self.path.exists() else []
        self.lines = []
        self.all.append(self.lines)

    def add(self, line):
        self.lines.append(line)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.all))
        new.rename(self.path)


def take_answer(folder):
    path = folder / "script.json"
    first, *rest = json.loads(path.read_text())
    path.write_text(json.dumps(rest))
    return first


def main():
    folder = Path(os.environ["TEST_PINENTRY"])
    log = Log(folder)
    script = json.loads((folder / "script.json").read_text())
    if script[0] == "die":
        sys.exit(1)
    if script[0] == "rough-greeting":
        write(ROUGH["garbage"])
        time.sleep(60)
    write(b"# a comment\nOK Pleased to meet you\n")
    for line in sys.stdin.buffer:
        line = line.rstrip(b"\n")
        assert len(line) < 1000
        command, _, argument = line.partition(b" ")
        log.add([command.decode(), unquote_to_bytes(argument).decode()])
        if line == b"GETINFO flavor":
            write(f"D {os.environ.get('TEST_PINENTRY_FLAVOR', 'gtk2')}\nOK\n".encode())
            continue
        if command not in (b"GETPIN", b"CONFIRM"):
            write(b"OK\n" if command != b"OPTION" else b"S something\nERR 83886254 Unknown option <Pinentry>\n")
            continue
        answer = take_answer(folder)
        if answer == "hang":
            child = subprocess.Popen(["sleep", "600"])
            (folder / "numbers").write_text(f"{os.getpid()} {child.pid}")
            time.sleep(600)
        elif answer in ROUGH:
            write(ROUGH[answer])
        elif answer is True:
            write(b"OK\n")
        elif isinstance(answer, int):
            write(b"ERR %d Operation refused <Pinentry>\n" % answer)
        else:
            # The answer has two parts. Escapes and other lines may stand between them.
            data = "".join(f"%{byte:02X}" if byte in b"%\r\n\\" or byte > 126 else chr(byte) for byte in answer.encode())
            half = data.find("%", len(data) // 2)
            half = half if half >= 0 else len(data)
            parts = [part for part in (data[:half], data[half:]) if part]
            write(b"S PIN_REPEATED\nINQUIRE QUALITY\n")
            reply = sys.stdin.buffer.readline()
            assert reply == b"END\n", reply
            write(b"# more\n" + b"".join(f"D {part}\n".encode() for part in parts) + b"OK done\n")


main()
