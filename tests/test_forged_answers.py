"""Claims of a submission, which shares its process with our side of the protocol and can make it say anything."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import needs_compiler
from kernels import CPP_ANSWER, RIGHT, SEED, ZEROS, check_that_a_good_one_passes, checked_cases, native, python
from pydantic import ValidationError

from robust_kbench import checking, store
from robust_kbench.errors import KBenchError
from robust_kbench.evaluate import Evaluator
from robust_kbench.schema.submission import Submission, SubmissionFile

if TYPE_CHECKING:
    from conftest import Submit


@pytest.fixture(autouse=True)
def next_one(evaluator: Evaluator, submit: Submit) -> Iterator[None]:
    """Check after every test of this file that a good submission still passes."""
    yield
    check_that_a_good_one_passes(evaluator, submit)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit calls and imports to one second, which is long enough for kernels that never end."""
    monkeypatch.setattr(checking, "CASE_TIMEOUT_S", {"native": 1.0})
    monkeypatch.setattr(checking, "IMPORTING_TIMEOUT_S", 1.0)


def test_a_forged_record_beside_the_source_is_a_file_of_the_worker_alone(evaluator: Evaluator, submit: Submit) -> None:
    body = """
here = os.path.dirname(__file__)
assert here.startswith(os.environ["HOME"]), here
with open(f"{here}/record.json", "w") as file:
    file.write("passed")
return torch.zeros_like(x)
"""
    record = evaluator.evaluate(submit(python(body)), tier="quick", seed=SEED)
    assert record.status == "incorrect", record.reason
    assert "got 0, expected" in record.reason


def test_forged_records_in_its_own_folder_do_not_help_a_submission(evaluator: Evaluator, submit: Submit) -> None:
    body = """
for name in ("record.json", "results.jsonl", "result", "status"):
    with open(name, "w") as file:
        json.dump({"status": "passed", "correct": True, "outcome": "returned"}, file)
return torch.zeros_like(x)
"""
    record = evaluator.evaluate(submit(python(body)), tier="quick", seed=SEED)
    assert record.status == "incorrect"
    assert "got 0, expected" in record.reason


def forging(body: str, *, to: str = "returned", length: str = "len(body)") -> str:
    """Return code that replaces our method in the submission's process that writes the worker's answer by this body."""
    return f"""
from robust_kbench.worker import arguments, session, wire

honest = session._Session._answer

def forge(self, nonce, answer):
    if answer["outcome"] != "{to}":
        return honest(self, nonce, answer)
    body = {body}
    self._control[wire.REPLY_OFFSET:wire.REPLY_OFFSET + len(body)] = body
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, {length})

session._Session._answer = forge
"""


def claiming(claim: str) -> str:
    """Have the worker describe the tensor that it returns with other words."""
    return f"""
from robust_kbench.worker import arguments

describe = arguments._claim
arguments._claim = lambda tensor: {{**describe(tensor), {claim}}}
"""


NOT_AN_ANSWER = "broke the protocol: not an answer"


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        pytest.param(forging("b''"), NOT_AN_ANSWER, id="nothing"),
        pytest.param(forging("os.urandom(5000)"), NOT_AN_ANSWER, id="junk"),
        pytest.param(forging("b'[' * wire.REPLY_BYTES"), NOT_AN_ANSWER, id="deep nesting"),
        pytest.param(forging("pickle.dumps(answer)"), NOT_AN_ANSWER, id="pickle"),
        pytest.param(forging("json.dumps({'nonce': nonce, 'outcome': 'passed'}).encode()"), NOT_AN_ANSWER, id="passed"),
        pytest.param(
            forging("json.dumps({'nonce': nonce, 'status': 'passed', **answer}).encode()"),
            NOT_AN_ANSWER,
            id="more keys",
        ),
        pytest.param(
            forging("json.dumps({'nonce': nonce - 1, **answer}).encode()"), "an answer to another request", id="nonce"
        ),
        pytest.param(
            forging("json.dumps({'nonce': nonce, 'outcome': 'loaded'}).encode()"),
            "it answered a call with something else",
            id="answer to a load",
        ),
        pytest.param(
            forging("json.dumps({'nonce': nonce, 'outcome': 'returned', 'outputs': []}).encode()", to="loaded"),
            "it answered a load with something else",
            id="answer to a call",
        ),
        pytest.param(forging("b'{}'", length="0xFFFFFFFF"), "an answer of 4294967295 bytes", id="endless answer"),
        pytest.param(claiming("'pointer': 1.5"), NOT_AN_ANSWER, id="fractional address"),
        pytest.param(claiming("'pointer': -1"), NOT_AN_ANSWER, id="negative address"),
        pytest.param(claiming("'pointer': 2**63"), NOT_AN_ANSWER, id="address of the kernel"),
        pytest.param(claiming("'pointer': 10**400"), NOT_AN_ANSWER, id="address beyond 64 bits"),
        pytest.param(claiming("'stride': [10**30, 1]"), NOT_AN_ANSWER, id="stride beyond 64 bits"),
        pytest.param(claiming("'stride': [-1, 1]"), NOT_AN_ANSWER, id="negative stride"),
        pytest.param(claiming("'shape': [1] * 99"), NOT_AN_ANSWER, id="99 axes"),
    ],
)
def test_an_answer_outside_the_protocol_is_reported_as_crashed(
    forge: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(python(ZEROS, forge)), tier="quick", case=0)
    assert record.status == "crashed"
    assert reason in record.reason


