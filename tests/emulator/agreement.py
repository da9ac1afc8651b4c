"""Runs the suite on the emulator or on a GPU, and compares what the two made of it.

    python tests/emulator/agreement.py --device emulated --out emulated.json
    python tests/emulator/agreement.py --device cuda --out cuda.json
    python tests/emulator/agreement.py --compare emulated.json cuda.json > agreement.md

Beside each JSON file lie the outputs, for the comparison bit by bit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import agreement_table
import suite
import torch
from description import Kernel
from worker import Crashed, Worker

sys.path.insert(0, str(Path(__file__).parents[2]))

# Blocks and threads in order; a GPU does as it likes.
MODE = {"schedule": 0, "seed": 0, "poison": 0x7FA5A5A5, "checked": False}


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if options.compare:
        print(agreement_table.markdown(*options.compare))
        return
    kernels = [kernel for kernel in suite.KERNELS if kernel.name.startswith(tuple(options.only or [""]))]
    with tempfile.TemporaryDirectory() as folder:
        results, outputs = run(kernels, options.device, Path(folder))
    options.out.write_text(json.dumps({"device": describe(options.device), "kernels": results}, indent=1))
    torch.save(outputs, options.out.with_suffix(".pt"))
    failed = [name for name, found in results.items() if found["status"] != "pass"]
    print(f"{len(results) - len(failed)} of {len(results)} pass; failed: {', '.join(failed) or 'none'}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["emulated", "cuda"], default="emulated")
    parser.add_argument("--out", type=Path, default=Path("agreement.json"))
    parser.add_argument("--only", nargs="*", metavar="PREFIX", help="kernels whose names begin so")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE")
    return parser


def describe(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "emulator"


def run(kernels: Sequence[Kernel], device: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Build all kernels side by side, then run them one after another: results and outputs by name."""
    results, outputs = {}, {}
    with ThreadPoolExecutor(os.cpu_count()) as pool, Worker() as worker:
        builds = {kernel.name: pool.submit(_build, kernel, device, folder / kernel.name) for kernel in kernels}
        for name, build in builds.items():
            kept = folder / f"{name}.pt"
            results[name] = _run(worker, name, build, device, kept)
            if kept.exists():
                outputs[name] = torch.load(kept)
            print(f"{results[name]['status']:8} {name} {results[name].get('message', '')}", file=sys.stderr)
    return results, outputs


def _build(kernel: Kernel, device: str, folder: Path) -> Path:
    if device == "cuda":
        import native

        return native.build(kernel, folder)
    import emulated_build

    return emulated_build.build(kernel, folder, checked=False)


def _run(worker: Worker, name: str, build: Future[Path], device: str, kept: Path) -> dict[str, Any]:
    try:
        artefact = str(build.result())
        answer = worker.ask(name=name, artefact=artefact, device=device, modes=[MODE], keep=str(kept))
    except subprocess.CalledProcessError as error:
        return {"status": "build", "message": (error.stderr or error.stdout or "")[:2000]}
    except Crashed as error:
        return {"status": "crash", "message": str(error)}
    except Exception as error:  # what the emulator refuses
        return {"status": "refused", "message": str(error)}
    if "error" in answer:
        worker.stop()  # an error of CUDA sticks to its process
        return {"status": "error", "message": answer["error"]}
    found = answer["runs"][0]
    message = "; ".join(found["complaints"] + [str(finding) for finding in found["findings"]])
    return {"status": "fail" if message else "pass", "message": message, "inputs": answer["inputs"], **found}


if __name__ == "__main__":
    main()
