"""forge.yaml from its bytes to values, or everything that is wrong with it.

    bytes > text (text.py) > nodes (compose.py) > Environment (validate.py) > rules (checks.py)

The only reader of the file; `FolderFiles` is the only reader of what stands beside it. Nothing is
changed, and no error holds a value of the file that may be secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forge.errors import Place
from forge.spec.checks import check
from forge.spec.compose import compose
from forge.spec.events import Fault
from forge.spec.files import Files, FolderFiles, NoFiles
from forge.spec.inputs import fill_in
from forge.spec.mask import blind_excerpt
from forge.spec.model import Environment
from forge.spec.nodes import MapNode
from forge.spec.problems import ConfigErrors, Problem, Severity, by_place
from forge.spec.source import Source
from forge.spec.text import MAX_BYTES, decode, lines_of
from forge.spec.validate import validate


@dataclass(frozen=True, slots=True)
class Loaded:
    """file: as it was named. digest: SHA-256 of its bytes, hex. warnings: by place. source: for
    pointing into the file later. inputs: variables the file used -> values; the digest knows nothing
    of them."""

    environment: Environment
    file: str
    digest: str
    warnings: tuple[Problem, ...]
    source: Source
    inputs: Mapping[str, str] = field(default_factory=dict, repr=False)


def load(path: Path, *, environ: Mapping[str, str] | None = None, files: Files | None = None) -> Loaded:
    """The environment in the file at *path*. environ: what inputs are taken from; None has none set.
    files: what stands beside it; None reads the disk.

    Raises ConfigErrors with every problem of the file, also when it cannot be read at all.
    """
    data = _read(path)
    return load_bytes(data, str(path), environ, files or FolderFiles(path.resolve().parent))


def load_text(
    text: str,
    file: str = "forge.yaml",
    environ: Mapping[str, str] | None = None,
    files: Files | None = None,
) -> Loaded:
    """As load_bytes, of text."""
    return load_bytes(text.encode("utf-8", "surrogatepass"), file, environ, files)


def load_bytes(
    data: bytes,
    file: str = "forge.yaml",
    environ: Mapping[str, str] | None = None,
    files: Files | None = None,
) -> Loaded:
    """The environment in *data*. file: its name in messages. files: None sees nothing beside it."""
    text = decode(data, file)
    composed = compose(text)
    if composed.root is None:
        raise ConfigErrors(file, [_blind(fault, file, text) for fault in composed.faults] or [_empty(file)])
    if not isinstance(composed.root, MapNode):
        raise ConfigErrors(file, [_not_a_mapping(file)])
    inputs, unfilled = fill_in(composed.root, environ or {})
    validated = validate(file, text, composed.root)
    faults = [_fault(fault, validated.source) for fault in composed.faults]
    told = {found.path for found in unfilled}
    findings = [*unfilled, *(found for found in validated.findings if found.path not in told)]
    problems = [*faults, *(found.at(validated.source) for found in findings)]
    if validated.environment is not None:
        problems += check(validated.environment, validated.source, files or NoFiles())
    if validated.environment is None or any(p.is_error for p in problems):
        raise ConfigErrors(file, problems)
    digest = hashlib.sha256(data).hexdigest()
    return Loaded(validated.environment, file, digest, by_place(problems), validated.source, inputs)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        help_ = "name the file with --config, or make one with `praxis-forge config init`"
        problem = Problem("FG0100", Severity.ERROR, f"cannot be read: {why}", Place(str(path)), help=help_)
    raise ConfigErrors(str(path), (problem,))


def _fault(fault: Fault, source: Source) -> Problem:
    return source.problem_at(fault.code, fault.message, fault.span, help=fault.help)


def _blind(fault: Fault, file: str, text: str) -> Problem:
    shown = blind_excerpt(lines_of(text), fault.span.line, fault.span.column)
    place = Place(file, fault.span.line, fault.span.column)
    return Problem(fault.code, Severity.ERROR, fault.message, place, help=fault.help, excerpt=shown)


def _empty(file: str) -> Problem:
    help_ = "write one with `praxis-forge config init`"
    return Problem("FG0101", Severity.ERROR, "the file is empty", Place(file), help=help_)


def _not_a_mapping(file: str) -> Problem:
    help_ = "begin with apiVersion, kind, metadata and spec"
    return Problem("FG0101", Severity.ERROR, "the file is not a mapping", Place(file, 1, 1), help=help_)
