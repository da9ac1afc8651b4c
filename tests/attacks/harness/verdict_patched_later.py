"""Is right for ten calls, then has every verdict of the judge turned into a pass, and is wrong from there on.

catalogue: [H14, O19]
hint: global-state-poisoning
aim: wrong
stopped_by: [process boundary]
twin: plain
"""

import sys

import torch

calls, last, factor = 0, None, 1


def patch():
    verdict = sys.modules.get("robust_kbench.oracle.verdict")
    if verdict is None:
        return
    judge = verdict.Judge.verdict

    def lenient(self, seen, inputs, **options):
        told = judge(self, seen, inputs, **options)
        return verdict.Verdict(told.result.model_copy(update={"status": "passed", "reason": ""}), told.limits)

    verdict.Judge.verdict = lenient


def rmsnorm(x, weight):
    global calls, last, factor
    calls += 1
    if calls > 10 and factor == 1 and x.shape != last:  # not between two calls that are compared with each other
        patch()
        factor = 2
    last = x.shape
    return factor * torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
