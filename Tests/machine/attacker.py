#!/usr/bin/python3
"""Attacks a process, and the files and the socket of its user. Prints the name of each attack that succeeds:

    attacker.py PROCESS [FILE-OR-SOCKET ...]
"""

import ctypes
import os
import signal
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16


def call(function, *arguments):
    """Calls a function of C that returns -1 for an error."""
    result = function(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read_memory(process):
    with open(f"/proc/{process}/maps") as maps:
        start = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        memory.read(16)


def open_memory(process):
    open(f"/proc/{process}/mem", "rb").close()


def read_file(name):
    def read(process):
        with open(f"/proc/{process}/{name}", "rb") as file:
            file.read(1)
    return read


def list_files(process):
    os.listdir(f"/proc/{process}/fd")


def follow_root(process):
    os.listdir(f"/proc/{process}/root")


def attach(process):
    # The process goes on when this program ends.
    call(libc.ptrace, PTRACE_ATTACH, process, None, None)


def copy_memory(process):
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    # An address of no process gives EFAULT, but only if the attack is allowed.
    buffer = ctypes.create_string_buffer(16)
    here, there = Part(ctypes.addressof(buffer), 16), Part(1, 16)
    try:
        call(libc.process_vm_readv, process, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    except OSError as error:
        if error.errno != 14:
            raise


def send_signal(process):
    os.kill(process, signal.SIGCONT)


def use(path):
    """Reads a file, lists a folder, or gets an answer on a socket."""
    mode = os.stat(path).st_mode
    if stat.S_ISSOCK(mode):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(path)
            # A message of another version. Whoever may connect gets an answer.
            connection.sendall(b"\0\0\0\2\x09\x03")
            if not connection.recv(1):
                raise PermissionError("no answer")
    elif stat.S_ISDIR(mode):
        os.listdir(path)
    else:
        open(path, "rb").close()


ATTACKS = {
    "memory": read_memory, "open-memory": open_memory, "environ": read_file("environ"), "auxv": read_file("auxv"),
    "maps": read_file("maps"), "descriptors": list_files, "root": follow_root, "attach": attach,
    "copy-memory": copy_memory, "signal": send_signal,
}


def succeeds(attack, target):
    try:
        attack(target)
    except (PermissionError, ConnectionResetError, BrokenPipeError):
        return False
    return True


process = int(sys.argv[1])
print(*[name for name, attack in ATTACKS.items() if succeeds(attack, process)],
      *[path for path in sys.argv[2:] if succeeds(use, path)])
