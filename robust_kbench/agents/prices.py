"""Prices of tokens: a dated file of the package, and before it one of the user's. Other models have no price."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import Field

from robust_kbench.errors import UsageError
from robust_kbench.schema.documents import Strict, parse, read_yaml

_RELEASE = re.compile(r"[-@:](latest|\d{4}-?\d{2}-?\d{2}|\d{4})")


class Price(Strict):
    """Price of a million tokens, in US dollars."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class PriceFile(Strict):
    """Prices by the name of the model, as of a date.

    A name is for that model and its dated releases (`gpt-4.1` for `gpt-4.1-2025-04-14`, not for `gpt-4.1-mini`). With
    `*` at its end, it is for every model that begins so. Of several fitting names, the longest counts.
    """

    as_of: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    source: str = ""
    models: dict[str, Price]


@dataclass(frozen=True)
class PriceList:
    """Price files, of which the first one that knows a model counts."""

    files: tuple[PriceFile, ...]

    def __call__(self, model: str, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost in dollars, as if nothing came from a cache; None, never 0, for a model without a price."""
        for file in self.files:
            price = _of(model, file.models)
            if price is not None:
                return (input_tokens * price.input + output_tokens * price.output) / 1e6
        return None


def load(file: Path | None = None) -> PriceList:
    """Load the prices of the package. A price in `file` counts before them. Raises UsageError and SpecError."""
    with resources.as_file(resources.files("robust_kbench.agents") / "prices.yaml") as own:
        known = (_read(own),)
    return PriceList((_read(file), *known) if file else known)


def _read(file: Path) -> PriceFile:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"--prices {file}: {error.strerror}") from None
    return parse(PriceFile, read_yaml(text, str(file)), str(file))


def _of(model: str, prices: Mapping[str, Price]) -> Price | None:
    fitting = [name for name in prices if _fits(name, model)]
    return prices[max(fitting, key=lambda name: (len(name.rstrip("*")), name[-1:] != "*"))] if fitting else None


def _fits(name: str, model: str) -> bool:
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model == name or (model.startswith(name) and _RELEASE.fullmatch(model[len(name) :]) is not None)