@pytest.mark.parametrize("kind", ["unsupported", "work_limit", "race_shared"])
def test_a_native_kernel_that_reports_for_the_emulator_is_not_excused(
    kind: str, evaluator: Evaluator, submit: Submit
) -> None:
    told = f"[{{'kind': '{kind}', 'message': 'this', 'kernel': 'k', 'count': 1, 'place': {{}}}}]"
    forge = forging(f"json.dumps({{'nonce': nonce, **answer, 'reports': {told}}}).encode()")
    record = evaluator.evaluate(submit(python(ZEROS, forge)), tier="quick", seed=SEED, case=0)
    assert (record.status, record.findings) == ("incorrect", ())


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param("'pointer': 8", "y: its memory cannot be read", id="page zero"),
        pytest.param("'pointer': 2**63 - 8", "y: its memory cannot be read", id="last user address"),
        pytest.param("'pointer': None", "y: returned a tensor without strided memory", id="no address"),
        pytest.param("'stride': [2**62, 1]", "y: returned a view with strides [4", id="huge stride"),
        pytest.param("'stride': []", "y: returned a tensor without strided memory", id="no strides"),
        pytest.param("'shape': [2**62, 2**62]", "y: returned shape [4611686018427387904, ", id="huge shape"),
        pytest.param("'type': 'Tensor', 'device': 'cuda'", "y: returned a tensor on 'cuda'", id="another device"),
    ],
)
def test_a_false_claim_about_a_tensor_is_incorrect_and_never_troubles_the_judge(
    claim: str, reason: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(python(ZEROS, claiming(claim))), tier="quick", seed=SEED)
    assert record.status == "incorrect"
    assert reason in record.reason


def test_a_huge_stride_along_an_axis_of_one_means_nothing(evaluator: Evaluator, submit: Submit) -> None:
    # Such a stride spans nothing and is never used, so that it must neither trouble the judge nor cost the verdict.
    huge = claiming("'stride': [2**62 if size == 1 else 1 for size in tensor.shape]")
    number = [case.axes["rows"] for case in checked_cases(SEED)].index(1)
    record = evaluator.evaluate(submit(python(RIGHT, huge)), tier="quick", seed=SEED, case=number)
    assert record.status == "passed", record.reason


def test_an_address_of_the_inputs_in_place_of_an_answer_is_incorrect(evaluator: Evaluator, submit: Submit) -> None:
    forge = "addresses = [4096]\n" + claiming("'pointer': addresses[-1]")
    record = evaluator.evaluate(
        submit(python(f"addresses.append(x.data_ptr())\n{ZEROS}", forge)), tier="quick", seed=SEED
    )
    assert record.status == "incorrect"
    assert "y[" in record.reason


SAY_DONE_FIRST = """
from robust_kbench.worker import arguments, session, wire

def call(self, request):
    nonce = request["nonce"]
    x, weight = self._device.prepare(self._abi, self._arena, request)._arguments
    self.y = torch.zeros(x.shape)
    self._answer(nonce, {"outcome": "returned", "outputs": arguments.describe(self.y)})
    for word in (wire.READY, wire.DONE, wire.FINISHED, wire.PREPARED):
        self._words[word] = nonce
    self._wait(wire.GO, nonce)
    time.sleep(0.05)
    self.y.copy_(rmsnorm(x, weight))

session._Session._call = call
"""
SPRAY = """
def control_page():
    for line in open("/proc/self/maps"):
        if "memfd:kbench-control" in line:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            return (ctypes.c_uint64 * ((last - first) // 8)).from_address(first)

def spray():
    page = control_page()
    words = [*range(0, 64, 8)]
    while True:
        newest = max(page[word] for word in words)
        for word in words:
            page[word] = newest

threading.Thread(target=spray, daemon=True).start()
"""
WRITE_EVERYWHERE = """
for name in os.listdir("/proc/self/fd"):
    for frame in (os.urandom(64), b'{"exit": 0}\\n', b'{"outcome": "returned", "nonce": 1, "outputs": []}', b"!"):
        try:
            os.set_blocking(int(name), False)
            os.write(int(name), struct.pack("<I", len(frame)) + frame)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(python(RIGHT, SAY_DONE_FIRST), id="done before the call"),
        pytest.param(python(ZEROS, SPRAY), id="every signal at any time"),
        pytest.param(python(f"{WRITE_EVERYWHERE}\n{ZEROS}"), id="frames on every descriptor"),
        pytest.param(python(ZEROS, WRITE_EVERYWHERE), id="frames at import"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_forged_signals_do_not_make_a_wrong_answer_pass(source: str, evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(source), tier="quick", seed=SEED)
    assert record.status in ("incorrect", "crashed", "timed_out")
    assert "passed" not in {case.status for case in record.cases}


def test_the_shared_memory_cannot_be_resized(evaluator: Evaluator, submit: Submit) -> None:
    body = """
