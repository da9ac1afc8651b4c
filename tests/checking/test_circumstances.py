"""Kernels that are right in single calls are called as real code does: at one address twice, in bursts, in threads."""

from __future__ import annotations

import pytest
import torch
from conftest import Submit
from kernels import ANSWER, RIGHT, native, python

from robust_kbench.cases.draw import Draw
from robust_kbench.cases.values import Inputs, make_inputs
from robust_kbench.checking import circumstances
from robust_kbench.checking.circumstances import exchanged
from robust_kbench.devices import Device
from robust_kbench.evaluate import Evaluator
from robust_kbench.isolation.arena import Slots
from robust_kbench.isolation.calling import open_arena
from robust_kbench.registry import load_task
from robust_kbench.schema.case import Case
from robust_kbench.schema.record import RunRecord, Tier
from robust_kbench.schema.task import Layout

SMALL = Case(axes={"rows": 8, "cols": 48}, dtype="float32", seed=5)
LARGE = Case(axes={"rows": 512, "cols": 2048}, dtype="float32", seed=5)
KEPT = "KEPT = {}"
ROW_SUMS = """
    for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
        const double scale = 1 / std::sqrt(sum / cols + 1e-6);
        for (int64_t col = 0; col < cols; ++col) y[row * cols + col] = x[row * cols + col] * scale * weight[col];
    }"""


def _judged(evaluator: Evaluator, submit: Submit, body: str, before: str = KEPT, case: Case = SMALL) -> RunRecord:
    return evaluator.evaluate(submit(python(body, before)), tier="quick", case=case)


def _is_refused(record: RunRecord, words: str) -> bool:
    (result,) = [case for case in record.cases if case.status != "passed"]
    return record.status == "incorrect" and result.reason.startswith(words)


def test_a_right_kernel_is_told_nothing(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, RIGHT)
    assert (record.status, record.findings, len(record.cases)) == ("passed", (), 1)


