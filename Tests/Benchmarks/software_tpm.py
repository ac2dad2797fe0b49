"""A TPM in software, for as long as it is measured."""

import contextlib
import os
import random
import subprocess
from pathlib import Path


@contextlib.contextmanager
def software_tpm(folder):
    """Gives the transmission interface's name of one that keeps its state in the folder."""
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

