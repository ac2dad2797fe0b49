"""Measures protocol version 2 at the key service: evaluations against the bare multiplication that each one needs, and
refusals against each other."""

import http.client
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from key_service_load import Service
from measuring import in_turn, report, report_cpu, spread

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "EndToEnd"))
from support.oprf import Guess, OPRFKey, Signer, encode, message, multiply, random_element, random_scalar

# The guesses of each key: its limit, less the one that its creation needs.
GUESSES = 4
KEYS = 12_500


class BlankGuess(Guess):
    """An element without a secret."""

    def __init__(self):
        self.blinded = random_element()


def multiplications(seconds):
    """Returns the multiplications per second, and the CPU seconds of each."""
    scalar, element = random_scalar(), random_element()
    end, begin, count = time.perf_counter() + seconds, time.process_time(), 0
    while time.perf_counter() < end:
        for _ in range(100):
            multiply(scalar, element)
        count += 100
    return count / seconds, (time.process_time() - begin) / count


def bare(seconds):
    """Multiplies on all cores. Returns the multiplications per second, and the CPU seconds of each."""
    cores = len(os.sched_getaffinity(0))
    with multiprocessing.Pool(cores) as pool:
        rates, costs = zip(*pool.map(multiplications, [seconds] * cores))
    return sum(rates), statistics.mean(costs)


def script(path, requests):
    """Writes a script for wrk. A request: path, body, authorization."""
    data = path.with_suffix(".txt")
    data.write_text("".join(f"{path}\t{body.decode()}\t{authorization}\n" for path, body, authorization in requests))
    path.write_text(f"""
-- wrk asks for one request before it begins.
local requests, number = {{}}, -1
init = function()
  for line in io.lines("{data}") do
    local path, body, authorization = line:match("([^\t]*)\t([^\t]*)\t([^\t]*)")
    local headers = {{ ["Content-Type"] = "application/json", ["Authorization"] = authorization }}
    requests[#requests + 1] = wrk.format("POST", path, headers, body)
  end
end
request = function()
  number = math.min(number + 1, #requests)
  return requests[math.max(1, number)]
end
""")
    return path


def send(base, path, seconds):
    """Sends the requests of a script, and then the last one again and again. Returns the answers per second, and the
    number of refusals."""
    text = subprocess.check_output(
        ["wrk", "-t1", "-c32", f"-d{seconds}s", "--timeout", "20s", "-s", str(path), base], text=True)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), int(refused[1]) if refused else 0


def make_keys(service, folder, count):
    """Makes live keys. The service cannot know that their confirm keys come from no secret."""
    keys, creations, confirms = [], [], []
    signer, end = Signer(os.urandom(32)), Signer(os.urandom(32))
    for _ in range(count):
        key = OPRFKey(service.base, session=False)
        key.end = end
        creations.append(("/keyservice/v2/keys", json.dumps(key.create_body(BlankGuess())).encode(), ""))
        body = json.dumps(key.confirm_body(signer, bytes(16), first=True)).encode()
        confirms.append((f"/keyservice/v2/keys/{key.id}/confirm", body, ""))
        keys.append(key)
    send(service.base, script(folder / "create.lua", creations), 8)
    send(service.base, script(folder / "confirm.lua", confirms), 8)
    return keys


def evaluations(keys):
    requests = []
    for _ in range(GUESSES):
        for key in keys:
            body = json.dumps({"blinded": encode(random_element())}).encode()
            requests.append((f"/keyservice/v2/keys/{key.id}/evaluate", body, key.authorization(body)))
    return requests


def measure(program, rounds, folder):
    rate(program, folder)
    service = Service(program, folder / "refusals")
    try:
        refusals(service.base, rounds, "SQLite")
    finally:
        service.stop()


def rate(program, folder, rounds=3):
    bare_rates, bare_costs, done, costs = [], [], [], []
    for number in range(rounds):
        service = Service(program, folder / f"oprf-{number}", "--max-guesses", str(GUESSES + 1))
        try:
            keys = make_keys(service, folder, KEYS)
            bare_rate, bare_cost = bare(2)
            path, begin = script(folder / "evaluate.lua", evaluations(keys)), service.cpu()
            rate, refused = send(service.base, path, 3)
            assert refused == 0 and rate * 3 < GUESSES * KEYS, (rate, refused)
            costs.append((service.cpu() - begin) / (rate * 3))
            bare_rates.append(bare_rate)
            bare_costs.append(bare_cost)
            done.append(rate)
        finally:
            service.stop()
    report("evaluations / bare multiplications on all cores", statistics.median(done) / statistics.median(bare_rates),
           f"{min(done):.0f}–{max(done):.0f}/s", 0.25,
           f"{statistics.median(bare_rates):.0f}/s ({min(bare_rates):.0f}–{max(bare_rates):.0f}/s)", at_least=True)
    report_cpu("CPU of an evaluation / of a bare multiplication", costs, bare_costs, 3.2)


def refusals(base, rounds, store):
    """Nobody may learn from the time of a refusal whether a key exists."""
    unknown, key, unfinished = (OPRFKey(base) for _ in range(3))
    key.make()
    unfinished.create()
    stranger = Signer(os.urandom(32))
    body = json.dumps({"blinded": encode(random_element())}).encode()

    def confirm(of, **options):
        return (of, "confirm", json.dumps(of.confirm_body(stranger, bytes(16), **options)).encode(), "")

    def end(of):
        signature = encode(stranger.sign(message("end", of.bytes)))
        return (of, "end", json.dumps({"signature": signature}).encode(), "")

    wrong = os.urandom(32)
    # The first one of each group is for the unknown key.
    groups = {
        "evaluate": [(of, "evaluate", body, of.authorization(body, key=wrong)) for of in (unknown, key, unfinished)],
        "confirm": [confirm(unknown), confirm(key), confirm(unfinished)],
        "first confirm": [confirm(of, first=True) for of in (unknown, key)],
        "end": [end(unknown), end(key), end(unfinished)],
    }
    connection = http.client.HTTPConnection(base.removeprefix("http://"))

    def send(of, call, body, authorization):
        headers = {"Content-Type": "application/json", "Authorization": authorization}
        connection.request("POST", f"/keyservice/v2/keys/{of.id}/{call}", body, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 401, answer.status

    for name, requests in groups.items():
        times = in_turn(rounds * 100, *(lambda request=request: send(*request) for request in requests))
        medians = [statistics.median(values) for values in times]
        report(f"{store}: slowest / fastest refusal of {name}, by what is wrong", max(medians) / min(medians),
               spread(times[0]), 1.05, ", ".join(f"{median * 1e6:.0f} µs" for median in medians))
        # The reverse is in the figure above.
        report(f"{store}: refusal of {name} for a known key / for an unknown one", medians[1] / medians[0],
               spread(times[1]), 1.05, f"unknown {spread(times[0])}")
