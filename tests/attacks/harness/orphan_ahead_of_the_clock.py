"""Leaves an orphan, which nobody stops with the worker, to compute as soon as the inputs have arrived, and waits for it
before the clock starts.

catalogue: [H23, T16, T30]
aim: time
stopped_by: [clocks, circumstances, pages]
twin: plain
"""

import json
import mmap
import os
import sys
import time

import torch

from robust_kbench.worker import arguments, devices, session, wire

shared = mmap.mmap(-1, 64 << 20)
told = memoryview(mmap.mmap(-1, 4096)).cast("d")
ANSWERED, WOKEN, SECONDS = range(3)  # places of it: numbers of calls, and how long the latest answer took
orders, into = os.pipe()
make, wait, calls = devices.CpuCall.__init__, session._Session._wait, 0


def result_like(x):
    return torch.frombuffer(shared, dtype=torch.float32)[: x.numel()].view(x.shape)


def serve(arena):
    while order := os.read(orders, 65536):
        number, inputs = json.loads(order)
        x, weight = map(arena.tensor, inputs)
        before = weight[-1:].view(torch.int32).clone()
        while told[WOKEN] < number and torch.equal(weight[-1:].view(torch.int32), before):
            time.sleep(0.0001)
        time.sleep(0.0002)  # the weight is written last; this is for the rest of it
        started = time.perf_counter()
        result_like(x).copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6))
        told[SECONDS] = time.perf_counter() - started
        told[ANSWERED] = number


def start(arena):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            serve(arena)
        os._exit(0)
    os.waitpid(child, 0)


def prepare(call, abi, arena, request):
    global calls
    make(call, abi, arena, request)
    if calls == 0:
        start(arena)
    calls += 1
    call.number = calls
    os.write(into, json.dumps([calls, request["inputs"]]).encode())


def wait_for_the_orphan(self, word, nonce):
    wait(self, word, nonce)
    call = sys._getframe(1).f_locals["call"]
    if word in (wire.WAKE, wire.GO) and told[WOKEN] < call.number:
        told[WOKEN] = call.number
        while told[ANSWERED] < call.number:
            time.sleep(0.00002)


def run(call, kernel):
    call._result = result_like(call._arguments[0])
    until = time.perf_counter() + told[SECONDS] / 4  # so that no floor is broken
    while kernel is rmsnorm and time.perf_counter() < until:
        pass
    return {"outcome": "returned", "outputs": arguments.describe(call._result)}


devices.CpuCall.__init__, devices.CpuCall.run = prepare, run
session._Session._wait = wait_for_the_orphan


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
