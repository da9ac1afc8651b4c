"""Reports of the emulator's checker on a case, and their effect on the case's result."""

from __future__ import annotations

from collections.abc import Sequence

from robust_kbench.errors import Unsupported
from robust_kbench.schema.defect import UNSUPPORTED, WORK_LIMIT, Defect
from robust_kbench.schema.observation import Observation
from robust_kbench.schema.record import CaseResult


def explained(result: CaseResult, seen: Sequence[Observation]) -> CaseResult:
    """Explain a bad result by undefined behaviour: a wrong answer beside it is no verdict of its own."""
    defects = [defect for observation in seen for defect in observation.defects]
    if result.status == "passed":
        return result
    if (endless := next((defect for defect in defects if defect.kind == WORK_LIMIT), None)) is not None:
        return result.model_copy(update={"status": "timed_out", "reason": str(endless)[:1000]})
    undefined = next((defect for defect in defects if defect.is_undefined_behaviour), None)
    if undefined is None:
        return result
    reason = f"undefined behaviour: {undefined}; what came out was {result.status}"
    return result.model_copy(update={"status": "not_checked", "reason": reason[:1000]})


def raise_unsupported(defects: Sequence[Defect]) -> None:
    """Raise Unsupported if `defects` name something that the emulator cannot run."""
    for defect in defects:
        if defect.kind == UNSUPPORTED:
            at = f" at {defect.place}" if defect.place else ""
            raise Unsupported(f"{defect.message}{at} cannot be emulated; a CUDA device can run it")
