"""`kbench keygen`: a key, so that others can tell whose word a record is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from robust_kbench.cli.places import check_file


def keygen(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Default: ~/.config/robust-kbench/host.key, which is used.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the public key of the one that is there.")] = False,
) -> None:
    """Make an Ed25519 key of which only this user can read; from then on records that are stored are signed.

    Prints the public key, which those who trust this host give to `kbench leaderboard --trusted`.
    """
    from robust_kbench import signing

    path = out or signing.key_path()
    if show:
        typer.echo(_public(path))
        return
    check_file(path, "--out")
    typer.echo(signing.keygen(path))
    typer.echo(f"wrote {path}; whoever reads it can sign in this host's name", err=True)
    if path != signing.key_path():
        typer.echo(f"it is not used before it lies at {signing.key_path()}", err=True)


def _public(path: Path) -> str:
    from robust_kbench import signing
    from robust_kbench.errors import UsageError

    try:
        return signing.read_key(path).public
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path}: no key; `kbench keygen` makes one") from None
