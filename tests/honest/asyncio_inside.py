"""Cuts the work into coroutines that give way to each other, and runs all of them to their ends before it returns.

looks_like: [T03, T05]
"""

import asyncio

import torch


async def norm(part, weight):
    await asyncio.sleep(0)
    return torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6)


def finish(coroutines):
    """What each returns; they take turns. An event loop of asyncio's would open sockets."""
    waiting, results = dict(enumerate(coroutines)), {}
    while waiting:
        for number, coroutine in list(waiting.items()):
            try:
                coroutine.send(None)
            except StopIteration as end:
                results[number] = end.value
                del waiting[number]
    return [results[number] for number in sorted(results)]


def rmsnorm(x, weight):
    half = x.shape[0] // 2
    return torch.cat(finish([norm(x[:half], weight), norm(x[half:], weight)]))
