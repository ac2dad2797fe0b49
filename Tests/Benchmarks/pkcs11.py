#!/usr/bin/env python3
"""Measures opening a secret with a PKCS#11 token through the provider against C_Decrypt, on a token that SoftHSM plays and
on one that tpm2-pkcs11 makes of a software TPM. Needs softhsm2, opensc, swtpm, libtss2-tcti-swtpm0 and libtpm2-pkcs11-1,
and the program vault-pkcs11-benchmark (swift build --traits PKCS11)."""

import argparse
import contextlib
import glob
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmark import report, spread

PIN = "123456"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, type=Path, help="folder of the build")
    parser.add_argument("--rounds", type=int, default=50, help="repetitions of each measurement")
    options = parser.parse_args()
    program = options.programs.resolve() / "vault-pkcs11-benchmark"
    print(f"{os.cpu_count()} cores; load before: {os.getloadavg()[0]:.2f}; rounds: {options.rounds}")
    for name, token in (("SoftHSM", soft_token), ("TPM", tpm_token)):
        with tempfile.TemporaryDirectory() as folder, token(Path(folder)) as (module, environment):
            measure(options.rounds, program, name, module, environment)


def measure(rounds, program, name, module, environment):
    server = subprocess.Popen([program, module, PIN], env=environment, text=True, bufsize=1, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    times = {"provider": [], "raw": [], "decrypt": []}
    for _ in range(rounds + 1):  # in turn, so that what disturbs the machine disturbs them all
        for kind, results in times.items():
            server.stdin.write(kind + "\n")
            results.append(float(server.stdout.readline()))
    server.stdin.close()
    if server.wait() != 0:
        raise SystemExit("the program failed")
    provider, raw, decrypt = (results[1:] for results in times.values())
    median = statistics.median
    report(f"unprotect / C_Decrypt by hand with all it needs (load, log in, find the key), {name}",
           median(provider) / median(raw), spread(provider), 1.2,
           f"{median(provider) * 1000:.2f} ms against {median(raw) * 1000:.2f} ms ({spread(raw)})")
    report(f"unprotect / C_DecryptInit and C_Decrypt alone, logged in already, {name}",
           median(provider) / median(decrypt), spread(provider), 1.2,
           f"{median(provider) * 1000:.2f} ms against {median(decrypt) * 1000:.2f} ms ({spread(decrypt)})")


def tool(module, environment, *arguments):
    subprocess.run(["pkcs11-tool", "--module", module, *arguments], check=True, env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def soft_token(folder):
    module = "/usr/lib/softhsm/libsofthsm2.so"
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\n")
    environment = dict(os.environ, SOFTHSM2_CONF=str(configuration))
    subprocess.run(["softhsm2-util", "--init-token", "--free", "--label", "soft", "--so-pin", "12345678", "--pin", PIN],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    make_key(module, environment, "soft")
    yield module, environment


@contextlib.contextmanager
def tpm_token(folder):
    (module,) = glob.glob("/usr/lib/*/pkcs11/libtpm2_pkcs11.so")
    for name in ("state", "store"):
        (folder / name).mkdir()
    process = folder / "pid"
    # Below the ports of outgoing connections; a taken one is an error, and swtpm takes the next one, too.
    for _ in range(20):
        port = random.randrange(10000, 32000)
        started = subprocess.run(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}/state",
             "--server", f"type=tcp,bindaddr=127.0.0.1,port={port}",
             "--ctrl", f"type=tcp,bindaddr=127.0.0.1,port={port + 1}",
             "--flags", "not-need-init,startup-clear", "--daemon", "--pid", f"file={process}"], stderr=subprocess.DEVNULL)
        if started.returncode == 0:
            break
    else:
        raise SystemExit("swtpm does not start.")
    try:
        environment = dict(os.environ, TPM2_PKCS11_TCTI=f"swtpm:host=127.0.0.1,port={port}",
                           TPM2_PKCS11_STORE=str(folder / "store"), TPM2_PKCS11_LOG_LEVEL="0", TSS2_LOG="all+none")
        tool(module, environment, "--slot-index", "0", "--init-token", "--label", "tpm", "--so-pin", "owner")
        tool(module, environment, "--token-label", "tpm", "--login", "--login-type", "so", "--so-pin", "owner",
             "--init-pin", "--new-pin", PIN)
        make_key(module, environment, "tpm")
        yield module, environment
    finally:
        os.kill(int(process.read_text()), 9)


def make_key(module, environment, label):
    tool(module, environment, "--token-label", label, "--login", "--pin", PIN, "--keypairgen", "--key-type", "rsa:2048",
         "--id", "01", "--usage-decrypt")


main()
