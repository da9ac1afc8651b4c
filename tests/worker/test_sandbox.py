"""Things that a worker may not do to the machine that it runs on, and things that it may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernels import ANSWER, python

from robust_kbench.evaluate import Evaluator
from robust_kbench.worker import landlock

if TYPE_CHECKING:
    from conftest import Submit

CRASH = "import os, resource, sys\n{}\nos.chdir(sys.argv[1])\nos.abort()\n"
FORBID = "from robust_kbench.worker import sandbox\nsandbox.forbid_dumps()"
ALLOW = "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))"
MAKE = """
import os, stat, sys
from robust_kbench.worker import kernel, landlock

kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
landlock.restrict(sys.argv[1])
for kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFREG):
    try:
        os.mknod(f"{sys.argv[1]}/{kind}", kind | 0o600, os.makedev(1, 3) if kind in (stat.S_IFCHR, stat.S_IFBLK) else 0)
        print("made")
    except PermissionError:
        print("refused")
"""


def end(evaluator: Evaluator, submit: Submit, attempt: str) -> tuple[str, str]:
    """Run a kernel that computes the right answer after `attempt`; return its status and reason."""
    before = "import resource, socket, stat"
    record = evaluator.evaluate(submit(python(f"{attempt}\nreturn {ANSWER}", before)), tier="quick", seed=1, case=0)
    return record.status.value, record.reason


def files_after_a_crash(folder: Path, before: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", CRASH.format(before), str(folder)], capture_output=True, check=False)
    assert done.returncode == -6, done.stderr
    return os.listdir(folder)


def test_nothing_is_left_of_the_memory_of_what_has_crashed(tmp_path: Path) -> None:
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() not in ("core", "core.%p"):
        pytest.skip("this machine puts dumps of memory elsewhere")
    assert files_after_a_crash(tmp_path, FORBID) == []
    if not files_after_a_crash(tmp_path, ALLOW):
        pytest.skip("this user may leave no dumps anyway")


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", id="dumps of memory through a pipe"),
        pytest.param("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))", id="another policy"),
        pytest.param("socket.sethostname(socket.gethostname())", id="the name of the machine"),
        pytest.param("os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(7, 0))", id="a disk"),
        pytest.param("os.mknod('door', stat.S_IFSOCK | 0o600)", id="a socket that nobody listens on"),
        pytest.param("open('/proc/sys/vm/stat_refresh').read()", id="every core's statistics"),
        pytest.param("open('/proc/sys/kernel/ns_last_pid').read()", id="the process that was started last"),
    ],
)
def test_what_belongs_to_the_machine_is_refused(evaluator: Evaluator, submit: Submit, attempt: str) -> None:
    status, reason = end(evaluator, submit, attempt)
    assert (status, "PermissionError" in reason or "not allowed to raise" in reason) == ("crashed", True), reason


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("assert max(resource.getrlimit(resource.RLIMIT_CORE)) <= 1", id="to ask for the limit of dumps"),
        pytest.param("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))", id="to limit itself"),
        pytest.param("os.nice(1)\nassert os.getpriority(os.PRIO_PROCESS, 0) > 0", id="to be served later"),
        pytest.param("os.sched_getscheduler(0)\nassert os.sched_getaffinity(0)", id="to ask how it is scheduled"),
        pytest.param("for make in (os.mkfifo, os.mknod): make('new') or os.remove('new')", id="pipes and files"),
        pytest.param("one, two = socket.socketpair()\none.send(b'1')\nassert two.recv(1)", id="a pair of sockets"),
        pytest.param("assert open('/proc/sys/vm/overcommit_memory').read()", id="what the C library looks at"),
        pytest.param(
            "for each in [threading.Thread(target=torch.ones, args=(8,)) for _ in range(40)]: each.start()",
            id="forty threads",
        ),
    ],
)
def test_what_a_kernel_may_do_all_the_same(evaluator: Evaluator, submit: Submit, attempt: str) -> None:
    assert end(evaluator, submit, attempt) == ("passed", "")


@pytest.mark.skipif(os.getuid() != 0, reason="nobody but root makes devices")
@pytest.mark.skipif(not landlock.is_available(), reason="this machine has no landlock")
def test_not_even_root_makes_a_device_in_the_one_folder_that_landlock_leaves_it(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", MAKE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["refused", "refused", "made", "made"], done.stderr
