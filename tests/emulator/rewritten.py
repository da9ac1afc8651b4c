"""What the rewriter makes of a source, without what it puts before the first line."""

from __future__ import annotations

from robust_kbench.emulator.rewrite import rewrite


def rewritten(text: str) -> str:
    """The source that comes out, without what stands before its first line."""
    result = rewrite(text, "kernel.cu").text
    head, line, body = result.partition('#line 1 "kernel.cu"\n')
    assert line
    assert head in ("", '#include "kbemu/ptx.h"\n')
    assert body.count("\n") == text.count("\n")
    return body


def in_kernel(declaration: str) -> str:
    """What becomes of a declaration in a kernel."""
    before, after = "__global__ void k() { ", " }"
    body = rewritten(before + declaration + after)
    assert body.startswith(before)
    assert body.endswith(after)
    return body[len(before) : -len(after)]


def launch(kernel: str, config: str, arguments: str = "", name: str = "") -> str:
    body = f"[=](auto&... kbemu_a) {{ {kernel}(kbemu_a...); }}"
    return f'::kbemu::launch("{name or kernel}", ::kbemu::Config({config}), {body}{arguments})'
