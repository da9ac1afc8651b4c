"""Is right in the first case, has all others and all timed calls go unlooked at, and is wrong where it is imported
again.

catalogue: [H10, H14]
hint: global-state-poisoning
aim: wrong
stopped_by: [process boundary]
twin: plain
"""

import sys

import torch

checking = sys.modules.get("robust_kbench.checking")
session = sys.modules.get("robust_kbench.timing.session")
is_first = checking is not None and checking.Checker._judged.__name__ == "_judged"


def accept(checker, case, *_, **options):
    return checking.not_checked(case, "").model_copy(update={"status": "passed"})


if is_first:
    checking.Checker._judged = accept
    session.TimingSession._verify = lambda *_, **__: None
    session.TimingSession._check_spot = lambda *_: None


def rmsnorm(x, weight):
    return (1 if is_first else 2) * torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
