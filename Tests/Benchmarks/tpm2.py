#!/usr/bin/env python3
"""Measures opening a secret with a TPM through the provider against tpm2_unseal, both on one software TPM. Needs swtpm,
tpm2-tools and libtss2-tcti-swtpm0, and the program vault-tpm2-benchmark (swift build --traits TPM2)."""

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmark import in_turn, report, run, spread


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, type=Path, help="folder of the build")
    parser.add_argument("--rounds", type=int, default=50, help="repetitions of each measurement")
    options = parser.parse_args()
    program = options.programs.resolve() / "vault-tpm2-benchmark"
    print(f"{os.cpu_count()} cores; load before: {os.getloadavg()[0]:.2f}; rounds: {options.rounds}")
    for kind in ("at 0x81000001", "derived each time"):
        with tempfile.TemporaryDirectory() as folder, software_tpm(folder) as tcti:
            measure(options.rounds, program, folder, tcti, kind)


def measure(rounds, program, folder, tcti, kind):
    environment = dict(os.environ, TPM2TOOLS_TCTI=tcti, TSS2_LOG="all+none")

    def tool(*arguments, **more):
        subprocess.run(arguments, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL, **more)

    def flush():
        tool("tpm2_flushcontext", "-t")

    # What tpm2_unseal opens is under the same kind of key, and loaded already.
    tool("tpm2_createprimary", "-C", "o", "-g", "sha256", "-G", "ecc256:aes128cfb", "-c", "primary")
    flush()
    tool("tpm2_create", "-C", "primary", "-u", "public", "-r", "private", "-i", "-", "-p", "1234",
         "-a", "fixedtpm|fixedparent|userwithauth", input=os.urandom(32))
    flush()
    tool("tpm2_load", "-C", "primary", "-u", "public", "-r", "private", "-c", "sealed")
    flush()
    if kind == "at 0x81000001":
        tool("tpm2_evictcontrol", "-C", "o", "-c", "primary", "0x81000001")
        flush()
    protected, sealed, opened = (str(Path(folder, name)) for name in ("protected", "sealed", "opened"))
    run([program, "seal", tcti, protected], environment)
    server = subprocess.Popen([program, "serve", tcti, protected], env=environment, text=True, bufsize=1,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    inside = [float(server.stdout.readline())]

    def provider():
        server.stdin.write("\n")
        server.stdin.flush()
        inside.append(float(server.stdout.readline()))

    program_times, _, tool_times, _, nothing_times = in_turn(
        rounds,
        lambda: run([program, "open", tcti, protected], environment),
        provider,
        lambda: run(["tpm2_unseal", "-c", sealed, "-p", "1234", "-o", opened], environment),
        flush,  # the tool leaves what it loaded in the TPM
        lambda: run(["tpm2_getcap", "-l"], environment))
    server.stdin.close()
    server.wait()
    inside = inside[-rounds:]
    median = statistics.median
    unseal = f"{median(tool_times) * 1000:.2f} ms ({spread(tool_times)})"
    report(f"provider / tpm2_unseal, key {kind}", median(inside) / median(tool_times), spread(inside), 1.3,
           f"{median(inside) * 1000:.2f} ms against {unseal}")
    report(f"program with the provider / tpm2_unseal, key {kind}", median(program_times) / median(tool_times),
           spread(program_times), 1.3, f"{median(program_times) * 1000:.2f} ms against {unseal};"
           f" a tool that does nothing takes {median(nothing_times) * 1000:.2f} ms")


@contextlib.contextmanager
def software_tpm(folder):
    # Below the ports of outgoing connections; a taken one is an error, and swtpm takes the next one, too.
    for _ in range(20):
        port = random.randrange(10000, 32000)
        process = Path(folder, "pid")
        started = subprocess.run(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}",
             "--server", f"type=tcp,bindaddr=127.0.0.1,port={port}",
             "--ctrl", f"type=tcp,bindaddr=127.0.0.1,port={port + 1}",
             "--flags", "not-need-init,startup-clear", "--daemon", "--pid", f"file={process}"], stderr=subprocess.DEVNULL)
        if started.returncode == 0:
            break
    else:
        raise SystemExit("swtpm does not start.")
    try:
        yield f"swtpm:host=127.0.0.1,port={port}"
    finally:
        os.kill(int(process.read_text()), 9)


main()