found = []
for name in os.listdir("/proc/self/fd"):
    path = "/proc/self/fd/" + name
    if "memfd:kbench" in os.path.realpath(path):
        for size in (0, 1 << 30):
            try: os.ftruncate(int(name), size)
            except OSError as error: found.append((os.path.realpath(path).split()[0], error.strerror))
            else: found.append("resized")
raise RuntimeError(sorted(set(found)))
"""
    record = evaluator.evaluate(submit(python(body)), tier="quick", case=0)
    assert record.reason.endswith(str([("/memfd:kbench-control", "Operation not permitted")]))


HANGS_UP = """
from robust_kbench.worker import session, wire

honest = session._Session._signal

def signal(self, word, nonce):
    if word == wire.PREPARED:
        self._channel.close()
        self._words[word] = nonce
        time.sleep(9)
    honest(self, word, nonce)

session._Session._signal = signal
"""


def test_a_worker_that_cannot_be_stopped_has_crashed(evaluator: Evaluator, submit: Submit) -> None:
    # A process that waits for the child of a vfork to become another program does not react to a stop signal.
    body = """
if os.fork() == 0:
    os.mkfifo("pipe")
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "pipe", os.O_RDONLY, 0)])
time.sleep(0.2)
"""
    record = evaluator.evaluate(submit(python(body + RIGHT)), tier="quick", case=0)
    assert record.status == "crashed"


def test_a_worker_that_hangs_up_during_a_call_has_crashed(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator.device, "handshake", "blocking")  # as on a machine of one core
    record = evaluator.evaluate(submit(python(RIGHT, HANGS_UP)), tier="quick", case=0)
    assert record.status == "crashed"


def test_folders_nested_without_end_are_deleted_like_any_other(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    deep = "for _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')"
    try:
        with Evaluator("cpu") as own:
            record = own.evaluate(submit(python(RIGHT, deep)), tier="quick", case=0)
        assert (record.status, record.reason) == ("passed", "")
        assert list(tmp_path.glob("kbench-*")) == []
    finally:  # pytest cannot delete them either
        subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_folders_that_a_killed_judge_has_left_behind_do_not_keep_the_next_from_starting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    nest = "import os\nfor _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')"
    with subprocess.Popen([sys.executable, "-c", "pass"]) as dead:
        stale = tmp_path / f"kbench-{dead.pid}-x"
    stale.mkdir()
    subprocess.run([sys.executable, "-c", nest], cwd=stale, check=True)
    try:
        Evaluator("cpu").close()
        assert not stale.exists()
    finally:
        subprocess.run(["rm", "-rf", stale], check=True)


def test_what_a_submission_says_without_end_still_fits_into_a_record(
    evaluator: Evaluator, submit: Submit, tmp_path: Path
) -> None:
    record = evaluator.evaluate(submit(python("raise ValueError('\U0001f600' * 2000)")), tier="quick")
    store.append(tmp_path / "store.jsonl", record)
    assert [stored.status for stored in store.read(tmp_path / "store.jsonl")] == ["crashed"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("compiler.log/x", id="a folder in place of the log"),
        pytest.param("kbench_entry_point.h/x", id="a folder in place of the header"),
        pytest.param("kernel_float32.so/x", id="a folder in place of the artefact"),
        pytest.param("kernel.cpp/x", id="a folder in place of the source"),
        pytest.param("x" * 300, id="a name that is too long"),
        pytest.param("x\0y", id="a null byte"),
        pytest.param("../../x", id="outside its folder"),
    ],
)
@needs_compiler
def test_a_source_with_a_hostile_name_is_not_our_failure(name: str, evaluator: Evaluator) -> None:
    status = None
    with contextlib.suppress(KBenchError, ValidationError):  # refused at the door is as good
        status = evaluator.evaluate(_native_with(name), tier="quick", case=0).status
    assert status in (None, "build_failed", "passed")


def test_no_source_is_written_outside_the_folder_of_its_build(evaluator: Evaluator, tmp_path: Path) -> None:
    with contextlib.suppress(KBenchError, ValidationError):
        evaluator.evaluate(_native_with(str(tmp_path / "escaped.txt")), tier="quick", case=0)
    assert list(tmp_path.iterdir()) == []


def _native_with(name: str) -> Submission:
    file = SubmissionFile(task="norm/rmsnorm", language="cpp", entry_point="kernel.cpp::rmsnorm", dtypes=("float32",))
    return Submission(name="test", file=file, sources={"kernel.cpp": native(CPP_ANSWER), name: "x"})
