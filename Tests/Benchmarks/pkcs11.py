"""Compares the provider with PKCS#11 calls by hand: both open a secret with a token. One token is SoftHSM's, the other
is tpm2-pkcs11's on a software TPM."""

import contextlib
import glob
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from measuring import report, spread
from software_tpm import software_tpm

PIN = "123456"


def measure(rounds, program):
    for name, token in (("SoftHSM", soft_token), ("TPM", tpm_token)):
        with tempfile.TemporaryDirectory() as folder, token(Path(folder)) as (module, environment):
            measure_token(rounds, program, name, module, environment)


def measure_token(rounds, program, token, module, environment):
    server = subprocess.Popen([program, module, PIN], env=environment, text=True, bufsize=1, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    times = {"provider": [], "raw": [], "thread": [], "decrypt": []}
    for _ in range(rounds + 1):  # in turn, so that each disturbance of the machine affects them all
        for kind, results in times.items():
            server.stdin.write(kind + "\n")
            results.append(float(server.stdout.readline()))
    server.stdin.close()
    if server.wait() != 0:
        raise SystemExit("the program failed")
    provider = times["provider"][1:]
    for kind, name in (
            ("raw", f"unprotect / C_Decrypt by hand with all it needs (start, log in, find the key), {token}"),
            ("thread", f"unprotect / the same by hand on a thread of its own, {token}"),
            ("decrypt", f"unprotect / C_DecryptInit and C_Decrypt alone, where somebody is logged in already, {token}")):
        other = times[kind][1:]
        report(name, statistics.median(provider) / statistics.median(other), spread(provider), 1.2,
               f"{statistics.median(provider) * 1000:.2f} ms against {statistics.median(other) * 1000:.2f} ms"
               f" ({spread(other)})")


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
    with software_tpm(folder / "state") as tcti:
        environment = dict(os.environ, TPM2_PKCS11_TCTI=tcti, TPM2_PKCS11_STORE=str(folder / "store"),
                           TPM2_PKCS11_LOG_LEVEL="0", TSS2_LOG="all+none")
        tool(module, environment, "--slot-index", "0", "--init-token", "--label", "tpm", "--so-pin", "owner")
        tool(module, environment, "--token-label", "tpm", "--login", "--login-type", "so", "--so-pin", "owner",
             "--init-pin", "--new-pin", PIN)
        make_key(module, environment, "tpm")
        yield module, environment


def make_key(module, environment, label):
    tool(module, environment, "--token-label", label, "--login", "--pin", PIN, "--keypairgen", "--key-type", "rsa:2048",
         "--id", "01", "--usage-decrypt")
