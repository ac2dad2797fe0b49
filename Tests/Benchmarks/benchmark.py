#!/usr/bin/env python3
"""Measures the release programs. Every figure is a ratio of two things, measured in turn in the same run. The spread of
the repetitions is shown beside it, because a shared machine is noisy."""

import argparse
import contextlib
import ctypes
import json
import os
import re
import secrets
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import key_service_load
import oprf
import oprf_login
import pkcs11
import postgresql
import tpm2
from measuring import cpu, in_turn, report, report_cpu, run, spread
from oidc_agent import OIDCAgent

PASSWORD = "seven otters juggle"
PARTS = [
    "start", "login", "oprf-login", "tokens", "agent", "service", "load", "oprf", "postgresql", "tpm2",
    "pkcs11"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, type=Path, help="folder of the release build")
    parser.add_argument("--rounds", type=int, default=30, help="repetitions of each measurement")
    parser.add_argument("--seconds", type=int, default=5, help="length of one load on the key service")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument(
        "--real-time", action="store_true", help="put off what others run on this machine (needs root); for a busy one")
    options = parser.parse_args()
    if options.real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))  # the processes started from here inherit it
    parts = [options.only] if options.only else PARTS
    print(f"{os.cpu_count()} cores; load before: {os.getloadavg()[0]:.2f}; rounds: {options.rounds}")
    with tempfile.TemporaryDirectory() as folder:
        base = {"start", "login", "oprf-login", "tokens", "agent", "service", "load", "oprf"} & set(parts)
        names = {"tpm2": "vault-tpm2-benchmark", "pkcs11": "vault-pkcs11-benchmark", "postgresql": "vault-key-service"}
        programs = {names[part] for part in parts if part in names}
        if base:
            programs |= {"vault", "vault-command", "vault-key-service", "vault-dev", "vault-benchmarks"}
        options.programs = installed(options.programs, Path(folder, "programs"), *sorted(programs))
        if {"start", "login", "oprf-login", "tokens", "agent"} & set(parts):
            with development_servers(options.programs, Path(folder)) as environment:
                if "start" in parts:
                    start_up(options, Path(folder), environment)
                if "login" in parts:
                    login(options, Path(folder), environment)
                if "oprf-login" in parts:
                    oprf_login.measure(options, Path(folder), environment, register)
                if "tokens" in parts:
                    access_tokens(options, Path(folder), environment)
                if "agent" in parts:
                    agent(options, Path(folder), environment)
        if "service" in parts:
            key_service(options, Path(folder))
        if "load" in parts:
            key_service_load.measure(
                options.programs / "vault-key-service", options.seconds, Path(folder),
                lambda base, count: strong_keys(base, count, Path(folder)), load)
        if "oprf" in parts:
            oprf.measure(options.programs / "vault-key-service", options.rounds, Path(folder))
        if "postgresql" in parts:
            postgresql.measure(
                options.programs / "vault-key-service", options.rounds, options.seconds, Path(folder),
                lambda base, count: strong_keys(base, count, Path(folder)), load)
        if "tpm2" in parts:
            tpm2.measure(options.rounds, options.programs / "vault-tpm2-benchmark")
        if "pkcs11" in parts:
            pkcs11.measure(options.rounds, options.programs / "vault-pkcs11-benchmark")


def installed(programs, folder, *names):
    """Copies the programs, as an installation does. The page cache holds the linker's own output in smaller pieces, so
    a program starts more slowly from these."""
    folder.mkdir()
    for name in names:
        subprocess.run(["cp", programs / name, folder], check=True)
    return folder


class Argon2:
    """libargon2 itself, with the memory that malloc gives it."""

    def __init__(self):
        self.library = ctypes.CDLL("libargon2.so.1")

    def hash(self, lanes):
        output = ctypes.create_string_buffer(32)
        status = self.library.argon2id_hash_raw(
            ctypes.c_uint32(3), ctypes.c_uint32(64 * 1024), ctypes.c_uint32(lanes), PASSWORD.encode(),
            ctypes.c_size_t(len(PASSWORD)), b"0123456789abcdef", ctypes.c_size_t(16), output, ctypes.c_size_t(32))
        assert status == 0


