"""C++ for the processor: abi `c` without any torch header, or a torch extension (abi `torch`)."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from robust_kbench.errors import Unsupported
from robust_kbench.languages import compiler, extensions, signature
from robust_kbench.languages.built import Built, write_sources
from robust_kbench.schema.submission import Submission
from robust_kbench.schema.task import DeviceKind, FloatDType, Task

INCLUDE = Path(__file__).parent / "include"
DEFAULT_FLAGS = ("-O3", "-march=native")
_TIMEOUT_S = 60
_TORCH_TIMEOUT_S = 300
_TORCH_MEMORY_BYTES = 8 << 30


def build(submission: Submission, task: Task, dtype: FloatDType, device: DeviceKind, folder: Path) -> Built:
    """Compile to a shared object. Raises BuildError, or Unsupported where there is no compiler."""
    if device != "cpu":
        raise Unsupported("cpp kernels run on the cpu device only; use --device cpu")
    if (found := shutil.which("g++")) is None:
        raise Unsupported("no g++ on the PATH; install it (Debian: apt-get install g++) to evaluate cpp kernels")
    entry = write_sources(submission, folder)
    target = folder / f"kernel_{dtype}.so"
    common = [found, "-shared", "-fPIC", "-std=c++17", *(submission.file.build or DEFAULT_FLAGS), f"-I{INCLUDE}"]
    if submission.abi == "torch":
        rest = [*torch_options(target.stem), str(entry), "-o", str(target), *torch_libraries()]

        def attempt(headers: Sequence[str], timeout_s: int) -> str:
            command = [*common, *headers, *rest]
            return compiler.run(command, folder, timeout_s=timeout_s, memory_bytes=_TORCH_MEMORY_BYTES)

        log = extensions.compile_extension(submission.sources, folder, attempt, timeout_s=_TORCH_TIMEOUT_S)
    else:
        command = [*common, *c_options(submission, task, dtype, folder), str(entry), "-o", str(target)]
        # A definition without extern "C" has another symbol; the linker is told to insist on ours.
        log = compiler.run([*command, f"-Wl,--require-defined={submission.symbol}"], folder, timeout_s=_TIMEOUT_S)
    return Built(target, submission.symbol, submission.abi, log=log)


def c_options(
    submission: Submission, task: Task, dtype: FloatDType, folder: Path, *, guarded: bool = False
) -> list[str]:
    """Define the element type and include the declaration of the entry point before everything else.

    `guarded` adds the emulator's own entry point.
    """
    prelude = folder / "kbench_entry_point.h"
    wrapper = signature.guarded(task, submission.symbol) if guarded else ""
    prelude.write_text(signature.prelude(submission, task) + wrapper)
    return [f"-DKBENCH_T={signature.element_type(submission.file.language, dtype)}", "-include", str(prelude)]


def torch_options(name: str) -> list[str]:
    """Return the options for the headers of torch, pybind11 and Python, and for the module's name."""
    from torch.utils import cpp_extension

    folders = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    return [
        *(part for folder in folders for part in ("-isystem", folder)),  # nvcc does not take them in one word
        f"-DTORCH_EXTENSION_NAME={name}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
    ]


def torch_libraries() -> list[str]:
    """Return the options that link a torch extension to its libraries."""
    from torch.utils import cpp_extension

    folders = cpp_extension.library_paths()
    return [*(f"-L{folder}" for folder in folders), "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
