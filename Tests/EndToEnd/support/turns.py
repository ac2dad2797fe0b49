"""What the processes that run the tests use in turn, or make once for all of them."""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

# The same in all processes of one run of the tests.
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))


@contextlib.contextmanager
def turn(name):
    """Lets one process of this user's tests go on at a time."""
    with open(Path(tempfile.gettempdir()) / f"vault-{name}-{os.geteuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def folder_of_run(tmp_path_factory):
    """A folder that all processes of this run share. pytest removes it in a later run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
