"""Wrong answers are incorrect, and right ones that cost something else are rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from kernels import ANSWER, CPP_ANSWER, SEED, ZEROS, check_that_a_good_one_passes, native, python

from robust_kbench.evaluate import Evaluator

if TYPE_CHECKING:
    from conftest import Submit


@pytest.fixture(autouse=True)
def next_one(evaluator: Evaluator, submit: Submit) -> Iterator[None]:
    """After every test of this file, a good submission still passes."""
    yield
    check_that_a_good_one_passes(evaluator, submit)


LAZY = """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        return super().__torch_function__(function, types, arguments, keywords or {})
"""
LATER = """
y = torch.frombuffer(mmap.mmap(-1, x.numel() * 4), dtype=torch.float32).reshape(x.shape)
def later():
    time.sleep(0.05)
    y.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
"""
PLAIN = "expected a plain torch.Tensor"
WRONG = [
    pytest.param("return x[:, :1] * 0", "y: returned shape [", "; expected [", id="shape"),
    pytest.param("return torch.zeros_like(x[:1])", "y: returned shape [1, ", "; expected [", id="broadcastable row"),
    pytest.param("return torch.zeros(())", "y: returned shape []; expected [", "", id="broadcastable scalar"),
    pytest.param("return x.double()", "y: returned float64; expected float32", "", id="dtype"),
    pytest.param("return x.to('meta')", "y: returned a tensor on 'meta'; expected one on 'cpu'", "", id="device"),
    pytest.param("return x.to_sparse()", "y: returned a tensor without strided memory", "", id="sparse"),
    pytest.param("return None", "y: returned a NoneType", PLAIN, id="nothing"),
    pytest.param("return 3", "y: returned a int", PLAIN, id="number"),
    pytest.param("return x.numpy()", "y: returned a ndarray", PLAIN, id="array"),
    pytest.param(f"return torch.nn.Parameter({ANSWER})", "y: returned a Parameter", PLAIN, id="parameter"),
    pytest.param("yield x", "y: returned a generator", PLAIN, id="generator"),
    pytest.param("return [x, x]", "returned 2 values, expected 1: y", "", id="too many"),
    pytest.param("return ()", "returned 0 values, expected 1: y", "", id="too few"),
    pytest.param("return x", "y[", " wrong, ", id="identity"),
    pytest.param(ZEROS, "got 0, expected", "", id="zeros"),
    pytest.param("return torch.full_like(x, torch.nan)", "got nan, expected", "NaN or infinite", id="nan"),
    pytest.param("return torch.full_like(x, torch.inf)", "got inf, expected", "NaN or infinite", id="inf"),
    pytest.param(f"return ({ANSWER})[:1].expand(x.shape)", "y[", "wrong", id="expanded row"),
    pytest.param("return torch.ones(1, 1).expand(x.shape)", "got 1, expected", "", id="expanded number"),
    pytest.param(f"{LATER}threading.Thread(target=later).start()\nreturn y", "got 0", "", id="filled by a thread"),
    pytest.param(f"{LATER}if os.fork() == 0: later(); os._exit(0)\nreturn y", "got 0", "", id="filled by a child"),
]


@pytest.mark.parametrize(("body", "reason", "more"), WRONG)
def test_a_wrong_answer_is_reported_as_incorrect(
    body: str, reason: str, more: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(python(body)), tier="quick", seed=SEED)
    assert record.status == "incorrect"
    assert reason in record.reason
    assert more in record.reason


def test_a_right_answer_in_a_tensor_subclass_is_refused(evaluator: Evaluator, submit: Submit) -> None:
    source = python(f"return ({ANSWER}).as_subclass(Lazy)", LAZY)
    record = evaluator.evaluate(submit(source), tier="quick", seed=SEED)
    assert (record.status, record.reason) == ("incorrect", f"y: returned a Lazy; {PLAIN}")


@pytest.mark.parametrize(
    ("source", "language", "abi"),
    [
        pytest.param(python("pass", parameters="x, weight, y"), "python", "destination", id="python"),
        pytest.param(python("y = x", parameters="x, weight, y"), "python", "destination", id="python, name bound anew"),
        pytest.param(python(f"y.set_({ANSWER})", parameters="x, weight, y"), "python", "destination", id="new storage"),
        pytest.param(native(""), "cpp", "c", id="cpp"),
    ],
)
def test_an_output_that_is_never_written_is_incorrect(
    source: str, language: str, abi: str, evaluator: Evaluator, submit: Submit
) -> None:
    record = evaluator.evaluate(submit(source, language=language, abi=abi), tier="quick", seed=SEED)
    assert record.status == "incorrect"
    assert "y[0, 0]: got nan (never written), expected" in record.reason


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"y = {ANSWER}\nx.zero_()\nreturn y", id="x"),
        pytest.param(f"x.copy_({ANSWER})\nreturn x", id="x, returned"),
        pytest.param(f"y = {ANSWER}\nweight.add_(1)\nreturn y", id="weight"),
    ],
)
def test_a_right_answer_that_costs_an_input_is_rejected(body: str, evaluator: Evaluator, submit: Submit) -> None:
    record = evaluator.evaluate(submit(python(body)), tier="quick", seed=SEED, case=0)
    name = "weight" if "weight.add_" in body else "x"
    assert (record.status, record.cases[0].status) == ("rejected", "passed")
    assert record.reason == f"mutation: the call changed its input {name}; copy it before working in place"


@pytest.mark.parametrize(
    ("write", "where"),
    [
        pytest.param("y[rows * cols] = 1.0f;", "1 bytes behind the end of y", id="behind the output"),
        pytest.param("y[-1] = 1.0f;", "1 bytes before the start of y", id="before the output"),
        pytest.param("y[rows * cols + 999] = 1.0f;", "3997 bytes behind the end of y", id="at the end of the zone"),
        pytest.param("const_cast<float*>(x)[-1] = 1.0f;", "1 bytes before the start of x", id="before an input"),
    ],
)
def test_a_write_outside_a_tensor_is_rejected(write: str, where: str, evaluator: Evaluator, submit: Submit) -> None:
    source = native(CPP_ANSWER + write)
    record = evaluator.evaluate(submit(source, language="cpp", abi="c"), tier="quick", seed=SEED, case=0)
    assert (record.status, record.cases[0].status) == ("rejected", "passed")
    assert record.reason == f"bounds: the call wrote {where}; check the bounds of the last block"
