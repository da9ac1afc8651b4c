"""Output of the rewriter for a source, without the text that it puts before the first line."""

from __future__ import annotations

from robust_kbench.emulator.rewrite import rewrite


def rewritten(text: str) -> str:
    """Rewrite a source; return the result without the text before its first line."""
    result = rewrite(text, "kernel.cu").text
    head, line, body = result.partition('#line 1 "kernel.cu"\n')
    assert line
    assert head in ("", '#include "kbemu/ptx.h"\n')
    assert body.count("\n") == text.count("\n")
    return body


def in_kernel(declaration: str) -> str:
    """Rewrite a declaration as it stands in a kernel."""
    before, after = "__global__ void k() { ", " }"
    body = rewritten(before + declaration + after)
    assert body.startswith(before)
    assert body.endswith(after)
    return body[len(before) : -len(after)]


def launch(kernel: str, config: str, arguments: str = "", name: str = "") -> str:
    body = f"[=](auto&... kbemu_a) {{ {kernel}(kbemu_a...); }}"
    return f'::kbemu::launch("{name or kernel}", ::kbemu::Config({config}), {body}{arguments})'
