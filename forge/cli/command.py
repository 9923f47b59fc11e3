"""What every command does round its one call: find the lab, print errors, give exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from click.exceptions import Exit

from forge.app.lab import Lab, Options, find
from forge.cli.console import Console
from forge.cli.options import Common
from forge.errors import ForgeError


def options(flags: Common) -> Options:
    return Options(
        config=flags.config,
        state_dir=flags.state_dir,
        runtime=flags.runtime,
        lock_timeout_s=300.0 if flags.lock_timeout is None else flags.lock_timeout,
    )


@contextmanager
def command(flags: Common) -> Iterator[tuple[Lab, Console]]:
    """The lab and the console of a command; a ForgeError in the block is printed and ends it with
    its exit code."""
    console = Console(flags)
    try:
        yield find(options(flags)), console
    except ForgeError as error:
        console.error(error)
        raise Exit(exit_code(error)) from error


def exit_code(error: ForgeError) -> int:
    """By class; of an interruption, by its signal."""
    number = getattr(error, "signal_number", None)
    return error.exit_code if number is None else 128 + int(number)
