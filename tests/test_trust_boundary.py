"""Things that the process of a submission cannot see, change or outlive."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from kernels import RIGHT, ZEROS, check_that_a_good_one_passes, checked_cases, python

import robust_kbench
from robust_kbench.cases.values import make_inputs
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation import processes
from robust_kbench.isolation.arena import Arena
from robust_kbench.isolation.process import Worker
from robust_kbench.oracle.reference import Reference
from robust_kbench.registry import load_task
from robust_kbench.schema.record import RunRecord

if TYPE_CHECKING:
    from conftest import Submit

SECRET_SEED = 0x1B7D3A95C64E22
Stop = Callable[[Worker], None]


@pytest.fixture(autouse=True)
def next_one(evaluator: Evaluator, submit: Submit) -> Iterator[None]:
    """Check after every test of this file that a good submission still passes."""
    yield
    check_that_a_good_one_passes(evaluator, submit)


@pytest.fixture
def at_every_stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stop], None]:
    """Look at a worker whenever the judge has stopped it: after loading, before and after each call."""
    park = Worker.park

    def watch(look: Stop) -> None:
        def spy(worker: Worker) -> None:
            park(worker)
            look(worker)

        monkeypatch.setattr(Worker, "park", spy)

    return watch


def told(record: RunRecord) -> str:
    """Return the words that a submission says by raising RuntimeError."""
    assert record.reason.startswith("raised RuntimeError"), record.reason
    return record.reason.partition(": ")[2]


# --- what is not there ------------------------------------------------------------------------------------------------


def test_the_judge_never_runs_code_of_a_submission(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kernel", raising=False)  # another test may have imported one of its own
    source = python("raise RuntimeError(os.path.realpath('/proc/self'))", "torch.was_here = sys.was_here = True")
    worker = told(evaluator.evaluate(submit(source), tier="quick", case=0)).removeprefix("/proc/")
    assert int(worker) != os.getpid()
    assert not hasattr(torch, "was_here")
    assert not hasattr(sys, "was_here")
    assert "kernel" not in sys.modules


def test_the_worker_has_imported_no_module_of_the_judge(evaluator: Evaluator, submit: Submit) -> None:
    source = python("raise RuntimeError(*[' '.join(name for name in sys.modules if name.startswith('robust_kbench'))])")
    found = set(told(evaluator.evaluate(submit(source), tier="quick", case=0)).split())
    assert "robust_kbench.worker.session" in found
    outside = {name for name in found if not name.startswith("robust_kbench.worker")}
    assert outside <= {"robust_kbench", "robust_kbench.version"}


def test_the_environment_of_the_judge_does_not_reach_the_worker(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBENCH_TEST_API_KEY", "key-of-the-judge")
    body = """
text = open("/proc/self/environ").read() + str(os.environ)
raise RuntimeError([word in text for word in ("OMP_NUM_THREADS", "KBENCH_TEST_API_KEY", "key-of-the-judge")])
"""
    with Evaluator("cpu") as fresh:
        record = fresh.evaluate(submit(python(body)), tier="quick", case=0)
    assert told(record) == "[True, False, False]"


def test_a_worker_for_the_cpu_is_told_of_no_gpu(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with Evaluator("cpu") as fresh:
        source = python("raise RuntimeError(repr(os.environ['CUDA_VISIBLE_DEVICES']))")
        assert told(fresh.evaluate(submit(source), tier="quick", case=0)) == "''"


def test_a_worker_starts_without_pytorchs_reduced_precision(evaluator: Evaluator, submit: Submit) -> None:
    body = """
matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
raise RuntimeError([matmul.allow_tf32, cudnn.allow_tf32, matmul.allow_bf16_reduced_precision_reduction])
"""
    assert told(evaluator.evaluate(submit(python(body)), tier="quick", case=0)) == "[False, False, False]"


def test_neither_seed_nor_expected_output_is_in_the_memory_of_a_worker(
    evaluator: Evaluator, submit: Submit, at_every_stop: Callable[[Stop], None]
) -> None:
    number, needles = _secrets(SECRET_SEED)
    found: list[set[str]] = []

    def look(worker: Worker) -> None:
        if len(stops) == 2:  # after loading, before the call, and now after it, when nothing was overwritten yet
            found.append(_found_in(worker.pid, needles))
        stops.append(worker.pid)

    stops: list[int] = []
    at_every_stop(look)
    record = evaluator.evaluate(submit(python(ZEROS)), tier="quick", seed=SECRET_SEED, case=number)
    assert record.status == "incorrect"
    assert found == [{"input"}]  # which shows that we look in the right places


def _secrets(seed: int) -> tuple[int, dict[str, bytes]]:
    """Return the number of a case that is large enough, and the secrets of the judge about it, as bytes."""
    task = load_task("norm/rmsnorm")
    dense, values = ("contiguous", "offset"), ("normal", "uniform", "lognormal", "large", "small")
    varied = tuple(f"{layout} {name}" for layout in dense for name in values)
    cases = enumerate(checked_cases(seed))
    number, case = next((n, case) for n, case in cases if str(case).endswith(varied) and case.axes["cols"] >= 8)
    reference = Reference(task)
    inputs = make_inputs(task.spec, case)
    exact, rounded = reference.exact(inputs)["y"], reference.native(inputs)["y"]
    needles = {
        "input": _bytes(inputs.tensors["weight"]),
        "float64 output": _bytes(exact.reshape(-1)),
        "float32 output": _bytes(rounded.reshape(-1)),
        "digest": inputs.digest.encode(),
    }
    for name, secret in (("seed", seed), ("seed of the case", case.seed)):
        digits = [(secret >> 30 * place) & (2**30 - 1) for place in range(3) if secret >> 30 * place]
        needles[f"{name} in decimal"] = str(secret).encode()
        needles[f"{name} in 64 bits"] = struct.pack("<Q", secret)
        needles[f"{name} as an int of Python"] = struct.pack(f"<{len(digits)}I", *digits)
    return number, needles


def _bytes(values: torch.Tensor) -> bytes:
    """Return the first few values as bytes; they are long and varied enough not to turn up by chance."""
    part = values[:8].contiguous().numpy().tobytes()
    assert len(set(part)) > 12
    return part


def _found_in(pid: int, needles: dict[str, bytes]) -> set[str]:
    """Return the needles in memory that a process has written or shares; pages of files on disk can hold no secret."""
    found = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode, *_ = line.split()
            if not mode.startswith("rw") or "[v" in line:
                continue
            first, last = (int(part, 16) for part in span.split("-"))
            with contextlib.suppress(OSError):
                memory.seek(first)
                content = memory.read(last - first)
                found |= {name for name, needle in needles.items() if needle in content}
    return found


# --- what cannot be reached -------------------------------------------------------------------------------------------


def test_a_worker_can_look_into_no_other_process(evaluator: Evaluator, submit: Submit) -> None:
    body = """
own = os.path.basename(os.path.realpath("/proc/self"))
opened, refused = set(), 0
near = range(int(own) - 2_000, int(own) + 2_000)
for pid in filter(lambda pid: os.path.exists(f"/proc/{pid}"), map(str, {*range(1, 60_000), *near})):  # unlisted
    for look, name in (open, "environ"), (open, "mem"), (os.readlink, "cwd"), (os.readlink, "fd/0"):
        try:
            look(f"/proc/{pid}/{name}")
            opened.add(pid)
        except PermissionError: refused += 1
        except OSError: pass