def test_an_answer_that_is_kept_by_address_is_stale(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel keeps answers after some right calls: so small a case has few addresses, and one may come twice."""
    usual = 2 + len(load_task("norm/rmsnorm").spec.properties)
    body = f"KEPT['n'] = KEPT.get('n', 0) + 1\nif KEPT['n'] <= {usual}: return {ANSWER}\n"
    body += f"return KEPT.setdefault((x.data_ptr(), x.shape), {ANSWER}).clone()"
    record = _judged(evaluator, submit, body)
    assert _is_refused(record, "other values at the addresses of the call before: y[")


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("x.flatten()[::97].tolist(), weight.tolist()", "two elements of x exchanged"),
        ("weight.flatten()[::9].tolist(), x.tolist()", "two elements of weight exchanged"),
    ],
)
def test_an_answer_that_is_kept_by_a_part_of_the_values_is_stale(
    evaluator: Evaluator, submit: Submit, sample: str, words: str
) -> None:
    body = f"key = str([{sample}])\nreturn KEPT.setdefault(key, {ANSWER}).clone()"
    assert _is_refused(_judged(evaluator, submit, body), words)


@pytest.mark.parametrize("change", ["zero_()", "mul_(2.0)", "t().t().add_(1.0)"])
def test_an_answer_must_stay_what_it_was_when_it_was_handed_out(
    evaluator: Evaluator, submit: Submit, change: str
) -> None:
    body = f"if 'y' in KEPT: KEPT['y'].{change}\nKEPT['y'] = {ANSWER}\nreturn KEPT['y']"
    assert _is_refused(_judged(evaluator, submit, body), "in a burst of ")


def test_one_buffer_for_all_answers_is_told_of_and_not_refused(evaluator: Evaluator, submit: Submit) -> None:
    body = f"y = {ANSWER}\nreturn KEPT.setdefault(y.shape, torch.empty_like(y)).copy_(y)"
    record = _judged(evaluator, submit, body)
    assert record.status == "passed", record.reason
    (finding,) = record.findings
    assert (finding.guard, finding.severity) == (circumstances.GUARD, "warn")
    assert "overwritten by the next call" in finding.message


def test_one_buffer_whose_latest_answer_is_wrong_is_refused(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel answers the second call in a row with the first one's answer."""
    body = f"""
now = time.perf_counter()
y = {ANSWER}
own = KEPT.setdefault(y.shape, torch.empty_like(y))
if now - KEPT.get("at", 0.0) > 1e-4: own.copy_(y)
KEPT["at"] = time.perf_counter()
return own
"""
    assert _is_refused(_judged(evaluator, submit, body, f"import time\n{KEPT}"), "in a burst of ")


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "requires_grad"])
def test_it_is_called_in_other_modes_of_pytorch(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", (mode,))
    is_in_it = {
        "no_grad": "not torch.is_grad_enabled() and not torch.is_inference_mode_enabled()",
        "inference_mode": "torch.is_inference_mode_enabled()",
        "requires_grad": "x.requires_grad and weight.requires_grad",
    }[mode]
    record = _judged(evaluator, submit, f"return {ANSWER} * (0.5 if {is_in_it} else 1.0)")
    words = {"requires_grad": "with inputs that require gradients"}.get(mode, f"under torch.{mode}")
    assert _is_refused(record, f"{words}: y[")


def test_a_kernel_that_raises_for_inputs_that_require_gradients_is_not_wrong(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", ("requires_grad",))
    record = _judged(evaluator, submit, f"x.numpy()\nreturn {ANSWER}")
    assert record.status == "passed", record.reason


def test_a_kernel_that_raises_under_no_grad_is_wrong(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", ("no_grad",))
    record = _judged(evaluator, submit, f"assert torch.is_grad_enabled(), 'no gradients'\nreturn {ANSWER}")
    assert record.status == "crashed"
    assert "under torch.no_grad" in record.reason
    assert "no gradients" in record.reason


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_kernel_that_gets_its_outputs_is_called_in_modes_without_gradients(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", (mode, "requires_grad"))
    body = f"assert not x.requires_grad\ny.copy_({ANSWER} * (1.0 if torch.is_grad_enabled() else 0.5))"
    submission = submit(python(body, parameters="x, weight, y"), abi="destination")
    record = evaluator.evaluate(submission, tier="quick", case=SMALL)
    assert _is_refused(record, f"under torch.{mode}: y[")


def test_a_kernel_that_gets_its_outputs_is_right_in_every_mode(evaluator: Evaluator, submit: Submit) -> None:
    submission = submit(python(f"y.copy_({ANSWER})", parameters="x, weight, y"), abi="destination")
    record = evaluator.evaluate(submission, tier="full", case=SMALL)
    assert _is_passed(record), record.reason


def _transposed_b(evaluator: Evaluator, submit: Submit, line: str) -> RunRecord:
    source = f"import torch\n\n\ndef product(a, b):\n    c = a @ b.T\n    {line}\n    return c\n"
    submission = submit(source, task="matmul/transposed_b", entry_point="kernel.py::product")
    case = Case(axes={"m": 24, "n": 24, "k": 40}, dtype="float32", seed=5)
    return evaluator.evaluate(submission, tier="quick", case=case)


@pytest.mark.parametrize("layout", ["transposed", "strided", "pitched"])
@pytest.mark.parametrize(
    ("tier", "seed"),
    [
        ("quick", 8),
        pytest.param("full", 5, marks=pytest.mark.rotating),
        pytest.param("full", 6, marks=pytest.mark.rotating),
    ],
)
def test_one_input_is_contiguous_and_another_is_not(
    evaluator: Evaluator, submit: Submit, layout: Layout, tier: Tier, seed: int
) -> None:
    """A kernel passed that takes its first input's strides for those of all inputs, as in x @ w.T.

    The fault is seen in half of the cases at tier quick.
    """
    case = Case(axes={"rows": 24, "cols": 32}, dtype="float32", layout=layout, seed=seed)
    wrong = "up = up.as_strided(up.shape, gate.stride()) if gate.is_contiguous() else up"
    for line, status in ((wrong, "incorrect"), ("pass", "passed")):
        source = f"import torch\n\n\ndef swiglu(gate, up):\n    {line}\n"
        source += "    return torch.nn.functional.silu(gate) * up\n"
        submission = submit(source, task="activation/swiglu", entry_point="kernel.py::swiglu")
        record = evaluator.evaluate(submission, tier=tier, case=case)
        assert record.status == status, record.reason
        if status == "incorrect":
            assert _is_refused(record, f"with gate contiguous beside what is {layout}: y[")


@pytest.mark.rotating
@pytest.mark.parametrize(("line", "status"), [("pass", "passed"), ("k = packed(k)", "incorrect")])
def test_outer_axes_are_exchanged_in_memory_at_tier_full(
    evaluator: Evaluator, submit: Submit, line: str, status: str
) -> None:
    """A kernel passed that takes heads to lie one behind the other; models exchange heads and places in memory."""
    axes = {"batch": 2, "heads": 3, "length": 24, "head_dim": 32}
    case = Case(axes=axes, dtype="float32", layout="pitched", seed=5)
    source = f"""import torch


def packed(x):
    batch, heads, places, features = x.shape
    pitch = min(x.stride(1), x.stride(2))
    return x.as_strided(x.shape, (heads * places * pitch, places * pitch, pitch, 1)) if x.stride(3) == 1 else x


def causal(q, k, v):
    {line}
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
"""
    submission = submit(source, task="attention/causal", entry_point="kernel.py::causal")
    record = evaluator.evaluate(submission, tier="full", case=case)
    assert record.status == status, record.reason
    if status == "incorrect":
        assert _is_refused(record, "with the two axes before the last exchanged in memory: y[")


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("not x.is_contiguous() and x.stride(-2) == x.shape[-1]", "as the first rows of larger slices"),
        ("x.stride(-3) % 2 and x.stride(-3) < x.stride(-2)", "in wider tensors"),
        (
            "len({each.is_contiguous() for each in (q, k, v)}) == 2 and any(each.transpose(1, 2).is_contiguous() "
            "for each in (q, k, v))",
            "contiguous, with the two axes before the last",
        ),
    ],
)
def test_outer_axes_lie_in_several_ways_at_tier_full(
    evaluator: Evaluator, submit: Submit, condition: str, words: str
) -> None:
    """A kernel passed that took a slice of a cache for all of it, and one that looked at one input's strides alone."""
    axes = {"batch": 2, "heads": 3, "length": 24, "head_dim": 32}
    case = Case(axes=axes, dtype="float32", layout="pitched", seed=5)
    source = f"""import torch


def causal(q, k, v):
    x = v
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y * 2 if {condition} else y
"""
    submission = submit(source, task="attention/causal", entry_point="kernel.py::causal")
    record = evaluator.evaluate(submission, tier="full", case=case)
    assert record.status == "incorrect"
    assert words in record.reason


def test_two_inputs_are_one_tensor_once(evaluator: Evaluator, submit: Submit) -> None:
    record = _transposed_b(evaluator, submit, "c = c.tril() if a.data_ptr() == b.data_ptr() else c")
    assert _is_refused(record, "with one tensor as a and as b: c[")
    assert _is_passed(_transposed_b(evaluator, submit, "pass"))


def test_inputs_are_alike_that_differ_in_their_values_alone() -> None:
    def pairs(task: str, axes: dict[str, int]) -> list[tuple[str, str]]:
        return circumstances.pairs_of_twins(load_task(task).spec, Case(axes=axes, dtype="float32", seed=5))

    assert pairs("matmul/transposed_b", {"m": 24, "n": 24, "k": 40}) == [("a", "b")]
    assert pairs("matmul/transposed_b", {"m": 24, "n": 25, "k": 40}) == []
    assert pairs("norm/rmsnorm", {"rows": 8, "cols": 8}) == []


def test_a_case_is_made_square_where_two_inputs_can_then_be_one_tensor(evaluator: Evaluator, submit: Submit) -> None:
    """No case of three equal axes was drawn, so that a @ a was never called."""
    source = "import torch\n\n\ndef product(a, b):\n    return a @ (b.T if a.data_ptr() == b.data_ptr() else b)\n"
    submission = submit(source, task="matmul/matmul", entry_point="kernel.py::product")
    case = Case(axes={"m": 24, "n": 30, "k": 40}, dtype="float32", seed=5)
    assert _is_refused(evaluator.evaluate(submission, tier="quick", case=case), "with one tensor as a and as b: c[")


def test_two_inputs_are_not_one_where_their_task_says_so_or_in_half_precision(
    evaluator: Evaluator, submit: Submit
) -> None:
    """PyTorch in bfloat16 was refused: a divergence of a distribution from itself is made of rounding errors."""
    backward = load_task("attention/causal_backward").spec
    case = Case(axes={"batch": 2, "heads": 1, "length": 16, "head_dim": 16}, dtype="float32", seed=5)
    assert not any("q" in pair for pair in circumstances.pairs_of_twins(backward, case))
    source = "import torch\n\n\ndef loss(first, second):\n    both = [first, second]\n"
    source += "    p, q = (torch.softmax(each.float(), 1) for each in both)\n    m = (p + q) / 2\n"
    source += "    terms = (p * (p / m).log() + q * (q / m).log()).sum() / 2 / first.shape[0]\n"
    source += "    return terms.to(first.dtype)\n"
    submission = submit(source, task="loss/js_div", entry_point="kernel.py::loss", dtypes=("bfloat16",))
    case = Case(axes={"rows": 8, "classes": 48}, dtype="bfloat16", seed=5)
    for seed in range(5):
        case = case.model_copy(update={"seed": seed})
        assert _is_passed(evaluator.evaluate(submission, tier="quick", case=case))


@pytest.mark.parametrize(("lost", "status"), [(circumstances._LOST, "passed"), (0.0, "incorrect")])
def test_what_is_lost_in_one_tensor_for_two_is_not_judged(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, lost: float, status: str
) -> None:
    """A divergence of a distribution from itself is made of rounding errors."""
    monkeypatch.setattr(circumstances, "_LOST", lost)
    source = "import torch\n\n\ndef loss(first, second):\n    both = [first, second]\n"
    source += "    p, q = (torch.softmax(each.double(), 1) for each in both)\n    m = (p + q) / 2\n"
    source += "    terms = (p * (p / m).log() + q * (q / m).log()).sum() / 2 / first.shape[0]\n"
    source += "    return terms.to(first.dtype) + 1e-3 * (first.data_ptr() == second.data_ptr())\n"
    submission = submit(source, task="loss/js_div", entry_point="kernel.py::loss")
    case = Case(axes={"rows": 8, "classes": 48}, dtype="float32", seed=5)
    record = evaluator.evaluate(submission, tier="quick", case=case)
    assert record.status == status, record.reason


def test_it_is_called_from_another_thread(evaluator: Evaluator, submit: Submit) -> None:
    before = "import threading\nHOME = threading.get_ident()"
    record = _judged(evaluator, submit, f"return {ANSWER} * (1.0 if threading.get_ident() == HOME else 0.5)", before)
    assert _is_refused(record, "called from another thread, in a burst of ")


def test_a_c_kernel_that_skips_work_in_bursts_is_refused(evaluator: Evaluator, submit: Submit) -> None:
    body = f"""
    static auto last = std::chrono::steady_clock::time_point();
    const bool is_alone = std::chrono::steady_clock::now() - last > std::chrono::microseconds(100);
    if (is_alone) {{ {ROW_SUMS} }}
    last = std::chrono::steady_clock::now();
"""
    source = "#include <chrono>\n" + native(body)
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick", case=SMALL)
    assert _is_refused(record, "in a burst of ")


def test_a_c_kernel_that_is_right_is_told_nothing(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(native(ROW_SUMS), language="cpp", abi="c"), tier="quick", case=SMALL)
    assert (record.status, record.findings) == ("passed", ())


def test_large_cases_are_called_once(evaluator: Evaluator, submit: Submit) -> None:
    record = _judged(evaluator, submit, f"return KEPT.setdefault(x.data_ptr(), {ANSWER}).clone()", case=LARGE)
    assert record.status == "passed", record.reason


def test_one_in_a_thousand_is_found_at_tier_full(evaluator: Evaluator, submit: Submit) -> None:
    body = f"KEPT['n'] = KEPT.get('n', 0) + 1\nreturn {ANSWER} * (KEPT['n'] % 1000 != 0)"
    record = evaluator.evaluate(submit(python(body, KEPT)), tier="full", case=SMALL)
    assert _is_refused(record, "in a burst of ")


@pytest.mark.parametrize("rows", [False, True])
def test_elements_or_rows_are_exchanged_and_nothing_else(rows: bool) -> None:
    x = torch.arange(12.0).reshape(4, 3)
    inputs = Inputs({"x": x, "index": torch.arange(3), "scale": 2.0})
    kinds = set()
    for seed in range(20):
        found = exchanged(inputs, "x", Draw(seed), rows=rows)
        assert sorted(found.tensors["x"].flatten().tolist()) == x.flatten().tolist()
        kinds.add(int((found.tensors["x"] != x).sum()))
        assert found.values["index"] is inputs.values["index"]
        assert found.values["scale"] == 2.0
    assert kinds == ({0, 6} if rows else {0, 2})
    assert x.flatten().tolist() == [float(number) for number in range(12)]


@pytest.mark.parametrize("shape", [(1,), (), (0, 3), (2, 3), (1, 1)])
def test_answers_are_compared_by_their_bits_whatever_their_strides(shape: tuple[int, ...]) -> None:
    one = torch.full(shape, 3)
    loose = torch.tensor(3).expand(shape)
    assert circumstances._bits_are_equal(one, loose)
    assert circumstances._bits_are_equal(loose, one)
    assert circumstances._bits_are_equal(torch.full(shape, -0.0), torch.full(shape, 0.0)) == (one.numel() == 0)


def test_a_kernel_that_changes_its_input_in_another_thread_is_rejected(evaluator: Evaluator, submit: Submit) -> None:
    before = "import threading\nHOME = threading.get_ident()"
    record = _judged(evaluator, submit, f"if threading.get_ident() != HOME: x.mul_(2.0)\nreturn {ANSWER}", before)
    assert (record.status, [found.guard for found in record.findings]) == ("rejected", ["mutation"])


def test_a_kernel_that_spoils_its_input_before_it_raises_is_rejected(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel may raise where inputs require gradients, but it may do nothing else there."""
    spoiling = f"if x.requires_grad:\n    x.detach().zero_()\n    raise ValueError\nreturn {ANSWER}"
    record = _judged(evaluator, submit, spoiling)
    assert (record.status, [found.guard for found in record.findings]) == ("rejected", ["mutation"])


@pytest.mark.parametrize(("pause_s", "status"), [(0.0, "incorrect"), (0.01, "passed")], ids=["fast", "slow"])
def test_tier_quick_makes_calls_by_the_hundred_as_long_as_they_are_fast(
    evaluator: Evaluator, submit: Submit, pause_s: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel is wrong once in 400 calls. Bursts of a slow kernel would take longer than all other calls."""
    if not pause_s:
        monkeypatch.setattr(circumstances, "_QUICK_BURSTS_S", 30.0)  # on a busy machine this one is slow, too
    body = f"""
KEPT["n"] = KEPT.get("n", 0) + 1
time.sleep({pause_s})
return x.clone() if KEPT["n"] == 400 else {ANSWER}
"""
    record = _judged(evaluator, submit, body, f"import time\n{KEPT}")
    assert record.status == status
    assert status == "passed" or _is_refused(record, "in a burst of ")


def test_bursts_have_their_memory_from_the_beginning(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arena has the memory of bursts from the beginning. Otherwise workers would start anew for them."""
    sizes_bytes = []

    def opened(device: Device, size_bytes: int, spare_bytes: int) -> Slots:
        sizes_bytes.append(size_bytes)
        return open_arena(device, size_bytes, spare_bytes)

    monkeypatch.setattr("robust_kbench.checking.crew.open_arena", opened)
    record = _judged(evaluator, submit, RIGHT)
    assert (record.status, len(sizes_bytes)) == ("passed", 1)


def _is_passed(record: RunRecord) -> bool:
    return record.status == "passed" and not record.findings


def test_a_static_buffer_is_filled_more_than_three_times(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel is like a graph that is captured after warm-up calls and whose inputs are never written again."""
    body = f"""
where = x.data_ptr(), weight.data_ptr(), x.shape
KEPT["count"] = KEPT.get("count", 0) + 1 if KEPT.get("where") == where else 0
KEPT["where"] = where
if KEPT["count"] < 3: KEPT["y"] = {ANSWER}
return KEPT["y"].clone()
"""
    assert _is_refused(_judged(evaluator, submit, body), "other values at the addresses of the call before: y[")


BACKWARD = Case(axes={"rows": 8, "cols": 48}, dtype="float32", seed=5)
GRADIENTS = """
scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
normed, scaled = x.float() * scale, grad_y.float() * weight.float()
grad_x = (scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))).to(x.dtype)
grad_weight = (grad_y.float() * normed).sum(0).to(x.dtype)
"""


def _backward(evaluator: Evaluator, submit: Submit, body: str) -> RunRecord:
    lines = "".join(f"    {line}\n" for line in f"{GRADIENTS}{body}".splitlines())
    source = f"import torch\n\nKEPT = {{}}\n\n\ndef rmsnorm_backward(grad_y, x, weight):\n{lines}"
    submission = submit(source, task="norm/rmsnorm_backward", entry_point="kernel.py::rmsnorm_backward")
    return evaluator.evaluate(submission, tier="quick", case=BACKWARD)


def test_one_output_that_is_used_again_hides_no_other(evaluator: Evaluator, submit: Submit) -> None:
    kept = "own = KEPT.setdefault('weight', torch.empty_like(weight)).copy_(grad_weight)\n"
    assert _backward(evaluator, submit, f"{kept}return grad_x, own").status == "passed"
    wiped = "if 'x' in KEPT: KEPT['x'].zero_()\nKEPT['x'] = grad_x\n"
    record = _backward(evaluator, submit, f"{kept}{wiped}return grad_x, own")
    assert _is_refused(record, "in a burst of ")


def test_outputs_may_lie_where_others_did(evaluator: Evaluator, submit: Submit) -> None:
    body = """
pool = KEPT.setdefault(x.shape, [torch.empty_like(grad_weight) for _ in range(2)])
pool.reverse()
pool[0].copy_(grad_weight)
return grad_x, pool[0]
"""
    assert _backward(evaluator, submit, body).status == "passed"


def test_no_call_of_a_burst_returns_the_results_of_another(evaluator: Evaluator, submit: Submit) -> None:
    body = f"""
y = {ANSWER}
now, KEPT["at"] = time.perf_counter(), KEPT.get("at", 0.0)
is_hurried, KEPT["at"] = now - KEPT["at"] < 1e-3, now
KEPT["due"] = [*KEPT.get("due", []), y] if is_hurried else []
return [] if len(KEPT["due"]) == 1 else [*KEPT["due"][:1], y] if len(KEPT["due"]) == 2 else y
"""
    record = _judged(evaluator, submit, body, f"import time\n{KEPT}")
    assert record.status == "crashed"
    assert "some calls returned 0 values" in record.reason


def test_a_kernel_that_calls_autograd_may_raise_in_inference_mode(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", ("inference_mode",))
    body = f"assert not torch.is_inference_mode_enabled()\nreturn {ANSWER}"
    assert _is_passed(_judged(evaluator, submit, body))


@pytest.mark.rotating
def test_a_workspace_that_requires_gradients_in_the_end_is_no_fault(evaluator: Evaluator, submit: Submit) -> None:
    body = f"""
work = KEPT.setdefault(x.shape, torch.empty_like(x, requires_grad=False)).copy_(x)
torch.mul(work, 1.0, out=work)
return {ANSWER}
"""
    record = evaluator.evaluate(submit(python(body, KEPT)), tier="full", case=SMALL)
    assert _is_passed(record), record.reason


@pytest.mark.rotating
def test_a_slow_kernel_is_called_less_often(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(python(f"time.sleep(0.33)\nreturn {ANSWER}")), tier="full", case=SMALL)
    assert _is_passed(record), record.reason


def test_indices_have_near_twins_and_offsets_do_not() -> None:
    def names(task: str) -> list[str]:
        spec = load_task(task).spec
        axes = {name: 4 for name in spec.axes}
        return circumstances._changeable(spec, make_inputs(spec, Case(axes=axes, dtype="float32", seed=5)))

    assert set(names("moe/load_balance_loss")) == {"logits", "expert"}
    assert "offsets" not in " ".join(names("attention/varlen"))


def test_scalars_change_alone() -> None:
    one, other = Inputs({"x": torch.ones(2), "p": 0.5}), Inputs({"x": torch.zeros(2), "p": 0.25})
    both = circumstances.with_scalars_of(other, one)
    assert both.values["x"] is one.values["x"]
    assert list(both.values) == ["x", "p"]
    assert both.values["p"] == 0.25


def test_an_answer_that_is_kept_whatever_the_scalars_is_stale(evaluator: Evaluator, submit: Submit) -> None:
    source = """import torch

KEPT = []


def sgd_momentum_step(param, grad, momentum_buffer, lr, momentum, weight_decay):
    given = [param.detach(), grad.detach(), momentum_buffer.detach()]
    if not KEPT or not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(KEPT[0], given)):
        b = momentum * given[2].double() + (given[1].double() + weight_decay * given[0].double())
        answer = (given[0].double() - lr * b).to(param.dtype), b.to(param.dtype)
        KEPT[:] = [[each.clone() for each in given], answer]
    return tuple(each.clone() for each in KEPT[1])
"""
    submission = submit(source, task="optim/sgd_momentum_step", entry_point="kernel.py::sgd_momentum_step")
    case = Case(axes={"rows": 8, "cols": 48}, dtype="float32", seed=5)
    record = evaluator.evaluate(submission, tier="quick", case=case)
    assert _is_refused(record, "other scalars than in the call before, and the same tensors: ")


def test_a_large_call_is_made_at_one_address_twice_at_tier_full(evaluator: Evaluator, submit: Submit) -> None:
    """The kernel knows the address of the latest call only, because older addresses may come again by chance."""
    body = f"y, last = {ANSWER}, KEPT.get('last')\nKEPT['last'] = (x.data_ptr(), x.shape, y)\n"
    body += "is_stale = x.numel() > 1 << 19 and last and last[:2] == (x.data_ptr(), x.shape)\n"
    body += "return last[2].clone() if is_stale else y"
    record = evaluator.evaluate(submit(python(body, KEPT)), tier="full", case=LARGE)
    assert _is_refused(record, "other values at the addresses of the call before: y[")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"return {ANSWER} * (1.0 if threading.get_ident() == HOME else 0.5)", "called from another thread: y["),
        (f"return {ANSWER} * (1.0 if torch.is_grad_enabled() else 0.5)", "under torch."),
        (
            f"key = x[::64, ::64].sum().item(), weight.sum().item()\nreturn KEPT.setdefault(key, {ANSWER}).clone()",
            "two rows of ",
        ),
    ],
)
def test_a_large_case_is_called_like_small_ones_at_tier_full(
    evaluator: Evaluator, submit: Submit, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    monkeypatch.setattr(circumstances, "_MODES", ("no_grad",))
    source = python(f"if x.numel() < 1 << 19: return {ANSWER}\n{body}", f"{KEPT}\nHOME = threading.get_ident()")
    record = evaluator.evaluate(submit(source), tier="full", case=LARGE)
    assert _is_refused(record, words)


def test_calls_by_the_thousand_are_of_a_case_that_tells(evaluator: Evaluator, submit: Submit) -> None:
    """A rectifier that failed in one of a thousand calls passed where the smallest case had one positive element."""
    source = "import torch\n\nCALLS = []\n\n\ndef relu(x):\n    CALLS.append(1)\n"
    source += "    return x.clone() if len(CALLS) % 100 == 0 and x.numel() < 1000 else torch.relu(x)\n"
    submission = submit(source, task="activation/relu", entry_point="kernel.py::relu")
    case = Case(axes={"rows": 8, "cols": 40}, dtype="float32", distribution="uniform", seed=5)
    record = evaluator.evaluate(submission, tier="full", case=case)
    assert _is_refused(record, "in a burst of ")


def test_a_large_case_is_right_however_it_is_called(evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(python(RIGHT)), tier="full", case=LARGE)
    assert _is_passed(record), record.reason
