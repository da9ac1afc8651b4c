"""Parsing of a YAML or JSON text into a validated model, or an error that names the place and the remedy.

PyYAML follows YAML 1.1, where `no` is a boolean, `1e-6` is text and the last of two equal keys wins silently. Each of
these has made a benchmark measure something else than its author wrote, so each is refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from robust_kbench.errors import SpecError

MAX_DOCUMENT_BYTES = 256 * 1024
_LOOKS_NUMERIC = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$")
_PLAIN_INTEGER = re.compile(r"[-+]?(0|[1-9]\d*)$")
_MAX_DIGITS = 19  # as many as the seed of a case may have
_YAML11_BOOLEANS = {"yes", "no", "on", "off", "y", "n"}


def printable(text: str) -> str:
    """Replace the characters of `text` that UTF-8 cannot carry. A file's name may be any bytes, a record may not."""
    return text.encode(errors="replace").decode()


def shown(text: str) -> str:
    """Return `text` as one line for a terminal or a page: nothing in it steers them, turns a line or hides.

    Ends of lines and tabs become spaces. Other controls, changes of direction and characters without a shape become
    U+FFFD.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else " " if character.isspace() else "\ufffd"
        for character in printable(text)
    )


class Strict(BaseModel):
    """Base of every model: immutable, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Model = TypeVar("Model", bound=Strict)
IS_BASE64 = "base64"
Base64 = Annotated[str, IS_BASE64]
"""Text that stands for bytes. A model keeps it as it is written; a view (see views) holds the bytes."""


def canonical(model: Strict, *, without: set[str]) -> bytes:
    """Return the JSON that is digested and signed: with sorted keys, no spaces, and no values that equal their default.

    So it does not depend on how a line was written, nor on optional keys that a later version adds. Numbers are as
    Python writes them.
    """
    return compact(model.model_dump(exclude=without, exclude_defaults=True))


def compact(data: Mapping[str, Any]) -> bytes:
    """Return JSON with sorted keys and no spaces."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace")


class _StrictLoader(yaml.SafeLoader):
    """Safe loader that refuses duplicate keys, YAML 1.1 booleans, aliases and numbers that are read as text.

    The C loader is not used: deep nesting overflows its stack and kills the process, where this one raises
    RecursionError.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:bool":
                _construct_boolean(self, key)
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise _problem(key, "keys are plain words")
            if key.value in seen:
                raise _problem(key, f"duplicate key {key.value!r}; remove one of the two")
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            raise _problem(event, "aliases (*name) are not allowed; write the value out")
        return super().compose_node(parent, index)


def _problem(node: Any, message: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, message, node.start_mark)


def _construct_boolean(loader: Any, node: yaml.ScalarNode) -> bool:
    if node.value.lower() in _YAML11_BOOLEANS:
        raise _problem(node, f"{node.value!r} is read as a boolean by YAML 1.1; write true, false or '{node.value}'")
    return str(node.value).lower() == "true"


def _construct_text(loader: Any, node: yaml.ScalarNode) -> str:
    if not node.style and _LOOKS_NUMERIC.match(node.value):
        mantissa, exponent = re.split("[eE]", node.value)
        remedy = f"{float(mantissa)!r}e{int(exponent):+03d}"
        raise _problem(node, f"{node.value!r} is read as text by YAML 1.1; write {remedy} or quote it")
    return str(node.value)


def _construct_integer(loader: Any, node: yaml.ScalarNode) -> int:
    if not _PLAIN_INTEGER.match(node.value):
        raise _problem(node, f"{node.value!r} is read as octal, binary or base 60 by YAML 1.1; write a plain integer")
    if len(node.value) > _MAX_DIGITS:
        raise _problem(node, f"a number of {len(node.value)} digits; at most {_MAX_DIGITS} are allowed")
    return int(node.value)


def _refuse(loader: Any, node: yaml.ScalarNode) -> None:
    kind = "a date" if node.tag.endswith("timestamp") else node.tag.rpartition(":")[2]
    raise _problem(node, f"{node.value!r:.40} is read as {kind} by YAML 1.1; quote it if it is text")


for _kind_of_scalar in ("timestamp", "binary"):
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind_of_scalar}", _refuse)
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _construct_integer)
_StrictLoader.add_constructor("tag:yaml.org,2002:bool", _construct_boolean)
_StrictLoader.add_constructor("tag:yaml.org,2002:str", _construct_text)


def read_yaml(text: str, where: str) -> dict[str, Any]:
    """Parse one YAML mapping. Raises SpecError with `where`, the line and the remedy."""
    if (size := len(text.encode(errors="replace"))) > MAX_DOCUMENT_BYTES:
        raise SpecError(f"{where}: {size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are allowed")
    try:
        data = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - derived from the safe loader
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SpecError(f"{where}{line}: {error.problem or error}") from None
    except yaml.reader.ReaderError as error:
        number = text[: error.position].count("\n") + 1
        message = f"the character {error.character!r} is not allowed; save as UTF-8 text"
        raise SpecError(f"{where}:{number}: {message}") from None
    except (
        yaml.YAMLError,
        RecursionError,
        ArithmeticError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
    ) as error:
        # A tag can hand a constructor the wrong kind of value, which raises one of the last three. A number in base 60
        # can be too large for a float.
        raise SpecError(f"{where}: {_reason(error)}") from None
    if not isinstance(data, dict):
        raise SpecError(f"{where}: expected a mapping of keys to values, got {_kind(data)}")
    return data


def _reason(error: Exception) -> str:
    text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return text.replace("\n", " ") or type(error).__name__


def parse(model: type[Model], data: Mapping[str, Any], where: str) -> Model:
    """Validate `data` as a `model`. Raises SpecError that names the first wrong key and the nearest right one."""
    try:
        # Through JSON, because only there does strict mode take a list for a tuple and a text for an enumeration.
        return model.model_validate_json(json.dumps(data, default=str))
    except ValidationError as error:
        raise SpecError(f"{where}: {_explain(model, error)}") from None
    except RecursionError:
        raise SpecError(f"{where}: nested too deeply") from None


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    errors = error.errors(include_url=False)
    # A misspelt key is both unknown and missing; the unknown one comes with a suggestion.
    first = next((found for found in errors if found["type"] == "extra_forbidden"), errors[0])
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{place}: unknown key{_suggestion(model, first['loc'])}"
    if first["type"] == "missing":
        return f"{place}: missing; this key is required"
    found = "" if isinstance(first["input"], dict | list) else f", got {first['input']!r:.80}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}{found}" if place else message


def _suggestion(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    owner = _descend(model, location[:-1])
    if owner is None:
        return ""
    known = list(owner.model_fields)
    near = get_close_matches(str(location[-1]), known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known keys: {', '.join(known)}"


def _descend(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel] | None:
    """Find the model that holds the key at `location`: follow fields, and the items of mappings and lists."""
    annotation: Any = model
    for part in location:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            field = annotation.model_fields.get(str(part))
            annotation = field.annotation if field else None
        else:
            items = [item for item in get_args(annotation) if item is not Ellipsis]
            annotation = items[-1] if items else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _kind(data: object) -> str:
    return "nothing" if data is None else type(data).__name__
