"""Measurements and their report."""

import os
import statistics
import time
from pathlib import Path


def report(name, ratio, spread, bound, detail, at_least=False):
    good = ratio >= bound if at_least else ratio <= bound
    sign = "≥" if at_least else "≤"
    print(f"{'ok  ' if good else 'MISS'} {name}: {ratio:.2f} (wanted {sign} {bound:g}; spread {spread}) — {detail}", flush=True)


def report_cpu(name, costs, bare, bound):
    """Compares the CPU seconds of two things. A busy machine hardly changes them."""
    report(name, statistics.median(costs) / statistics.median(bare), f"{min(costs) * 1e6:.0f}–{max(costs) * 1e6:.0f} µs", bound,
           f"{statistics.median(costs) * 1e6:.0f} µs against {statistics.median(bare) * 1e6:.0f} µs"
           f" ({min(bare) * 1e6:.0f}–{max(bare) * 1e6:.0f} µs)")


def cpu(process):
    """The CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_turn(rounds, *actions):
    """Runs the actions in turn, so that each disturbance of the machine affects them all. Returns the times of each
    action."""
    times = [[] for _ in actions]
    for action in actions:
        action()  # once unmeasured
    for _ in range(rounds):
        for index, action in enumerate(actions):
            begin = time.perf_counter()
            action()
            times[index].append(time.perf_counter() - begin)
    return times


def spread(times):
    ordered = sorted(times)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    return f"{low * 1000:.2f}–{high * 1000:.2f} ms"


def run(arguments, environment, expected=0):
    """Runs a program without a shell and returns its peak memory in MiB."""
    with open(os.devnull, "r+") as null:
        pid = os.posix_spawnp(
            str(arguments[0]), [str(a) for a in arguments], environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 0), (os.POSIX_SPAWN_DUP2, null.fileno(), 1),
                          (os.POSIX_SPAWN_DUP2, null.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != expected:
        raise SystemExit(f"{arguments} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss / 1024
