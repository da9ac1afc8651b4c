"""Work that the warm process has done already, and that no worker has to do again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys
from robust_kbench.worker.__main__ import _import

_import("inductor")
before = set(sys.modules)
import torch

compiled = torch.compile(lambda x, w: torch.softmax(x * w, -1), dynamic=False)
assert torch.allclose(compiled(torch.full((4, 8), 2.0), torch.full((8,), 3.0)), torch.full((4, 8), 0.125))
compilers, generated = ("torch._dynamo.", "torch._inductor."), "torch._inductor.runtime.compile_tasks."
print(*(name for name in set(sys.modules) - before if name.startswith(compilers) and not name.startswith(generated)))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="beside a GPU every worker compiles for itself")
def test_a_worker_that_compiles_imports_nothing_more_of_the_compiler(tmp_path: Path) -> None:
    environment = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


_BESIDE_A_GPU = """
import sys
import torch

torch.cuda.is_available = lambda: True
from robust_kbench.worker.__main__ import _import

_import("inductor")
from torch._inductor import codecache
from torch._inductor.runtime.triton_compat import triton_key

print("torch.utils.cpp_extension" in sys.modules, triton_key.cache_info().currsize, torch.cuda.is_initialized())
codecache.build_code_hash = lambda *_: exit("hashed again")
codecache.torch_key()
"""


@pytest.mark.rotating
def test_beside_a_gpu_compilers_are_hashed_before_the_fork_and_the_device_is_not_touched(tmp_path: Path) -> None:
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _BESIDE_A_GPU], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["True", "1", "False"]), done.stderr


_WITH_TRITON = """
import torch

torch.cuda.is_available = lambda: True
from robust_kbench.worker.__main__ import _import

_import("torch")
from triton.runtime.cache import triton_key

print(triton_key.cache_info().currsize, torch.cuda.is_initialized())
"""


@pytest.mark.rotating
def test_beside_a_gpu_triton_is_hashed_before_the_fork_for_kernels_too(tmp_path: Path) -> None:
    environment = os.environ | {"TRITON_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _WITH_TRITON], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1", "False"]), done.stderr
