"""Functions that wait for a condition, with a time limit. No test sleeps for a fixed time instead."""

import time

TIMEOUT = 30  # seconds; only a failing test waits so long


def wait_until(condition, what, timeout=TIMEOUT):
    """Calls `condition()` repeatedly until it returns a true value, and returns this value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s in vain for: {what}")
        time.sleep(0.01)


def after_the_pause(attempt):
    """Repeats `attempt()` until its result no longer says to wait. The program demands a second between two
    passwords."""
    return wait_until(lambda: result if (result := attempt()).status != 75 else None, "the pause between two attempts")
