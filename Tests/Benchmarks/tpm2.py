"""Compares the provider with tpm2-tools: both open a secret with the same software TPM."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measuring import in_turn, report, run, spread
from software_tpm import software_tpm

PERSISTENT = "0x81000001"


def measure(rounds, program):
    for kind in (f"at {PERSISTENT}", "derived each time"):
        with tempfile.TemporaryDirectory() as folder, software_tpm(folder) as tcti:
            measure_key(rounds, program, Path(folder), tcti, kind)


def measure_key(rounds, program, folder, tcti, kind):
    environment = dict(os.environ, TPM2TOOLS_TCTI=tcti, TSS2_LOG="all+none")
    primary, public, private, sealed, session, protected, opened = (
        str(folder / name) for name in ("primary", "public", "private", "sealed", "session", "protected", "opened"))
    parent = PERSISTENT if PERSISTENT in kind else primary

    def tool(name, *arguments):
        run([name, *arguments], environment)

    def flush(kind="-t"):
        tool("tpm2_flushcontext", kind)

    def create_primary():
        tool("tpm2_createprimary", "-C", "o", "-g", "sha256", "-G", "ecc256:aes128cfb", "-c", primary)

    def load():
        tool("tpm2_load", "-C", parent, "-u", public, "-r", private, "-c", sealed)

    def unseal(authorization="1234"):
        tool("tpm2_unseal", "-c", sealed, "-p", authorization, "-o", opened)

    def start_session():
        tool("tpm2_startauthsession", "--hmac-session", "-c", parent, "-S", session)

    def encrypt_session():
        tool("tpm2_sessionconfig", "--enable-encrypt", "--enable-decrypt", session)

    create_primary()
    flush()
    subprocess.run(
        ["tpm2_create", "-C", primary, "-u", public, "-r", private, "-i", "-", "-p", "1234", "-a",
         "fixedtpm|fixedparent|userwithauth"], input=os.urandom(32), check=True, env=environment, stdout=subprocess.DEVNULL)
    flush()
    if parent == PERSISTENT:
        tool("tpm2_evictcontrol", "-C", "o", "-c", primary, PERSISTENT)
        flush()
    load()
    flush()
    run([program, "seal", tcti, protected], environment)
    server = subprocess.Popen([program, "serve", tcti, protected], env=environment, text=True, bufsize=1,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    inside = [float(server.stdout.readline())]

    def provider():
        server.stdin.write("\n")
        server.stdin.flush()
        inside.append(float(server.stdout.readline()))

    def measured(times, *steps):
        """Measures the steps without removing the objects that the tools leave. The tools rely on a resource manager,
        and this TPM has none."""
        def all_steps():
            total = 0
            for step in steps:
                begin = time.perf_counter()
                step()
                total += time.perf_counter() - begin
                flush()
            times.append(total)
        return all_steps

    # A secret has to be loaded, under a key, before it can be unsealed.
    before = [load] if parent == PERSISTENT else [create_primary, load]
    unseal_times, nothing_times, tools_times, encrypted_times = ([], [], [], [])
    # The tools encrypt the PIN and the secret on the bus, as the provider does.
    encrypted = [*before, start_session, encrypt_session, lambda: unseal(f"session:{session}+1234")]
    program_times, *_ = in_turn(
        rounds, lambda: run([program, "open", tcti, protected], environment), provider,
        measured(tools_times, *before, unseal), measured(unseal_times, unseal),
        measured(nothing_times, lambda: tool("tpm2_getcap", "-l")), measured(encrypted_times, *encrypted),
        lambda: flush(session))
    server.stdin.close()
    server.wait()
    # The first call of each is not counted.
    inside, *tool_times = (times[-rounds:] for times in (
        inside, unseal_times, nothing_times, tools_times, encrypted_times))
    unseal_times, nothing_times, tools_times, encrypted_times = tool_times
    median = statistics.median

    def compare(name, times, others, note=""):
        report(f"{name}, key {kind}", median(times) / median(others), spread(times), 1.3,
               f"{median(times) * 1000:.2f} ms against {median(others) * 1000:.2f} ms ({spread(others)}){note}")

    compare("TPM unprotect / tpm2_unseal of what is loaded already", inside, unseal_times)
    compare("program that starts and unprotects / tpm2_unseal of what is loaded already", program_times, unseal_times,
            f"; a tool that does nothing takes {median(nothing_times) * 1000:.2f} ms")
    what = "tpm2_load and tpm2_unseal" if parent == PERSISTENT else "tpm2_createprimary, tpm2_load and tpm2_unseal"
    compare(f"the same program / {what}", program_times, tools_times)
    compare("the same program / these in an encrypted session", program_times, encrypted_times)
