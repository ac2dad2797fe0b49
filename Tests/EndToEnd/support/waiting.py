"""Waiting for a condition, with an end. Nothing in these tests sleeps for a fixed time to let something happen."""

import time

PATIENCE = 30  # seconds; only ever used up by a failing test


def wait_until(condition, what, patience=PATIENCE):
    """Returns the first true value of `condition()`, asked again and again."""
    deadline = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience} s in vain for: {what}")
        time.sleep(0.01)


def after_the_pause(attempt):
    """The first result of `attempt()` that does not say to wait: there is a second between two passwords."""
    return wait_until(lambda: result if (result := attempt()).status != 75 else None, "the pause between two attempts")
