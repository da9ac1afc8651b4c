"""`kbench schema`: the JSON Schemas of the file formats."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(
    name: Annotated[str, typer.Argument(help="task, submission or record.")],
) -> None:
    """Print the JSON Schema of a file format."""
    import json

    from robust_kbench.errors import UsageError
    from robust_kbench.schema.export import SCHEMAS, json_schema

    if name not in SCHEMAS:
        raise UsageError(f"no schema {name!r}; use {', '.join(SCHEMAS)}")
    typer.echo(json.dumps(json_schema(name), indent=2))
