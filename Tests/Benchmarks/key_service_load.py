"""Measures the key service over a longer time: many keys, many requests, half of its load, and far too much of it."""

import re
import signal
import sqlite3
import statistics
import subprocess
from pathlib import Path

import measuring
from measuring import report

# Enough keys for SQLite's own cache to be too small, as with people who log in at random.
REAL_KEYS = 4096
WRK = re.compile(r"\s+(50|99)%\s+([\d.]+)(us|ms|s)\b")
UNITS = {"us": 1, "ms": 1000, "s": 1_000_000}


class Service:
    """`vault-key-service serve` without the limits of new keys and connections."""

    def __init__(self, program, folder, *options):
        self.folder = folder
        self.options = options
        folder.mkdir()
        self.program, self.data, self.runs = program, folder / "keys", 0
        subprocess.run([program, "init", "--data", self.data], check=True, stdout=subprocess.DEVNULL)
        self.start()

    def start(self, listen="127.0.0.1:0"):
        log = open(self.folder / f"log-{self.runs}", "w")
        self.runs += 1
        self.process = subprocess.Popen(
            [self.program, "serve", "--data", self.data, "--listen", listen, "--creates-per-hour", "0",
             "--creates-per-hour-total", "0", "--max-connections-per-address", "400",
             "--refusals-per-minute", "0", *self.options],
            stdout=subprocess.PIPE, stderr=log, text=True)
        self.base = self.process.stdout.readline().split()[-1]

    def resident(self):
        """MiB"""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu(self):
        return measuring.cpu(self.process.pid)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def latency(base, connections, seconds, script):
    """Returns the requests per second, the part of refused ones, and the 50th and 99th percentile in microseconds of
    all answers."""
    arguments = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", "--latency", "-s", str(script)]
    text = subprocess.check_output([*arguments, base + "/keyservice/v1/key"], text=True)
    found = {name: float(value) * UNITS[unit] for name, value, unit in WRK.findall(text)}
    total = int(re.search(r"(\d+) requests in", text)[1])
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return total / seconds, int(refused[1]) / total if refused else 0, found["50"], found["99"]


def measure(program, seconds, folder, make_script, load):
    """`make_script(base, count)` makes keys and returns a script for wrk; `load` returns the answers per second."""
    service = Service(program, folder / "load")
    try:
        script = make_script(service.base, REAL_KEYS)
        few = many_keys_in_turn(service, seconds, script, load)
        half_load(service, seconds, script, few)
        long_run(service, script)
    finally:
        service.stop()


def many_keys_in_turn(service, seconds, script, load):
    """The same keys are used, alone and among a million others."""
    url = "/keyservice/v1/key"
    few, many = [], []
    for _ in range(3):
        few.append(load(service.base + url, seconds, 32, script))
    fill(service, 1_000_000)
    for _ in range(3):
        many.append(load(service.base + url, seconds, 32, script))
    report("releases among 1,000,000 keys / among 4,096", statistics.median(many) / statistics.median(few),
           f"{min(many):.0f}–{max(many):.0f}/s", 0.9, f"{statistics.median(few):.0f}/s ({min(few):.0f}–{max(few):.0f}/s)",
           at_least=True)
    return statistics.median(many)


def fill(service, count):
    """Puts copies of a record between the others. They do not open, as a record is bound to its id."""
    service.stop()
    with sqlite3.connect(service.data / "keys.sqlite") as database:
        database.execute("PRAGMA foreign_keys = OFF")
        # The real keys move apart, so that each has a page of its own.
        step = count // REAL_KEYS
        database.execute("UPDATE key_record SET number = -number")
        database.execute(f"UPDATE key_record SET number = -number * {step}")
        database.execute(
            f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) "
            "INSERT OR IGNORE INTO key_record (number, id, created_at, kind, details, master_key, content, state, "
            "wrong_in_all, room) SELECT n, lower(hex(randomblob(16))), k.created_at, k.kind, k.details, k.master_key, "
            "k.content, k.state, k.wrong_in_all, k.room FROM n, (SELECT * FROM key_record LIMIT 1) k")
    service.start()


def half_load(service, seconds, script, whole):
    """As many connections as give about half of the whole rate."""
    for connections in range(1, 17):
        rate, _, middle, slow = latency(service.base, connections, seconds, script)
        if rate >= whole / 2:
            break
    report("99th percentile / median of a release at half load", slow / middle, f"{connections} connections", 5,
           f"{slow:.0f} µs against {middle:.0f} µs at {rate:.0f}/s of {whole:.0f}/s")


def long_run(service, script):
    """200,000 releases, after as many as fill all caches."""
    done, begin = 0, None
    while done < 220_000:
        rate, _, _, _ = latency(service.base, 32, 2, script)
        done += int(rate * 2)
        if begin is None and done > 20_000:
            begin = service.resident()
    growth = service.resident() - begin
    report("growth of the memory over 200,000 releases, MiB", growth, "one run", 8,
           f"{begin:.1f} MiB after the first 20,000, {done} releases in all")
