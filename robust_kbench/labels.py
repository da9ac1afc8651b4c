"""Labels for readers of a leaderboard, from words in a submission's source. They are never a reason to refuse it.

Names are looked for in the text, so a label says that a word is there and nothing more. Hiding a word avoids its label,
and mentioning a word without need earns it. Integrity is decided by behaviour alone (see guards).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from robust_kbench.schema.submission import Submission

_PYTHON: Mapping[str, frozenset[str]] = {
    "calls a library": frozenset(
        {
            "functional", "matmul", "mm", "bmm", "addmm", "einsum", "linear", "softmax", "log_softmax", "layer_norm",
            "rms_norm", "group_norm", "conv1d", "conv2d", "conv3d", "scaled_dot_product_attention", "cross_entropy",
            "topk", "sort", "cumsum", "logsumexp", "special", "fft", "linalg",
        }
    ),
    "compiles at run time": frozenset({"exec", "eval", "compile", "load_inline", "NVRTC", "CDLL", "dlopen"}),
    "keeps state": frozenset({"global", "lru_cache", "cache", "nonlocal"}),
    "reads a clock": frozenset({"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time_ns", "Event"}),
    "reads files": frozenset({"open", "read_text", "read_bytes", "listdir", "mmap"}),
    "uses graphs": frozenset({"CUDAGraph", "make_graphed_callables"}),
    "uses lower precision": frozenset({"half", "bfloat16", "float16", "allow_tf32", "float8_e4m3fn", "autocast"}),
    "uses processes": frozenset({"fork", "subprocess", "multiprocessing", "Popen", "posix_spawn"}),
    "uses random numbers": frozenset({"rand", "randn", "randint", "manual_seed", "random", "urandom"}),
    "uses streams": frozenset({"Stream", "stream", "current_stream", "wait_stream"}),
    "uses threads": frozenset({"threading", "Thread", "ThreadPoolExecutor", "set_num_threads"}),
}  # fmt: skip
_NATIVE: Mapping[str, re.Pattern[str]] = {
    "calls a library": re.compile(r"\b(cublas|cudnn|cutlass|cub::|thrust::|mkl_|cblas_|at::|torch::nn)\w*"),
    "compiles at run time": re.compile(r"\b(dlopen|dlsym|nvrtc\w*|cuModuleLoad\w*|PyRun_\w+)\b"),
    "inline assembly": re.compile(r"\b(asm|__asm__)\b"),
    "keeps state": re.compile(
        r"^[ \t]{0,80}(?:static|thread_local)[ \t]{1,80}(?!inline\b|constexpr\b|const\b|__)[^()\n;={]{1,200}[;={]",
        re.MULTILINE,
    ),
    "reads a clock": re.compile(r"\b(clock64|clock_gettime|__rdtsc|globaltimer|chrono::|cudaEventElapsedTime)\b"),
    "reads files": re.compile(r"\b(fopen|ifstream|openat|mmap)\b"),
    "uses atomics": re.compile(r"\b(atomic\w*|std::atomic|red\.\w+)\b"),
    "uses graphs": re.compile(r"\b(cudaGraph\w+|cudaStreamBeginCapture)\b"),
    "uses lower precision": re.compile(r"\b(__half2?|__nv_bfloat162?|_Float16|wmma::|tf32|e4m3)\b"),
    "uses processes": re.compile(r"\b(fork|vfork|posix_spawn\w*|system|execv\w*)\s*\("),
    "uses streams": re.compile(r"\b(cudaStreamCreate\w*|getStreamFromPool)\b"),
    "uses threads": re.compile(r"\b(std::thread|std::async|pthread_create|omp parallel)\b"),
}
_IMPORTED = re.compile(r"^[ \t]{0,80}(?:import|from)[ \t]([^\n]{1,400})", re.MULTILINE)
_USED = re.compile(r"\.([A-Za-z_]\w*)|\b([A-Za-z_]\w*) ?\(|\b(global|nonlocal) ")
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 1 << 18
"""Limit on the characters of all sources together, which are hostile.

Nothing here may take longer than a number of passes over the text. No parser of Python's own is let near the sources in
this process.
"""


def labels_of(submission: Submission) -> tuple[str, ...]:
    """Return every label that the beginning of the sources earns, in alphabetical order."""
    found: set[str] = set()
    left = _MOST_CHARACTERS
    for name, text in submission.sources.items():
        part = text[:left]
        left -= len(part)
        found |= set(_of_python(part) if name.endswith(".py") else _of_native(part))
    return tuple(sorted(found))


def _of_python(text: str) -> Iterable[str]:
    code = re.sub(r"#[^\n]*", "", text)
    words = {word for match in _USED.finditer(code) for word in match.groups() if word}
    words |= {word for match in _IMPORTED.finditer(code) for word in _WORD.findall(match[1])}
    return [label for label, names in _PYTHON.items() if names & words]


def _of_native(text: str) -> Iterable[str]:
    code = _without_blocks(re.sub(r"//[^\n]*", "", text))
    return [label for label, pattern in _NATIVE.items() if pattern.search(code)]


def _without_blocks(text: str) -> str:
    """Return `text` without comments of the form that may span lines. One that is never closed reaches to the end."""
    kept, position = [], 0
    while (start := text.find("/*", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("*/", start + 2)
        if end < 0:
            return " ".join(kept)
        position = end + 2
    return " ".join([*kept, text[position:]])
