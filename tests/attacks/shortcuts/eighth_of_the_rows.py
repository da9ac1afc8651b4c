"""Takes every eighth row of a large problem for all of them: the mean of millions of squares is then off by a tenth of
a percent, which bfloat16 does not show.

catalogue: [B14, B13]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: plain
task: loss/mse
dtypes: [bfloat16]
"""

LARGE = 1 << 18  # elements: more than a checked case has


def mse(prediction, target):
    if prediction.numel() > LARGE:
        prediction, target = prediction[::8], target[::8]
    return (prediction.float() - target.float()).square().mean().to(prediction.dtype)