# Servers


@contextlib.contextmanager
def development_servers(programs, folder):
    env_file = folder / "env"
    process = subprocess.Popen(
        [programs / "vault-dev", "--env-file", env_file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: env_file.exists(), process)
        environment = dict(os.environ, XDG_CONFIG_HOME=str(folder / "config"))
        environment.pop("XDG_RUNTIME_DIR", None)  # no agent, except in the part that measures it
        for name, value in re.findall(r"export (\w+)='([^']*)'", env_file.read_text()):
            environment[name] = value
        yield environment
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def wait_for(condition, process, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("a server did not start")
        time.sleep(0.02)


def register(programs, environment, user, password_file):
    process = subprocess.Popen(
        [programs / "vault", "register", "--no-browser", "--password-file", password_file], env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    url = next(line.strip() for line in process.stderr if line.startswith("http"))
    subprocess.run([programs / "vault-dev", "browse", url, "--user", user], check=True, stdout=subprocess.DEVNULL)
    process.stderr.read()
    if process.wait(60) != 0:
        raise SystemExit("registering failed")


def fill(store, count):
    """Adds accounts that nobody opens."""
    database = sqlite3.connect(store / "vault.sqlite")
    with database:
        for number in range(count):
            row = database.execute(
                "INSERT INTO account (issuer, subject, email, method, client_id, key_service_url, device_secret,"
                " created_at, checksum) VALUES (?, ?, ?, 'openid-connect', 'c', 'http://127.0.0.1:9', ?, 0, ?)",
                ("https://filled.example", f"subject-{number}", f"person{number}@filled.example", secrets.token_bytes(32),
                 bytes(32))).lastrowid
            database.execute(
                "INSERT INTO keyslot (id, account_id, kind, salt, argon2_passes, argon2_memory_kib, argon2_lanes, key_id,"
                " wrapped, created_at, staged, checksum) VALUES (?, ?, 'password', ?, 3, 65536, 4, 'k', ?, 0, 0, ?)",
                (f"slot-{number}", row, secrets.token_bytes(16), secrets.token_bytes(64), bytes(32)))
            for name in ("vault/refresh-token", "vault/access-token", "vault/id-token-claims"):
                database.execute("INSERT INTO item VALUES (?, ?, ?)", (row, name, secrets.token_bytes(300)))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


# The parts


def start_up(options, folder, environment):
    password = folder / "password"
    password.write_text(PASSWORD)
    environment = dict(environment, CREDENTIAL_VAULT_HOME=str(folder / "three"))
    register(options.programs, environment, "alice", password)
    register(options.programs, environment, "bob", password)
    # The third account has a separate provider.
    with tempfile.TemporaryDirectory() as other:
        with development_servers(options.programs, Path(other)) as second:
            second["CREDENTIAL_VAULT_HOME"] = environment["CREDENTIAL_VAULT_HOME"]
            register(options.programs, second, "alice", password)
    environment.pop("CREDENTIAL_VAULT_ISSUER")
    count = len(json.loads(subprocess.check_output([options.programs / "vault", "users", "--json"], env=environment)))
    assert count == 3, count
    vault = options.programs / "vault"
    results = folder / "hyperfine.json"
    rounds = {"/bin/true": [], f"{vault} --help": [], f"{vault} users": []}
    for _ in range(5):  # in turn, with hyperfine's own repetitions inside each turn
        subprocess.run(
            ["hyperfine", "-N", "--warmup", "5", "--runs", str(options.rounds * 2), "--style", "none", "--export-json",
             results, *rounds], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for result in json.loads(results.read_text())["results"]:
            rounds[result["command"]] += result["times"]
    (_, nothing), (_, help_times), (_, user_times) = rounds.items()
    for name, times in (("vault --help / true", help_times), ("vault users (3 accounts) / true", user_times)):
        ratio = statistics.median(times) / statistics.median(nothing)
        report(name, ratio, spread(times), 10,
               f"{statistics.median(times) * 1000:.2f} ms against {statistics.median(nothing) * 1000:.2f} ms")


def login(options, folder, environment):
    password = folder / "login-password"
    password.write_text(PASSWORD)
    argon2 = Argon2()
    stores = []
    for count in (10, 10_000):
        home = folder / f"store-{count}"
        stores.append(dict(environment, CREDENTIAL_VAULT_HOME=str(home)))
        register(options.programs, stores[-1], "alice", password)
        fill(home, count - 1)
    command = [options.programs / "vault", "login", "--user", "alice@example.com", "--password-file", password]
    pin = folder / "pin"
    pin.write_text("2846")
    run([options.programs / "vault", "unlock", "add", "pin", "--user", "alice@example.com", "--password-file", password,
         "--new-pin-file", pin], stores[0])
    with_pin = [*command[:-1], pin, "--pin"]
    peaks = []
    few, many, pins, hashes = in_turn(
        options.rounds, lambda: peaks.append(run(command, stores[0])), lambda: run(command, stores[1]),
        lambda: run(with_pin, stores[0]), lambda: argon2.hash(4))
    ratio = statistics.median(few) / statistics.median(hashes)
    report("vault login / one Argon2id (t=3, 64 MiB, p=4)", ratio, spread(few), 1.25,
           f"{statistics.median(few) * 1000:.1f} ms against {statistics.median(hashes) * 1000:.1f} ms ({spread(hashes)})")
    ratio = statistics.median(many) / statistics.median(few)
    report("vault login with 10,000 accounts / with 10", ratio, spread(many), 1.05,
           f"{statistics.median(many) * 1000:.1f} ms against {statistics.median(few) * 1000:.1f} ms")
    ratio = statistics.median(pins) / statistics.median(few)
    report("vault login --pin / vault login with the password", ratio, spread(pins), 1.05,
           f"{statistics.median(pins) * 1000:.1f} ms against {statistics.median(few) * 1000:.1f} ms ({spread(few)})")
    report("peak memory of vault login, MiB", max(peaks), f"{min(peaks):.1f}–{max(peaks):.1f} MiB", 104, "64 MiB of them Argon2's")


def access_tokens(options, folder, environment):
    """Runs vault-benchmarks for times that only a Swift program can measure. It measures them in turn, too."""
    environment = dict(environment, TMPDIR=str(folder))
    output = subprocess.check_output([options.programs / "vault-benchmarks", str(options.rounds)], env=environment)
    times = json.loads(output)
    median = {name: statistics.median(values) for name, values in times.items()}

    def nanoseconds(name):
        ordered = sorted(times[name])
        low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
        return f"{low * 1e9:.0f}–{high * 1e9:.0f} ns"

    login, hash_ = median["login with a PIN"], median["Argon2id"]
    report("processor time of a PIN login in an app / of one Argon2id", login / hash_, spread(times["login with a PIN"]), 1.2,
           f"{login * 1000:.1f} ms against {hash_ * 1000:.1f} ms ({spread(times['Argon2id'])})")
    empty = "empty actor call"
    for name in ("session.accessToken()", "auth.accessToken()"):
        report(f"{name} with a valid token / an empty actor call", median[name] / median[empty], nanoseconds(name), 3,
               f"{median[name] * 1e9:.0f} ns against {median[empty] * 1e9:.0f} ns ({nanoseconds(empty)})")
    one, many, last = "refresh for 1 caller", "refresh for 1000 callers", "refresh until 1000 callers have it"
    report("a refresh that 1,000 callers wait for / that one waits for", median[many] / median[one], spread(times[many]),
           1.1, f"{median[many] * 1000:.2f} ms against {median[one] * 1000:.2f} ms ({spread(times[one])});"
           f" the last of them has it after {median[last] * 1000:.2f} ms")


def agent(options, folder, environment):
    """Compares the agent with oidc-agent, each with an open session."""
    password = folder / "agent-password"
    password.write_text(PASSWORD)
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    environment = dict(environment, CREDENTIAL_VAULT_HOME=str(folder / "agent-store"), XDG_RUNTIME_DIR=str(runtime))
    vault = options.programs / "vault"
    register(options.programs, environment, "alice", password)
    status = json.loads(subprocess.check_output([vault, "agent", "status", "--json"], env=environment))
    with OIDCAgent(folder / "oidc-agent") as other:
        try:
            login = [vault, "login", "--password-file", password]
            tokens, others, lists, nothing = in_turn(
                options.rounds * 20, lambda: run([vault, "token"], environment), other.token,
                lambda: run([vault, "users"], environment), lambda: run(["/bin/true"], environment))
            compare("vault token / oidc-token", tokens, others, 1.0)
            compare("vault users, with the agent / true", lists, nothing, 8)
            # Measures how a closed account is opened. The time for closing it is not counted.
            logins, _, additions = in_turn(options.rounds, lambda: run(login, environment), other.remove, other.add)
            compare("vault login / oidc-add", logins, additions, 0.5)
            (socket,) = (runtime / "credential-vault").glob("*.sock")
            rates = json.loads(subprocess.check_output(
                [options.programs / "vault-benchmarks", "agent", socket, str(options.rounds)],
                env=dict(environment, TMPDIR=str(folder))))
            ratio = statistics.median(rates["echo"]) / statistics.median(rates["token"])
            report("rate of tokens over one socket of the agent / a bare echo", ratio, spread(rates["token"]), 0.5,
                   f"2,000 in {statistics.median(rates['token']) * 1000:.1f} ms against"
                   f" {statistics.median(rates['echo']) * 1000:.1f} ms", at_least=True)
            before = memory(status["process"], "VmRSS")
            for _ in range(5):
                subprocess.run(
                    [options.programs / "vault-benchmarks", "agent", socket, "1"], check=True, stdout=subprocess.DEVNULL,
                    env=dict(environment, TMPDIR=str(folder)))
            after = memory(status["process"], "VmRSS")
            report("memory of the agent after 10,000 tokens more / before", after / before, "-", 1.02,
                   f"{after:.1f} MB against {before:.1f} MB")
            theirs = sum(memory(process, "VmRSS") for process in other.processes())
            own = memory(status["process"], "RssAnon")
            report("memory of the agent / of oidc-agent's two processes", after / theirs, "-", 2,
                   f"{after:.1f} MB, of which {own:.1f} MB are its own and not pages of files, against {theirs:.1f} MB")
        finally:
            subprocess.run([vault, "agent", "stop"], env=environment, stdout=subprocess.DEVNULL)


def compare(name, times, others, bound):
    report(name, statistics.median(times) / statistics.median(others), spread(times), bound,
           f"{statistics.median(times) * 1000:.2f} ms against {statistics.median(others) * 1000:.2f} ms ({spread(others)})")


def memory(process, field):
    """A field of /proc/PID/status, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1000
    raise SystemExit(f"{field} is not told of process {process}")


def key_service(options, folder):
    data = folder / "service"
    service = options.programs / "vault-key-service"
    subprocess.run([service, "init", "--data", data], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = open(folder / "service.log", "w+")
    process = subprocess.Popen(
        [service, "serve", "--data", data, "--listen", "127.0.0.1:0", "--creates-per-hour", "0"], stdout=log, stderr=log)
    try:
        found = []
        wait_for(lambda: found.extend(re.findall(r"127\.0\.0\.1:(\d+)", (folder / "service.log").read_text())) or found, process)
        base = f"http://127.0.0.1:{found[0]}"
        urllib.request.urlopen(base + "/healthz").read()
        resident = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024
        report("resident memory of the idle key service, MiB", resident, "one value", 40, "after one request")

        strong = [make_key(base, "cv1." + secrets.token_urlsafe(32)) for _ in range(256)]
        plain = [make_key(base, secrets.token_hex(6)) for _ in range(16)]
        scripts = {}
        for name, method, bodies in (("strong", "POST", strong), ("plain", "POST", plain), ("health", "GET", [""])):
            scripts[name] = folder / f"{name}.lua"
            scripts[name].write_text(lua(method, bodies))
        health, keys = [], []
        costs = {"health": [], "strong": []}

        def measured(name, path):
            begin = cpu(process.pid)
            rate = load(base + path, options.seconds, 32, scripts[name])
            costs[name].append((cpu(process.pid) - begin) / (rate * options.seconds))
            return rate

        for _ in range(3):
            health.append(measured("health", "/healthz"))
            keys.append(measured("strong", "/keyservice/v1/key"))
        report_cpu("CPU of a release, cv1 secret / of healthz", costs["strong"], costs["health"], 2.5)
        report("key service, cv1 secrets / its own healthz, 32 connections", statistics.median(keys) / statistics.median(health),
               f"{min(keys):.0f}–{max(keys):.0f}/s", 0.5,
               f"{statistics.median(keys):.0f}/s against {statistics.median(health):.0f}/s ({min(health):.0f}–{max(health):.0f}/s)",
               at_least=True)
        raw, served = [], []
        for _ in range(3):
            raw.append(raw_argon2(options.seconds))
            served.append(load(base + "/keyservice/v1/key", options.seconds, 4, scripts["plain"]))
        report("key service, plain secrets / raw libargon2 on all cores", statistics.median(served) / statistics.median(raw),
               f"{min(served):.1f}–{max(served):.1f}/s", 0.95,
               f"{statistics.median(served):.1f}/s against {statistics.median(raw):.1f}/s ({min(raw):.1f}–{max(raw):.1f}/s)",
               at_least=True)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def strong_keys(base, count, folder):
    """Makes keys, and a script for wrk that asks for them in turn."""
    script = folder / "shared.lua"
    script.write_text(lua("POST", [make_key(base, "cv1." + secrets.token_urlsafe(32)) for _ in range(count)]))
    return script


def make_key(base, secret):
    request = urllib.request.Request(
        base + "/keyservice/v1/createkey", json.dumps({"secret": secret}).encode(), {"Content-Type": "application/json"})
    return json.dumps({"keyid": json.load(urllib.request.urlopen(request))["keyid"], "secret": secret})


def lua(method, bodies):
    """Writes a script for wrk that sends the bodies in turn. The requests are made beforehand, so each body costs wrk
    the same."""
    quoted = ",\n".join(f"[=[{body}]=]" for body in bodies)
    return f"""
local bodies = {{ {quoted} }}
local requests = {{}}
local number = 0
init = function()
  local headers = {{ ["Content-Type"] = "application/json" }}
  for index, body in ipairs(bodies) do
    requests[index] = wrk.format("{method}", nil, headers, body ~= "" and body or nil)
  end
end
request = function()
  number = number % #requests + 1
  return requests[number]
end
"""


def load(url, seconds, connections, script=None):
    """Measures answers per second with wrk. An answer other than 2xx is an error."""
    arguments = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s"]
    text = subprocess.check_output([*arguments, *(["-s", str(script)] if script else []), url], text=True)
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(text)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])


def raw_argon2(seconds):
    argon2 = Argon2()
    counts = [0] * os.cpu_count()
    end = time.monotonic() + seconds

    def work(index):
        while time.monotonic() < end:
            argon2.hash(1)
            counts[index] += 1

    begin = time.monotonic()
    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - begin)


if __name__ == "__main__":
    main()
