"""Features that the emulator lacks: the first use of one ends as `unsupported`, with its place.

The tables are to be shortened as the emulator grows. A mention in a comment, in a string, as a member or in code that
is certainly not compiled does not count as a use.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from pathlib import Path

from robust_kbench.emulator import launches, scopes
from robust_kbench.emulator.source import Source, unsupported
from robust_kbench.emulator.stream import Stream
from robust_kbench.emulator.tokens import Kind

_INCLUDE = Path(__file__).parent / "include"
# Headers, by how their path begins.
HEADERS = {
    "cutlass/": "CUTLASS",
    "cute/": "CuTe",
    "kittens": "ThunderKittens",
    "thunderkittens": "ThunderKittens",
    "cudnn": "cuDNN",
    "cublasLt": "cuBLASLt",
    "cufft": "cuFFT",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "cutensor": "cuTENSOR",
    "nccl": "NCCL",
    "nvshmem": "NVSHMEM",
    "nvrtc": "NVRTC",
    "nvml": "NVML",
    "thrust/": "Thrust",
    "cuda/std/": "libcu++",
    "cuda/ptx": "cuda::ptx",
    "cuda/cmath": "libcu++",
    "cuda/functional": "libcu++",
    "cuda/stream": "libcu++",
    "cuda_texture_types.h": "a texture",
    "texture_": "a texture",
    "surface_": "a surface",
    "cudaGL": "OpenGL interoperation",
    "cuda_gl_interop": "OpenGL interoperation",
}
# Qualified names, by the namespaces they begin with.
NAMESPACES = {
    ("cutlass",): "CUTLASS",
    ("cute",): "CuTe",
    ("kittens",): "ThunderKittens",
    ("thrust",): "Thrust",
    ("nvshmem",): "NVSHMEM",
}
# Names, whole. `{}` is the name that was found.
NAMES = {
    r"tex(1D|2D|3D|Cubemap)(fetch|Layered|Lod|Grad|gather|LayeredLod|LayeredGrad)?|tex1Dfetch": "the texture fetch {}",
    r"cudaTextureObject_t|cudaCreateTextureObject|cudaBindTexture\w*|cudaTextureDesc": "a texture ({})",
    r"surf(1D|2D|3D|Cubemap)(Layered)?(read|write)": "the surface access {}",
    r"cudaSurfaceObject_t|cudaCreateSurfaceObject": "a surface ({})",
    r"__cluster_dims__|cluster_group|this_cluster|cudaLaunchAttributeClusterDimension|__cluster_\w+": (
        "a cluster of blocks ({})"
    ),
    r"cudaGraph(?!ics)[A-Z_]\w*|cudaGraph_t|cudaStream(Begin|End)Capture\w*": "a CUDA graph ({})",
    r"cudaIpc[A-Z]\w*": "sharing memory between processes ({})",
    r"cudaMemcpyPeer(Async)?|cudaDeviceEnablePeerAccess": "a second device ({})",
    r"nvrtc[A-Z]\w*": "compiling at run time ({})",
    r"cu(Module|Library|Kernel|Launch|Link|Ctx|Func|TexRef|Graph)[A-Z]\w*": "the driver API ({})",
    r"cuTensorMapEncode\w+|CUtensorMap": "the tensor memory accelerator ({})",
    r"cudnn[A-Z]\w*": "cuDNN ({})",
    r"cublasLt[A-Z]\w*": "cuBLASLt ({})",
    r"cufft[A-Z]\w*": "cuFFT ({})",
    r"cusparse[A-Z]\w*": "cuSPARSE ({})",
    r"cusolver[^\WA-Z]*[A-Z]\w*": "cuSOLVER ({})",
    r"nccl[A-Z]\w*": "NCCL ({})",
}
_NAMES = {re.compile(pattern): feature for pattern, feature in NAMES.items()}
_FIRST = frozenset(path[0] for path in NAMESPACES)
# A header of CUDA's own, of which there are more than those above.
_TOOLKIT = re.compile(r"(cuda|cub/|cu(blas|rand)|cooperative_groups|nv|npp|sm_\d|device_|math_)[\w/.]*")
# What stands before a name that is being declared.
_DECLARING = frozenset(
    [
        "struct", "class", "enum", "union", "auto", "void", "bool", "int", "unsigned", "float", "double", "half",
        "float2", "float4",
    ]
)  # fmt: skip

Use = tuple[int, str]  # line and feature


def check(source: Source, files: Collection[str] = ()) -> None:
    """Raise Unsupported for the first feature in the file that cannot be emulated.

    `files` are the submission's own, which may have the names of CUDA's headers.
    """
    own = _declared(source)
    uses = [*_headers(source, files), *_dynamic_parallelism(source)]
    for stream in source.streams:
        uses += [(line, feature) for line, name, feature in _names(stream) if name not in own]
    if uses:
        line, feature = min(uses)
        raise unsupported(feature, source.name, line)


def _headers(source: Source, files: Collection[str]) -> Iterator[Use]:
    for token in source.includes:
        path = token.text.strip('<>"')
        if path in files or (_INCLUDE / path).exists():
            continue
        library = next((library for start, library in HEADERS.items() if path.startswith(start)), None)
        if library is not None:
            yield token.line, f"{library} ({path})"
        elif token.text.startswith("<") and _TOOLKIT.fullmatch(path):
            yield token.line, f"the header {path}"


def _names(stream: Stream) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and feature of every use."""
    for index, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME or stream.text(index - 1) in (".", "->"):
            continue
        if (feature := _feature(token.text)) is not None:
            yield token.line, token.text, feature.format(token.text)
        if token.text in _FIRST and (library := _namespace(stream, index)) is not None:
            yield token.line, token.text, library


def _namespace(stream: Stream, index: int) -> str | None:
    """Return the library whose namespace is named as in `cute::x`, `using namespace cute;` or `namespace c = cute;`."""
    for path, library in NAMESPACES.items():
        end = index + 2 * len(path) - 1
        words = [stream.text(at) for at in range(index, end)]
        named = stream.text(end) == "::" or stream.text(index - 1) in ("namespace", "=")
        if "".join(words) == "::".join(path) and named and stream.text(end) != "{":
            return f"{library} ({'::'.join(path)})"
    return None


def _declared(source: Source) -> set[str]:
    """Return the names that the submission gives to something of its own."""
    names: set[str] = set()
    for stream in source.streams:
        for index in range(1, len(stream)):
            before, behind = stream.text(index - 1), stream.text(index + 1)
            declared = before in _DECLARING or (before == "namespace" and behind == "{")
            if declared and not stream.text(index).startswith("__"):  # `void __cluster_dims__(2) kernel()`
                names.add(stream.text(index))
    return names


@functools.lru_cache(maxsize=10_000)
def _feature(name: str) -> str | None:
    return next((feature for pattern, feature in _NAMES.items() if pattern.fullmatch(name)), None)


def _dynamic_parallelism(source: Source) -> Iterator[Use]:
    """Yield launches inside of functions that can only run on the device."""
    for stream in source.streams:
        functions = scopes.find(stream).functions  # in order, and never one within another
        for launch in launches.find(stream):
            number = bisect_left(functions, launch.opening, key=lambda function: function.opening) - 1
            if number >= 0 and launch.opening < functions[number].closing and _is_device_only(functions[number]):
                yield stream.line(launch.opening), "a launch by a kernel"


def _is_device_only(function: scopes.Function) -> bool:
    return "__host__" not in function.words and not function.words.isdisjoint(("__global__", "__device__"))
