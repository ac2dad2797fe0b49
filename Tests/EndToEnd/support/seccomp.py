"""Runs a program with the system calls that a systemd unit allows: seccomp.py FILTER PROGRAM ARGUMENT...

It does what systemd does for SystemCallFilter=, RestrictAddressFamilies= and MemoryDenyWriteExecute=. The caller has
to give up new privileges first (`setpriv --no-new-privs`).
"""

import ctypes
import errno
import functools
import os
import re
import shlex
import socket
import struct
import subprocess
import sys
from pathlib import Path

ALLOW, ERROR = 0x7FFF0000, 0x00050000
LOAD, JUMP_IF_EQUAL, JUMP_IF_SET, AND, RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
WRITE, EXECUTE = 2, 4
# In struct seccomp_data: the number of the call, and the lower half of each argument.
NUMBER, ARGUMENTS = 0, 16


def members(group):
    """The system calls of a group, such as @system-service."""
    lines = subprocess.run(
        ["systemd-analyze", "--no-pager", "syscall-filter", group], capture_output=True, text=True,
        check=True).stdout.splitlines()[1:]
    names = {line.strip() for line in lines if line.strip() and not line.strip().startswith("#")}
    groups = {name for name in names if name.startswith("@")}
    return (names - groups).union(*(members(name) for name in groups))


def allowed_calls(unit):
    """The system calls that the SystemCallFilter= lines of a unit allow."""
    allowed = set()
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        words = shlex.split(value.removeprefix("~"))
        named = set().union(*(members(word) if word.startswith("@") else {word} for word in words))
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def call_numbers():
    """The numbers of the system calls by their names."""
    header = next(path for path in Path("/usr/include").glob("**/asm/unistd_64.h")).read_text()
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header)}


def failing_calls(errors):
    """Returns a filter under which system calls fail: their errors by their names."""
    program, numbers = [instruction(LOAD, NUMBER)], call_numbers()
    for name, error in errors.items():
        program += [instruction(JUMP_IF_EQUAL, numbers[name], 0, 1), instruction(RETURN, ERROR | error)]
    return b"".join([*program, instruction(RETURN, ALLOW)])


@functools.cache
def filter_program(unit):
    """Returns the filter for a unit, as instructions of the Berkeley packet filter."""
    numbers = call_numbers()
    families = [getattr(socket, name) for name in re.search(r"^RestrictAddressFamilies=(.*)$", unit, re.M)[1].split()]
    program = [instruction(LOAD, NUMBER)]

    def rule(call, argument, *tests):
        body = [instruction(LOAD, ARGUMENTS + 8 * argument), *tests]
        program.extend([instruction(JUMP_IF_EQUAL, numbers[call], 0, len(body)), *body])

    deny = instruction(RETURN, ERROR | errno.EPERM)
    allow = instruction(RETURN, ALLOW)
    rule("socket", 0, *(step for family in families for step in (instruction(JUMP_IF_EQUAL, family, 0, 1), allow)),
         instruction(RETURN, ERROR | errno.EAFNOSUPPORT))
    rule("mmap", 2, instruction(AND, WRITE | EXECUTE), instruction(JUMP_IF_EQUAL, WRITE | EXECUTE, 0, 1), deny, allow)
    rule("mprotect", 2, instruction(JUMP_IF_SET, EXECUTE, 0, 1), deny, allow)
    for name in sorted(allowed_calls(unit) & numbers.keys()):
        program += [instruction(JUMP_IF_EQUAL, numbers[name], 0, 1), allow]
    return b"".join([*program, deny])


def confine(program):
    code = ctypes.create_string_buffer(program)
    description = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    set_seccomp, filter_mode = 22, 2
    if ctypes.CDLL(None, use_errno=True).prctl(set_seccomp, filter_mode, description, 0, 0) != 0:
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    confine(Path(sys.argv[1]).read_bytes())
    os.execvp(sys.argv[2], sys.argv[2:])
