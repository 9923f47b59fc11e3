"""A group whose commands are imported when they are called, so that each starts as fast as it can."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """commands_at: name -> (module, attribute, its line in the group's help)."""

    def __init__(self, *args: Any, commands_at: Mapping[str, tuple[str, str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the library's signature
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._commands_at:
            return None
        module, attribute, _ = self._commands_at[cmd_name]
        found = getattr(import_module(module), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{module}:{attribute} is no command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As the library does, with the nearest names where there is no such command."""
        if args and args[0] not in self._commands_at and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], self._commands_at, n=2)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        rows = [(name, line) for name, (_, _, line) in self._commands_at.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
