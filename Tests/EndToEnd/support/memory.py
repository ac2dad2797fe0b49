"""The memory that is free on this machine."""

import re
from pathlib import Path


def available_mebibytes():
    """Returns the memory that is available without swapping. A control group can allow less than the machine has."""
    left = int(re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())[1]) // 1024
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and limit.read_text().strip() != "max":
        left = min(left, (int(limit.read_text()) - int(used.read_text())) // 2**20)
    return left
