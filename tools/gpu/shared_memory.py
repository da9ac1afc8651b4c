"""Tries on a device what the judge's buffers need: memory handed over as a file descriptor, and results allocated in it.

    python tools/gpu/shared_memory.py

The judge's process allocates, exports and views memory; the worker's imports it, has PyTorch's allocator serve a call's
results from a part of it, and waits for the judge's gate. Prints one line for each finding.
"""

import array
import ctypes
import os
import socket
import statistics
import subprocess
import sys
import time

SIZE = 512 << 20
POOL_OFFSET = 256 << 20
GRANULE = 2 << 20


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Flags(ctypes.Structure):
    _fields_ = [
        ("compression", ctypes.c_ubyte),
        ("rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", Location),
        ("meta", ctypes.c_void_p),
        ("flags", Flags),
    ]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


LIBRARY = None


def call(name, *arguments):
    global LIBRARY
    LIBRARY = LIBRARY or ctypes.CDLL("libcuda.so.1")
    code = getattr(LIBRARY, name)(*arguments)
    if code:
        words = ctypes.c_char_p()
        LIBRARY.cuGetErrorString(code, ctypes.byref(words))
        raise RuntimeError(f"{name}: {words.value}")


def mapped(handle, size):
    address = ctypes.c_uint64()
    call(
        "cuMemAddressReserve",
        ctypes.byref(address),
        ctypes.c_size_t(size),
        ctypes.c_size_t(0),
        ctypes.c_uint64(0),
        ctypes.c_uint64(0),
    )
    call("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
    access = Access(Location(1, 0), 3)
    call("cuMemSetAccess", address, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
    return address.value


def view(address, size):
    import torch

    class Bytes:
        __cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}

    return torch.as_tensor(Bytes(), device="cuda")


def worker(channel):
    import torch

    torch.cuda.init()
    torch.cuda.current_stream().synchronize()
    started = time.perf_counter()
    _, (fd,), _, _ = socket.recv_fds(channel, 16, 1)
    handle = ctypes.c_uint64()
    call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(fd), ctypes.c_int(1))
    base = mapped(handle, SIZE)
    print(f"worker: imported and mapped in {1e3 * (time.perf_counter() - started):.1f} ms", flush=True)
    memory = view(base, SIZE)
    place, served = [base + POOL_OFFSET], []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
    def allocate(size, device, stream):
        address = place[0]
        place[0] += -(-size // GRANULE) * GRANULE
        served.append(size)
        return address if place[0] <= base + SIZE else None

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
    def free(address, size, device, stream):
        pass

    allocator = torch._C._cuda_customAllocator(
        ctypes.cast(allocate, ctypes.c_void_p).value, ctypes.cast(free, ctypes.c_void_p).value
    )
    pool = torch.cuda.MemPool(allocator)
    stream = torch.cuda.Stream()
    side = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    gate, end = base + SIZE - 4096, base + SIZE - 2048
    x = memory[: 64 << 20].view(torch.float32)
    print("worker: view shares memory:", x.data_ptr() == base, flush=True)
    turn = 0
    hosts = []
    while True:
        request = channel.recv(16)
        if not request or request == b"quit":
            break
        turn += 1
        n = int(request)
        began = time.perf_counter()
        call(
            "cuStreamWaitValue32_v2",
            ctypes.c_void_p(stream.cuda_stream),
            ctypes.c_uint64(gate),
            ctypes.c_uint32(turn),
            ctypes.c_uint(0),
        )
        with torch.cuda.use_mem_pool(pool):
            y = torch.nn.functional.rms_norm(x[:n].view(-1, 1024), (1024,)) * 2
            small = y.sum()
        inside = [base <= t.data_ptr() < base + SIZE for t in (y, small)]
        call(
            "cuStreamWriteValue32_v2",
            ctypes.c_void_p(stream.cuda_stream),
            ctypes.c_uint64(end),
            ctypes.c_uint32(turn),
            ctypes.c_uint(0),
        )
        hosts.append(time.perf_counter() - began)
        channel.send(f"{y.data_ptr() - base} {y.numel()} {inside}".encode())
        channel.recv(16)
        torch.cuda.synchronize()
        if turn < 4:
            print(
                f"worker: call {turn}: segments so far {served}, in the pool {inside}, host {1e6 * hosts[-1]:.0f} us",
                flush=True,
            )
        del y, small
    print(f"worker: host of a call {1e6 * statistics.median(hosts):.0f} us", flush=True)
    # Graphs behind the gate, a pool of the submission's own, a thread's allocation.
    with torch.cuda.use_mem_pool(pool):
        z = torch.empty(1 << 20, device="cuda")
    print("worker: an allocation afterwards is in the pool:", base <= z.data_ptr() < base + SIZE, flush=True)
    outside = torch.empty(1 << 20, device="cuda")
    print("worker: one outside of it is not:", not base <= outside.data_ptr() < base + SIZE, flush=True)
    del z, outside, y
    os._exit(0)


def judge():
    import torch

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    print(torch.__version__, torch.version.cuda, torch.cuda.get_device_name(), flush=True)
    started = time.perf_counter()
    properties = Properties(1, 1, Location(1, 0), None, Flags())
    handle = ctypes.c_uint64()
    call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(SIZE), ctypes.byref(properties), ctypes.c_uint64(0))
    fd = ctypes.c_int()
    call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, ctypes.c_int(1), ctypes.c_uint64(0))
    base = mapped(handle, SIZE)
    print(f"judge: created, exported, mapped in {1e3 * (time.perf_counter() - started):.1f} ms", flush=True)
    memory = view(base, SIZE)
    memory.zero_()
    torch.cuda.synchronize()
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    socket.send_fds(ours, [b"memory"], [fd.value])
    gate, end = base + SIZE - 4096, base + SIZE - 2048
    compute, copies = torch.cuda.Stream(), torch.cuda.Stream()
    x = memory[: 64 << 20].view(torch.float32)
    waste = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    word = torch.zeros(1, dtype=torch.int32).pin_memory()
    pieces = torch.zeros(8, 1024, dtype=torch.uint8).pin_memory()
    opened, ended, taken = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    for n in (1 << 20, 1 << 24):
        times, hosts, wrong = [], [], 0
        for turn in range(30):
            ours.send(str(n).encode())
            offset, count, _ = ours.recv(256).decode().split(maxsplit=2)
            offset, count = int(offset), int(count)
            began = time.perf_counter()
            with torch.cuda.stream(compute):
                fresh = torch.randn(n, device="cuda")
                memory[offset : offset + 4 * count].fill_(0xFF)
                x[:n].copy_(fresh)
                waste.fill_(1)
            compute.synchronize()
            number = turn + 1 + (30 if n > 1 << 20 else 0)
            word.fill_(number)
            with torch.cuda.stream(copies):
                memory[SIZE - 1024 : SIZE - 1020].view(torch.int32).copy_(word, non_blocking=True)
                opened.record()
                memory[SIZE - 4096 : SIZE - 4092].view(torch.int32).copy_(word, non_blocking=True)
                call(
                    "cuStreamWaitValue32_v2",
                    ctypes.c_void_p(copies.cuda_stream),
                    ctypes.c_uint64(end),
                    ctypes.c_uint32(number),
                    ctypes.c_uint(0),
                )
                ended.record()
                for piece in range(8):
                    at = offset + 4096 * piece
                    pieces[piece].copy_(memory[at : at + 1024], non_blocking=True)
                taken.record()
            while not taken.query():
                if time.perf_counter() - began > 5:
                    print("judge: no end", flush=True)
                    os._exit(1)
            with torch.cuda.stream(compute):
                kept = memory[offset : offset + 4 * count].clone()
            compute.synchronize()
            hosts.append(time.perf_counter() - began)
            answer = kept.view(torch.float32)
            right = torch.nn.functional.rms_norm(fresh.view(-1, 1024), (1024,)) * 2
            wrong += not torch.allclose(answer, right.reshape(-1), atol=1e-4)
            times.append(1e3 * opened.elapsed_time(ended))
            ours.send(b"go on")
        print(
            f"judge: {n} elements: clock {statistics.median(times):.1f} us {[round(t, 1) for t in times[:5]]}, host {1e3 * statistics.median(hosts):.2f} ms, wrong {wrong} of 30",
            flush=True,
        )
    ours.send(b"quit")
    print("exit code of the worker", process.wait(30))


if len(sys.argv) > 1:
    worker(socket.socket(fileno=int(sys.argv[1])))
else:
    judge()
