"""A software TPM that runs during a measurement."""

import contextlib
import os
import random
import subprocess
from pathlib import Path


@contextlib.contextmanager
def software_tpm(folder):
    """Starts a TPM that keeps its state in the folder. Gives the name of its transmission interface."""
    # The ports are below those of outgoing connections. swtpm also takes the next port. If one of them is taken, swtpm
    # ends with an error.
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

