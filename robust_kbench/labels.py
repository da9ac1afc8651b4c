"""What a submission's source looks like it does, for people who read a leaderboard. Never a reason to refuse it.

Names are looked for in the text, so that a label says that a word is there and nothing more: whoever hides a word has
no label, and whoever mentions one without need has. Integrity is decided by behaviour alone (see guards).
"""

from __future__ import annotations

import ast
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
        r"^\s*(static|thread_local)\s+(?!(?:inline|constexpr|const|__)\b)[^()]*[;={]", re.MULTILINE
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
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def labels_of(submission: Submission) -> tuple[str, ...]:
    """Every label that some source of it earns, in alphabetical order."""
    found: set[str] = set()
    for name, text in submission.sources.items():
        found |= set(_of_python(text) if name.endswith(".py") else _of_native(text))
    return tuple(sorted(found))


def _of_python(text: str) -> Iterable[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    words = {word for node in ast.walk(tree) for word in _words(node)}
    return [label for label, names in _PYTHON.items() if names & words]


def _words(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,)
        case ast.Import(names=names):
            return [part for alias in names for part in alias.name.split(".")]
        case ast.ImportFrom(module=module, names=names):
            return [*(module or "").split("."), *(alias.name for alias in names)]
        case ast.Global():
            return ("global",)
        case ast.Nonlocal():
            return ("nonlocal",)
    return ()


def _of_native(text: str) -> Iterable[str]:
    code = _COMMENT.sub(" ", text)
    return [label for label, pattern in _NATIVE.items() if pattern.search(code)]
