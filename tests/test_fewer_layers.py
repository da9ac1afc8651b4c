"""On a machine that forbids namespaces the verdicts stay the same, nothing is left behind, and nothing is ranked up."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robust_kbench.worker import kernel, seccomp

# Deny unshare to this process and all its children, as many containers do, then judge.
PROGRAM = """
import ctypes, json, struct, sys
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission
from robust_kbench.worker import kernel, seccomp

number = seccomp._NUMBERS["unshare"][list(seccomp._AUDIT_ARCH).index(kernel.MACHINE)]
filter = [(0x20, 0, 0, 0), *seccomp._deny_number(number), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in filter))
program = seccomp._Program(len(filter), ctypes.cast(code, ctypes.c_void_p))
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.byref(program))
with Evaluator("cpu") as evaluator:
    for text in sys.argv[1:]:
        record = evaluator.evaluate(Submission.model_validate_json(text), tier="quick", case=0)
        print(json.dumps([record.status, record.isolation]), flush=True)
"""
RIGHT = "torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)"
LEAVES_A_CHILD = f"""
import os, time, torch

LEFT = []

def rmsnorm(x, weight):
    LEFT.append(1)
    if len(LEFT) < 9 and os.fork() == 0:  # a burst of more would be one too many
        if os.fork() == 0:
            os.environ["MARKER"] = "left behind"
            time.sleep(300)
        os._exit(0)
    return {RIGHT}
"""
FORKS_WITHOUT_END = "import os\n\ndef rmsnorm(x, weight):\n    while True: os.fork()\n"
REACHES_FOR_OTHERS = f"""
import os, resource, stat, torch

def rmsnorm(x, weight):
    other, refused = os.getppid(), 0
    attempts = [
        lambda: os.setpriority(os.PRIO_PROCESS, other, 5),
        lambda: os.setpriority(os.PRIO_PGRP, 0, 5),
        lambda: resource.prlimit(other, resource.RLIMIT_NOFILE),
        lambda: os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3)),
        lambda: os.chown("/proc/self/cwd", 1, 1),
    ]
    for attempt in attempts:
        try:
            attempt()
        except PermissionError:
            refused += 1
    os.setpriority(os.PRIO_PROCESS, os.getpid(), os.getpriority(os.PRIO_PROCESS, 0))
    resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    capabilities = [line for line in open("/proc/self/status") if line.startswith(("CapPrm:", "CapEff:"))]
    if refused != len(attempts) or any(int(line.split()[1], 16) for line in capabilities):
        raise RuntimeError(f"{{refused}} refused; {{capabilities}}")
    return {RIGHT}
"""
HANGS = "def rmsnorm(x, weight):\n    raise SystemExit(3)\n"


def submission(source: str) -> str:
    file = {
        "task": "norm/rmsnorm",
        "language": "python",
        "abi": "value",
        "entry_point": "kernel.py::rmsnorm",
        "dtypes": ["float32"],
    }
    return json.dumps({"name": "test", "file": file, "sources": {"kernel.py": source}})


def started_in(folder: Path) -> set[str]:
    """Processes whose home was in `folder` when they started, as with all that a judge starts whose files are there."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if str(folder) in Path(f"/proc/{pid}/environ").read_text(errors="replace"):
                found.add(pid)
    return found


@pytest.mark.rotating
@pytest.mark.skipif(kernel.MACHINE not in seccomp._AUDIT_ARCH, reason="no seccomp filter for this architecture")
def test_without_namespaces_verdicts_stand_and_nothing_is_left_behind(tmp_path: Path) -> None:
    sources = [LEAVES_A_CHILD, FORKS_WITHOUT_END, HANGS, REACHES_FOR_OTHERS, LEAVES_A_CHILD]
    command = [sys.executable, "-c", PROGRAM, *map(submission, sources)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [status for status, _ in results] == ["passed", "crashed", "crashed", "passed", "passed"], done.stderr
    assert not {"pid namespace", "user namespace"} & set(results[0][1])
    assert {"landlock", "seccomp", "no new privileges", "no capabilities"} <= set(results[0][1])
    assert started_in(tmp_path) == set()
