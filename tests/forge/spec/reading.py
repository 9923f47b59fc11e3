"""Reads small configuration files for the tests, and tells what is wrong with them as plain lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forge.spec.files import Found
from forge.spec.load import load_text
from forge.spec.problems import ConfigErrors, Problem

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "topologies"
"""Files of other people's environments, beside the project; may be absent."""

HEAD = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {}
"""
"""Five lines: what is added begins in line 6, indented by two."""


@dataclass(frozen=True, slots=True)
class KnownFiles:
    """Keeps the port Files: texts by path; None is a folder. outside: what links lead out of the root."""

    texts: Mapping[str, str | None] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()

    def find(self, path: str, root: str) -> Found:
        if path in self.outside:
            return Found.OUTSIDE
        if path not in self.texts:
            return Found.MISSING
        return Found.DIRECTORY if self.texts[path] is None else Found.FILE

    def read(self, path: str, root: str) -> str | None:
        return self.texts.get(path)


def problems(
    added: str, *, head: str = HEAD, files: KnownFiles | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    """Everything that is wrong with a file: errors and warnings, by place."""
    try:
        return load_text(head + added, environ=environ, files=files).warnings
    except ConfigErrors as errors:
        return errors.problems


def told(
    added: str, *, head: str = HEAD, files: KnownFiles | None = None, environ: Mapping[str, str] | None = None
) -> list[str]:
    """`code line:column message` of each problem; warnings begin with `warning`."""
    found = problems(added, head=head, files=files, environ=environ)
    return [
        f"{'' if p.is_error else 'warning '}{p.code} {p.place.line}:{p.place.column} {p.message}"
        for p in found
    ]
