"""Standard output and error when nobody reads them any more, or the disk behind them is full.

A run that changes things goes on: what it would have said is lost, what it does is recorded. A result that
cannot be written whole is an error, since a script would take half of it for all; one whose reader has
closed its end (`| head`) is not.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO

from forge.errors import OperationFailed


def say(stream: TextIO, text: str) -> bool:
    """Writes a line of a result; whether anybody still reads. Raises OperationFailed FG0418 where it cannot
    be written."""
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        _silence(stream)
        return False
    except OSError as error:
        _silence(stream)
        raise OperationFailed(
            "FG0418",
            "the result cannot be written",
            why=error.strerror or str(error),
            hint="make room where standard output goes, and run it again",
        ) from error
    return True


def mention(stream: TextIO, text: str) -> None:
    """Writes a line on the way, if it can be written."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """From now on what is written goes nowhere, what is still in its buffer included."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
