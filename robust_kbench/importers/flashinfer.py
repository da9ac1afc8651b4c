"""flashinfer-trace and SOL-ExecBench: a definition in JSON, with workloads in lines of JSON.

A definition is any file of JSON with axes, inputs, outputs and a reference. Its workloads are the lines of files with
`.jsonl` beside it, and of those elsewhere that name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from robust_kbench.errors import SpecError
from robust_kbench.importers.definitions import Definition, Workload
from robust_kbench.importers.description import Found, Request, Unread
from robust_kbench.importers.foreign_files import files_below, is_file, read_each, read_json
from robust_kbench.importers.kernelbench import op_name
from robust_kbench.importers.workload_lines import WorkloadLines
from robust_kbench.schema.documents import parse

FAMILY = "flashinfer"
_KEYS = {"name", "axes", "inputs", "outputs", "reference"}
_DEFAULT_SIZE = 64


def find(source: Path, only: str = "", unread: list[Unread] | None = None) -> list[Found]:
    """Every definition that `source` is or holds; of those that are alike, the first.

    What cannot be read is added to `unread`; raises SpecError for it by default. A line with a workload costs itself.
    """
    files = files_below(source, "*.json") if source.is_dir() else [source]
    lines = WorkloadLines(source if source.is_dir() else source.parent, unread)
    seen: list[Definition] = []

    def read(path: Path) -> Iterator[Found]:
        data = read_json(path)
        if not isinstance(data, dict) or not set(data) >= _KEYS:
            return
        definition = parse(Definition, data, str(path))
        if definition not in seen:
            number = sum(each.name == definition.name for each in seen) + 1
            seen.append(definition)
            yield _found(path, definition, data, lines.of(path, definition), number)

    asked = [path for path in files if is_file(path) and re.search(only, str(path))]
    found = list(read_each(asked, read, unread))
    lines.finish(only)
    return found


def _found(path: Path, definition: Definition, data: Mapping[str, Any], work: Sequence[Workload], number: int) -> Found:
    if foreign := definition.foreign_dtypes():
        raise SpecError(f"{path}: dtype {foreign[0]}: kbench has none such")
    variable = [name for name, axis in definition.axes.items() if axis.type == "var"]
    sizes = {name: max([each.axes.get(name, 0) for each in work] or [0]) or _DEFAULT_SIZE for name in variable}
    numbers = {
        name: next((each.inputs[name].value for each in work if name in each.inputs), None)
        for name, tensor in definition.inputs.items()
        if tensor.shape is None
    }
    stored = sorted({n for each in work for n, how in each.inputs.items() if how.type == "safetensors"})
    op = op_name(re.sub(r"[^\w]+", "_", definition.name)[-50:].strip("_0123456789")) + (
        f"_{number}" if number > 1 else ""
    )
    return Found(
        str(path), "flashinfer",
        Request(
            what="definition", name=f"{FAMILY}/{op}", title=definition.name, source=definition.reference,
            summary=f"Definition {''.join(c if c.isalnum() else ' ' for c in definition.name)}."[:170],
            origin=f"flashinfer-trace definition {definition.name}"[:300],
            options={
                "definition": dict(data), "sizes": sizes, "numbers": numbers, "stored": stored,
                "workloads": [dict(each.axes) for each in work[:64]],
            },
        ),
    )  # fmt: skip
