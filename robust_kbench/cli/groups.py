"""Verb that is a command by itself and has further ones, such as `kbench evolve TASK` and `kbench evolve show`."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class WithUsual(TyperGroup):
    """Group of commands, one of which is the usual one.

    Arguments that begin with no command's name go to the usual command. Its options stand in the help of the group.
    """

    usual: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command that was meant."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [self.usual, *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def get_help(self, ctx: Any) -> str:
        """Return the help of all commands, and the options of the usual one."""
        command: Any = self.commands[self.usual]
        inner = type(ctx)(command, info_name=self.usual, parent=ctx)
        return f"{super().get_help(ctx)}\n\n{command.get_help(inner)}"
