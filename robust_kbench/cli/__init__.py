"""The command line. Each verb is a short module; nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import errno
import sys

import typer

from robust_kbench.cli import (
    audit,
    doctor,
    evaluate,
    evolve,
    import_,
    keygen,
    leaderboard,
    new,
    profile,
    redteam,
    schema,
    sweep,
    task,
    tasks,
    verify,
)
from robust_kbench.errors import HarnessError, KBenchError
from robust_kbench.version import __version__

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_EPILOG = (
    "Quick start:  kbench tasks  |  kbench new norm/rmsnorm --language cpp mine/  |  kbench evaluate mine/ --tier quick"
)

app = typer.Typer(
    name="kbench",
    help="Judge kernels so that the verdict holds when their author tries to cheat.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(evaluate.evaluate)
app.command()(tasks.tasks)
app.command()(task.task)
app.command()(audit.audit)
app.command()(doctor.doctor)
app.command()(profile.profile)
app.command()(redteam.redteam)
app.command()(new.new)
app.command(name="import")(import_.import_)
app.add_typer(leaderboard.app, name="leaderboard")
app.command()(verify.verify)
app.command()(keygen.keygen)
app.add_typer(evolve.app, name="evolve")
app.command()(sweep.sweep)
app.command()(schema.schema)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"kbench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Judge kernels so that the verdict holds when their author tries to cheat."""


def main() -> None:
    """Entry point of `kbench`: exit code 2 for a wrong request or file, 3 for our own failure, 130 for Ctrl-C."""
    try:
        app()
    except HarnessError as error:
        _fail(error, 3)
    except KBenchError as error:
        _fail(error, 2)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _fail(HarnessError(f"{error.filename or 'a file'}: {error.strerror}; make room, or set TMPDIR elsewhere"), 3)
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(error: KBenchError, code: int) -> None:
    from robust_kbench.schema.documents import shown

    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(shown(str(error)), err=True)
    sys.exit(code)
