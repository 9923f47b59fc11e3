"""Where a command prints: results on stdout, everything else on stderr, in colour or not."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from forge.cli import streams
from forge.cli.options import Common
from forge.errors import ForgeError
from forge.render.style import Style, wants_colour

API_VERSION = "forge.praxis.dev/output/v1alpha1"


class Console:
    """One command's output. Lines may come from several threads."""

    def __init__(self, common: Common) -> None:
        self.is_json = common.output == "json"
        self.out = Style(wants_colour(os.environ, is_terminal=sys.stdout.isatty()))
        self.err = Style(wants_colour(os.environ, is_terminal=sys.stderr.isatty()))
        self.is_live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not self.is_json
        self._lock = threading.Lock()

    def result(self, lines: Iterable[str], data: dict[str, Any]) -> None:
        """The command's answer: lines of text, or data as one JSON document."""
        if self.is_json:
            self._json("Success", data)
        else:
            for line in lines:
                if not streams.say(sys.stdout, line):
                    return

    def line(self, text: str) -> None:
        """One line of text before the result, such as the plan of a run that begins now. Nothing in JSON
        mode; lost where nobody reads."""
        if not self.is_json:
            with self._lock:
                streams.mention(sys.stdout, text)

    def note(self, text: str) -> None:
        """Something on the way, for people."""
        with self._lock:
            streams.mention(sys.stderr, self.err.paint(text, "dim"))

    def note_from_signal(self, text: str) -> None:
        """A note of a signal's handler: past the lock and the stream's buffer, since the line that
        the signal interrupted may hold either."""
        with suppress(OSError, ValueError):
            os.write(sys.stderr.fileno(), (self.err.paint(text, "dim") + "\n").encode())

    def progress(self, text: str) -> None:
        """A line of progress, already coloured."""
        with self._lock:
            streams.mention(sys.stderr, text)

    def error(self, error: ForgeError) -> None:
        """An error as text on stderr, or as JSON on stdout."""
        if self.is_json and error.code != "FG0418":
            from forge.render.run import error_json

            self._json("Error", self._error_data(error) or error_json(error))
            return
        self.text_error(error)

    def text_error(self, error: ForgeError) -> None:
        from forge.render.problems import error_text

        with self._lock:
            streams.mention(sys.stderr, error_text(error, coloured=self.err.coloured))

    def failure(self, data: dict[str, Any]) -> None:
        """The JSON answer of a command that did something and failed. Nothing in text mode."""
        if self.is_json:
            self._json("Error", data)

    def _error_data(self, error: ForgeError) -> dict[str, Any] | None:
        problems = getattr(error, "problems", None)
        if problems is None:
            return None
        from forge.render.problems import problem_json

        return {"message": error.what, "problems": [problem_json(p) for p in problems]}

    def _json(self, status: str, data: dict[str, Any]) -> None:
        document = {"apiVersion": API_VERSION, "kind": "CommandResult", "status": status, "data": data}
        streams.say(sys.stdout, json.dumps(document, indent=2, ensure_ascii=False))


def clock() -> str:
    """The time of day, for lines of progress."""
    return time.strftime("%H:%M:%S")
