"""Compile the Triton kernels that a submission launches, without a device and without launching them.

`python -I -m robust_kbench.worker.ahead_of_time REQUEST`, run by the sandboxed builder: the submission's host code runs
here. Machine code and a list of it go to the current folder; a reader of these files must expect anything.
"""

import json
import sys
import traceback
from typing import Any

from robust_kbench.worker import stand_in

MANIFEST = "kernels.json"
MAX_KERNELS = 16


class _Driver:
    """Stand-in for devices that can be compiled for and not be used: one of each capability, which is its number."""

    def __init__(self, capability: int) -> None:
        self._capability = capability

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._capability, 32)

    def get_current_device(self) -> int:
        return self._capability

    def set_current_device(self, device: int) -> None:
        """Do nothing, as there is only one device."""

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return divmod(self._capability, 10)

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Any:
        return _unmeasured


def _unmeasured(call: Any, *_: Any, **__: Any) -> list[float]:
    """Return equal times: an autotuner that finds all configurations equally fast takes the first."""
    return [1.0, 1.0, 1.0]


def compile_all(request: dict[str, Any]) -> list[tuple[int, Any]]:
    """Call the submission on stand-ins for each capability; every launch compiles instead.

    Returns the compiled kernels with the capability that each is for.
    """
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    compiled: dict[int, tuple[int, Any]] = {}
    compile_or_launch = JITFunction.run

    def only_compile(function: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        kernel = compile_or_launch(function, *arguments, grid=grid, warmup=True, **options)
        compiled[id(kernel)] = driver.active.get_current_device(), kernel
        return kernel

    JITFunction.run = only_compile
    for capability in request["capabilities"]:
        driver.set_active(_Driver(capability))
        stand_in.call(request, "cpu")()
    return list(compiled.values())[:MAX_KERNELS]


def main() -> None:
    """Write `0.cubin` and so on, and a manifest with capability, name and metadata of each."""
    with open(sys.argv[1]) as file:
        request = json.load(file)
    try:
        compiled = compile_all(request)
    except Exception as error:
        sys.exit("".join(traceback.format_exception_only(error)))
    manifest = []
    for number, (capability, kernel) in enumerate(compiled):
        with open(f"{number}.cubin", "wb") as file:
            file.write(kernel.asm["cubin"])
        manifest.append({"capability": capability, **_facts(kernel.metadata)})
    with open(MANIFEST, "w") as file:
        json.dump(manifest, file)


def _facts(metadata: Any) -> dict[str, Any]:
    return {
        "name": metadata.name,
        "shared_bytes": metadata.shared,
        "warps": metadata.num_warps,
        "stages": metadata.num_stages,
    }


if __name__ == "__main__":
    main()
