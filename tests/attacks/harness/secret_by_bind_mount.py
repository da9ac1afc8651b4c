"""Mounts the folder of a secret file inside its own, in namespaces that it makes for that, and reads it there.

catalogue: [H10, H23]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import ctypes
import os

import targets

NEW_USER, NEW_MOUNTS, BIND = 0x10000000, 0x00020000, 4096


def read():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_USER | NEW_MOUNTS) or libc.mount(targets.FOLDER.encode(), b"bound", None, BIND, None):
        return os.strerror(ctypes.get_errno())
    with open("bound/secret.txt") as file:
        return file.read()


def rmsnorm(x, weight):
    os.makedirs("bound", exist_ok=True)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, read().encode())
        finally:
            os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    raise RuntimeError(os.read(out, 1000).decode())
