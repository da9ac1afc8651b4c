"""Texts of an imported task's files, and the import's record beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from robust_kbench.errors import UsageError
from robust_kbench.importers.description import Adapter, Found, Imported, Surveyed
from robust_kbench.importers.foreign_files import read_source
from robust_kbench.registry import IMPORTED_FILE, TASK_FILE
from robust_kbench.schema.documents import parse, read_yaml
from robust_kbench.schema.task import Task

_ADAPTERS = Path(__file__).parent / "adapters"
_BEGIN, _END = "# constants: an import writes others\n", "# end of constants\n"
_WIDTH = 116


def reference_text(source: str, adapter: Adapter, title: str) -> str:
    """Return a reference.py that needs nothing beside it: the adapter's module with these constants and `source`."""
    shared = _Module.read("exact")
    module = _Module.read(adapter.kind)
    imports = [*shared.imports, *module.imports]
    constants = "\n".join(f"{name} = {value}" for name, value in _constants(source, adapter))
    parts = [_docstring(title), "from __future__ import annotations\n", *_grouped(imports), constants]
    return "\n".join(parts) + f"\n\n{shared.body}\n\n{module.body}"


class _Module(NamedTuple):
    """Module of adapters, taken apart into its imports and its body."""

    imports: tuple[str, ...]
    body: str

    @classmethod
    def read(cls, name: str) -> _Module:
        """Read a module without its docstring, constants, and imports of robust_kbench."""
        text = (_ADAPTERS / f"{name}.py").read_text(encoding="utf-8")
        head, begin, rest = text.partition(_BEGIN)
        body = rest.partition(_END)[2] if begin else text.partition("import TorchFunctionMode\n")[2]
        lines = [line for line in head.splitlines() if line.startswith(("import ", "from "))]
        kept = [line for line in lines if "robust_kbench" not in line and "__future__" not in line]
        return cls(tuple(kept), body.strip("\n") + "\n")


def _merged(lines: Sequence[str]) -> list[str]:
    """Merge imports into one line for each module, plain imports first, as a formatter would have it."""
    names: dict[str, set[str]] = {}
    for line in lines:
        module, _, imported = line.removeprefix("from ").partition(" import ")
        names.setdefault(module, set()).update(imported.split(", ") if imported else ())
    return [
        f"from {module} import {', '.join(sorted(found))}" if found else module
        for module, found in sorted(names.items(), key=lambda each: (bool(each[1]), each[0]))
    ]


def _grouped(lines: Sequence[str]) -> Iterator[str]:
    """Yield the imports of the standard library, then the others."""
    for is_torch in (False, True):
        yield "\n".join(_merged([line for line in lines if ("torch" in line) == is_torch])) + "\n"


def _docstring(title: str) -> str:
    told = title.replace("\\", "/").replace('"', "'")
    lines = [told, "", "Written by kbench import; PROBLEM is the imported text."]
    return '"""' + "\n".join(lines) + '\n"""\n'


def _constants(source: str, adapter: Adapter) -> Iterator[tuple[str, str]]:
    yield "PROBLEM", _literal(source)
    for name in _NAMES[adapter.kind]:
        yield name.upper(), _literal(_frozen(getattr(adapter, name)))


_NAMES: Mapping[str, Sequence[str]] = {
    "model": ("splices", "sizes", "arguments", "parameters", "draws"),
    "function": ("entry", "arguments", "results"),
    "gradient": ("entry", "arguments", "upstream", "gradients"),
}


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _literal(value: Any) -> str:
    """Return Python for a value: texts line by line, so that they can be read."""
    if isinstance(value, str) and "\n" in value:
        lines = "\n".join(f"    {line!r}" for line in value.splitlines(keepends=True))
        return f"(\n{lines}\n)"
    if isinstance(value, tuple) and len(repr(value)) > _WIDTH - 20:
        return "(\n" + "".join(f"    {each!r},\n" for each in value) + ")"
    return repr(value)


def task_text(data: Mapping[str, Any]) -> str:
    """Return the text of a task.yaml."""
    return yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Dumper that puts short things on one line, long ones on many; no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        node = super().represent_mapping(tag, mapping, flow_style)
        node.flow_style = _is_flat(node)
        return node

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        node = super().represent_sequence(tag, sequence, flow_style)
        node.flow_style = _is_flat(node)
        return node


def _is_flat(node: yaml.MappingNode | yaml.SequenceNode) -> bool:
    """Tell if a mapping or a list holds nothing but scalars and lists of them."""
    values = [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else node.value
    return all(
        isinstance(value, yaml.ScalarNode)
        or (isinstance(value, yaml.SequenceNode) and all(isinstance(each, yaml.ScalarNode) for each in value.value))
        for value in values
    )


def write_task(into: Path, name: str, surveyed: Surveyed, found: Found, count: int = 1) -> Path:
    """Write the folder of the task `name` below `into`, one of `count` that the problem becomes.

    Raises SpecError, and UsageError where it is already there.
    """
    folder = into / name
    parse(Task, {**surveyed.task, "name": name}, str(folder / TASK_FILE))
    if folder.exists():
        raise UsageError(f"{folder}: already exists; remove it, or import into another folder")
    folder.mkdir(parents=True)
    source, title = found.request.source, surveyed.task["summary"]
    (folder / TASK_FILE).write_text(task_text({"name": name, **surveyed.task}), encoding="utf-8")
    (folder / "reference.py").write_text(reference_text(source, surveyed.adapter, title), encoding="utf-8")
    how = Imported(
        form=found.form, place=found.place, title=found.request.title, call=_call(surveyed.adapter),
        digest=found.request.digest, count=count,
    )  # fmt: skip
    (folder / IMPORTED_FILE).write_text(task_text(how.model_dump(mode="json")), encoding="utf-8")
    return folder


def imported_at(folder: Path) -> Imported | None:
    """Read where the task in `folder` came from; None where it was not imported. Raises SpecError."""
    path = folder / IMPORTED_FILE
    return parse(Imported, read_yaml(read_source(path), str(path)), str(path)) if path.is_file() else None


def _call(adapter: Adapter) -> tuple[tuple[str, Any], ...]:
    """Return the adapter's knowledge of how foreign kernels call; for a function, the same as its own call."""
    if adapter.kind != "function":
        return adapter.call
    return tuple(("value" if how == "bool" else how, detail) for how, detail in adapter.arguments)
