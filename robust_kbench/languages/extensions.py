"""Torch extensions: compiled with the few of torch's headers that most need, and with all of them where that fails.

nvcc reads torch/extension.h three times, which takes a minute. The headers in torch_include/ stand in for torch's own:
they declare tensors, their methods and AT_DISPATCH, and come first where a compiler looks for headers. Free functions
(at::softmax) have a small header each in ATen/ops, which is included when a source names the function. What the few
headers lack is an error of the compiler's; what would mean something else with them is told by name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from robust_kbench.emulator import torch_headers
from robust_kbench.errors import BuildError

INCLUDE = Path(__file__).parent / "torch_include"
OPERATORS = "kbench_operators.h"

Attempt = Callable[[Sequence[str], int], str]
"""Runs the compiler with more options than its own, for so many seconds; returns the log or raises BuildError."""

# The first line is what the few headers lack for sure, which saves the attempt. The others would compile and mean
# something else: functions of namespace torch track gradients and make tensors of the default dtype, those of namespace
# at do not; and fewer headers define fewer macros for a source to ask for.
_WHOLE = re.compile(
    r"\btorch\s*::\s*(?:autograd|data|fft|jit|linalg|nested|nn|optim|python|serialize|sparse|special)\b|\bTORCH_LIBRARY"
    r"|\brequires_grad|(?<![\w.>])(?:tensor|from_blob)\s*\("
    r"|^[ \t]*#[ \t]*(?:if|elif)[^\n]*\b(?:(?:AT|CAFFE2?|C10)_|TORCH_(?!VERSION|EXTENSION))",
    re.MULTILINE,
)
_INDEXING = re.compile(r"\bindexing\b|\bTensorIndex\b|\bindex(?:_put_)?\s*\(\s*\{")


def compile_extension(sources: Mapping[str, str], folder: Path, attempt: Attempt, *, timeout_s: int) -> str:
    """Have the compiler try the few headers and, if that fails, all; returns the log of the last attempt.

    A header that is made for the sources is written into `folder`. Raises the BuildError of the last attempt. One that
    takes half of the time until it fails is the last: for want of a declaration it would have failed sooner.
    """
    text = "\n".join(sources.values())
    if needs_whole(text):
        return attempt([], timeout_s)
    started = time.monotonic()
    try:
        return attempt(few_headers(text, folder), timeout_s)
    except BuildError:
        taken = time.monotonic() - started
        if taken >= timeout_s / 2:
            raise
    # Outside of the handler, lest the first failure be shown with the second.
    return attempt([], timeout_s - int(taken))


def needs_whole(source: str) -> bool:
    """Tell if the source names something that only torch's own headers have, or that means something else there."""
    return _WHOLE.search(source) is not None


def few_headers(source: str, folder: Path) -> list[str]:
    """Options for the compiler that come before those that name torch's folders."""
    names = torch_headers.called_operators(source)
    headers = [f"ATen/ops/{name}.h" for name in names]
    if "cat" in names:  # the only one whose header leaves out the type of its argument
        headers.append("ATen/core/IListRef.h")
    if _INDEXING.search(source):
        headers.append("ATen/TensorIndexing.h")
    made = folder / "operators"
    made.mkdir(exist_ok=True)
    (made / OPERATORS).write_text("".join(f"#include <{header}>\n" for header in headers))
    # As folders of the system, lest anybody sees warnings about headers that no submission wrote.
    return ["-DAT_PER_OPERATOR_HEADERS", "-isystem", str(INCLUDE), "-isystem", str(made)]