raise RuntimeError(f"{opened == {own}} {refused > 10}")
"""
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    _needs(record, "user namespace")
    assert told(record) == "True True"


@pytest.mark.parametrize(
    "call",
    [
        "__import__('socket').socket()",
        "__import__('socket').socket(__import__('socket').AF_UNIX)",
        "os.sched_setaffinity(0, range(os.cpu_count()))",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        "os.chmod(TARGET, 0o777)",
        "os.utime(TARGET)",
        "os.setxattr(TARGET, 'user.x', b'x')",
        "open(TARGET, 'w')",
        "os.truncate(TARGET, 0)",
        "os.unlink(TARGET)",
        "os.rename(TARGET, 'mine')",
        "os.link(TARGET, 'mine')",
        "os.mkdir(TARGET + '.d')",
        "os.symlink(TARGET, TARGET + '.l')",
        "os.chroot('/')",
    ],
)
def test_a_worker_can_change_nothing_outside_its_own_folder(
    call: str, evaluator: Evaluator, submit: Submit, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_text("as it was")
    target.chmod(0o600)
    before = target.stat()
    body = f"try: {call}\nexcept OSError as error: raise RuntimeError(error.strerror)\nraise RuntimeError('done')"
    record = evaluator.evaluate(submit(python(body, f"TARGET = {str(target)!r}")), tier="quick", case=0)
    assert told(record) in ("Operation not permitted", "Permission denied", "Invalid cross-device link")
    after = target.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert (os.listdir(tmp_path), target.read_text()) == (["target"], "as it was")


def test_the_shared_memory_is_sealed_against_resizing(evaluator: Evaluator, submit: Submit) -> None:
    body = """
seals = {}
for name in os.listdir("/proc/self/fd"):
    path = os.path.realpath("/proc/self/fd/" + name)
    if "memfd:" in path: seals[path.partition(":")[2].split()[0]] = __import__("fcntl").fcntl(int(name), 1034)
raise RuntimeError(sorted(seals.items()))
"""
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    against_seals_shrinking_and_growing = 1 | 2 | 4
    assert told(record) == str([("kbench-control", against_seals_shrinking_and_growing)])


def test_the_arena_is_sealed_too_though_no_worker_keeps_its_descriptor() -> None:
    against_seals_shrinking_and_growing = 1 | 2 | 4
    arena = Arena(1 << 12)
    lent = arena.lend()
    assert fcntl.fcntl(lent, 1034) == against_seals_shrinking_and_growing
    with pytest.raises(PermissionError):
        os.ftruncate(lent, 0)
    os.close(lent)
    arena.close()


def test_the_addresses_of_a_call_are_not_those_of_the_call_before(evaluator: Evaluator, submit: Submit) -> None:
    body = "pages.append(x.data_ptr() // 4096)\nif len(pages) == 12: raise RuntimeError(len(set(pages)))\npass"
    source = python(body + "\n" + RIGHT, "pages = []")
    assert int(told(evaluator.evaluate(submit(source), tier="quick"))) >= 9  # of more than a hundred to choose from


# --- whose word counts ------------------------------------------------------------------------------------------------


def test_isolation_is_not_what_the_submission_says_it_is(evaluator: Evaluator, submit: Submit) -> None:
    forge = """
from robust_kbench.worker import session
for thing in gc.get_objects():
    if isinstance(thing, session._Session): thing._layers = ["a fortress"]
"""
    honest = evaluator.evaluate(submit(python(RIGHT)), tier="quick", case=0)
    record = evaluator.evaluate(submit(python(RIGHT, forge)), tier="quick", case=0)
    assert record.isolation == honest.isolation


@pytest.mark.rotating
def test_claiming_an_event_time_does_not_hide_work_before_the_clock_starts(
    evaluator: Evaluator, submit: Submit
) -> None:
    cheat = """
from robust_kbench.worker import arguments, devices, session, wire

wait = session._Session._wait

def wait_and_work(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word == wire.WAKE and isinstance(call, devices.CpuCall):
        time.sleep(0.02)
        call.early = rmsnorm(*call._arguments)

def run(self, kernel):
    self._result = self.early if hasattr(self, "early") else kernel(*self._arguments)
    return {"outcome": "returned", "outputs": arguments.describe(self._result)}

session._Session._wait, devices.CpuCall.run = wait_and_work, run
"""
    record = evaluator.evaluate(submit(python(RIGHT, cheat)), tier="quick")
    assert (record.status, [each.role for each in record.cases if each.status != "passed"]) == ("incorrect", ["timed"])


DRAWN_EARLY = """
import struct, sys
import torch
from robust_kbench.worker import devices, session

seen, past = [], set()
prepare, rehearse = devices.CpuDevice.prepare, devices.CpuCall.rehearse

def look(*things):
    seen[:] = [repr(things).encode()]

def prepare_and_look(self, abi, arena, request):
    look(request)
    return prepare(self, abi, arena, request)

def rehearse_and_look(self):
    seen.append(bytes(sys._getframe(1).f_locals["self"]._control))
    return rehearse(self)

devices.CpuDevice.prepare, devices.CpuCall.rehearse = prepare_and_look, rehearse_and_look

def dropout(x, p, seed):
    if seed > 2**33 and seed not in past and any(  # smaller ones are found by chance
        struct.pack("<q", seed) in each or repr(seed).encode() in each for each in seen
    ):
        raise RuntimeError("knew the seed before the inputs were there")
    past.add(seed)  # an earlier call has left it where scalars lie
    return torch.where(torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= p, x / (1 - p), 0.0)
"""


@pytest.mark.rotating
def test_scalars_come_with_the_clock_or_random_numbers_could_be_drawn_before_it(
    evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(
        submit(DRAWN_EARLY, task="random/dropout", entry_point="kernel.py::dropout"), tier="quick"
    )
    assert (record.status, record.reason) == ("passed", "")


CHILD = """
if os.fork() == 0:
    while True: pass
"""
DAEMON = """
if os.fork() == 0:
    if os.fork() == 0:
        while True: pass
    os._exit(0)
"""
COMET = """
__import__("signal").signal(17, 1)  # its dead parents are to leave no zombies
if os.fork() == 0:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
    os._exit(0)
"""
THREAD = """
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
"""


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(CHILD, id="a child"),
        pytest.param(THREAD, id="a thread"),
        pytest.param(DAEMON, id="a daemon"),
        pytest.param(COMET, id="a process that is forever somebody else"),
    ],
)
def test_nothing_that_a_submission_has_started_runs_while_it_is_stopped(
    before: str, evaluator: Evaluator, submit: Submit, at_every_stop: Callable[[Stop], None]
) -> None:
    states: list[str] = []

    def look(worker: Worker) -> None:
        for _ in range(5):
            states.extend(processes.state(pid) for pid in processes.tree(worker._init)[1:])
            time.sleep(0.001)

    at_every_stop(look)
    evaluator.evaluate(submit(python(ZEROS, before)), tier="quick")
    assert len(states) > 200
    assert set(states) <= {"T", "Z", "X"}


# --- the layers -------------------------------------------------------------------------------------------------------

NAMESPACES = {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000}
NAMES = {"net": "network"}
UNSHARE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000 | int(sys.argv[1])) != 0)"


def _has_landlock() -> bool:
    create_ruleset, ask_for_version = 444, 1
    version = ctypes.CDLL(None).syscall(create_ruleset, None, ctypes.c_size_t(0), ctypes.c_uint32(ask_for_version))
    return int(version) > 0


def _has_seccomp() -> bool:
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    return actions.exists() and "errno" in actions.read_text().split()


def _may_make_namespace(flag: int) -> bool:
    return subprocess.run([sys.executable, "-S", "-c", UNSHARE, str(flag)], check=False).returncode == 0


def _needs(record: RunRecord, layer: str) -> None:
    if layer not in record.isolation:
        pytest.skip(f"this machine has no {layer}")


@pytest.mark.parametrize("kind", list(NAMESPACES))
def test_a_worker_lives_in_namespaces_of_its_own(
    kind: str, evaluator: Evaluator, submit: Submit, at_every_stop: Callable[[Stop], None]
) -> None:
    if not _may_make_namespace(NAMESPACES[kind]):
        pytest.skip(f"this kernel or container allows no {kind} namespace")
    seen: set[str] = set()
    at_every_stop(lambda worker: seen.add(os.readlink(f"/proc/{worker.pid}/ns/{kind}")))
    record = evaluator.evaluate(submit(python(RIGHT)), tier="quick", case=0)
    assert f"{NAMES.get(kind, kind)} namespace" in record.isolation
    assert len(seen) == 1
    assert seen != {os.readlink(f"/proc/self/ns/{kind}")}


@pytest.mark.parametrize(
    ("layer", "field", "value", "is_available"),
    [
        ("seccomp", "Seccomp", "2", _has_seccomp),
        ("no new privileges", "NoNewPrivs", "1", lambda: True),
        ("no capabilities", "CapEff", "0" * 16, lambda: _may_make_namespace(NAMESPACES["user"])),
        ("no capabilities", "CapPrm", "0" * 16, lambda: _may_make_namespace(NAMESPACES["user"])),
    ],
)
def test_the_kernel_confirms_a_layer_of_every_worker(
    layer: str,
    field: str,
    value: str,
    is_available: Callable[[], bool],
    evaluator: Evaluator,
    submit: Submit,
    at_every_stop: Callable[[Stop], None],
) -> None:
    if not is_available():
        pytest.skip(f"this machine has no {layer}")
    seen: set[str] = set()

    def look(worker: Worker) -> None:
        status = Path(f"/proc/{worker.pid}/status").read_text()
        seen.update(line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:"))

    at_every_stop(look)
    record = evaluator.evaluate(submit(python(RIGHT)), tier="quick", case=0)
    assert (seen, layer in record.isolation) == ({value}, True)


def test_landlock_is_used_where_the_kernel_has_it(evaluator: Evaluator, submit: Submit) -> None:
    if not _has_landlock():
        pytest.skip("this kernel has no landlock")
    record = evaluator.evaluate(submit(python(RIGHT)), tier="quick", case=0)
    assert record.isolation[0] == "own process"
    assert "landlock" in record.isolation


ORDINARY_USER = 65534
BOMB = """
import sys
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission

with Evaluator("cpu") as evaluator:
    for text in sys.argv[1:]:
        record = evaluator.evaluate(Submission.model_validate_json(text), tier="quick", case=0)
        print(record.status, "user namespace" in record.isolation, flush=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Make a folder for everybody; pytest's own folders are for their owner only."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@pytest.mark.slow
def test_the_boundary_holds_for_an_ordinary_user_too(submit: Submit, open_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("every other test shows it: these tests run as an ordinary user")
    try:
        _as_ordinary_user(["-c", "import robust_kbench.evaluate"], open_folder)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"an ordinary user cannot run {sys.executable} with this package: {error}")
    submissions = [python("while True: os.fork()"), python(RIGHT), python(ZEROS)]
    said = _as_ordinary_user(["-c", BOMB, *(submit(source).model_dump_json() for source in submissions)], open_folder)
    assert said.splitlines() == ["crashed True", "passed True", "incorrect True"]
    assert [pid for pid in Path("/proc").glob("[0-9]*") if pid.stat().st_uid == ORDINARY_USER] == []


def _as_ordinary_user(arguments: list[str], folder: Path) -> str:
    """Run this interpreter as another user, in a mount namespace where no folder above it is closed to others."""
    drop = f"exec setpriv --reuid {ORDINARY_USER} --regid {ORDINARY_USER} --clear-groups"
    script = "\n".join(["set -e", *_opened_folders(folder), f'{drop} "$@"'])
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip


def _opened_folders(folder: Path) -> Iterator[str]:
    """Yield shell commands that put an empty, open folder in place of each closed one, with needed mounts below."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), Path(robust_kbench.__file__).parent.parent}
    for number, path in enumerate(sorted(needed)):
        closed = [parent for parent in path.parents if not parent.stat().st_mode & 0o001]
        if closed:
            aside = folder / f"aside{number}"
            yield f"mkdir -p {aside} && mount --bind {path} {aside}"
            yield f"mount -t tmpfs -o mode=755 tmpfs {closed[-1]}"
            yield f"mkdir -p {path} && mount --bind {aside} {path}"
