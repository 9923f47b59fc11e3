"""The grid-edge lab in a folder of a test's own, with ports of this machine that are free."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.lab import Lab
from e2e.play import Record, play_all
from e2e.scenario import Scenario
from tests.kit.backends import free_port

ROOT = Path(__file__).parents[2]
WORDS = ("8443", "8444")
"""The ports that the file publishes on this machine."""


def copied(folder: Path) -> Path:
    """The environment and what it applies, as a checkout has them; gives the path of its file."""
    ignore = shutil.ignore_patterns(".forge", "__pycache__", "e2e-report")
    shutil.copytree(ROOT / "environments" / "grid-edge", folder / "environments" / "grid-edge", ignore=ignore)
    shutil.copytree(ROOT / "grid" / "deploy", folder / "grid" / "deploy", ignore=ignore)
    config = folder / "environments" / "grid-edge" / "forge.yaml"
    text = config.read_text(encoding="utf-8")
    for word in WORDS:
        assert f"host: {word}" in text
        text = text.replace(f"host: {word}", f"host: {free_port()}")
    assert "  name: grid-edge\n" in text
    text = text.replace("  name: grid-edge\n", f"  name: grid-{secrets.token_hex(4)}\n")
    config.write_text(text, encoding="utf-8")
    return config


@contextmanager
def brought_up(config: Path, runtime: str) -> Iterator[Lab]:
    """The lab, up; taken down at the end, whatever happened."""
    lab = Lab(config, runtime)
    try:
        lab.forge("up", timeout_s=900)
        yield lab
    finally:
        lab.forge("down", timeout_s=300)
        lab.close()


def played(lab: Lab, scenario: Scenario) -> Record:
    """The record of one playing."""
    (record,) = play_all(lab, (scenario,), lambda *_: None, threading.Event())
    return record


def transcript(record: Record) -> str:
    """What was seen, for a test's failure."""
    lines = []
    for step in record.played.steps:
        lines.append(f"{'ok  ' if step.ok else 'FAIL'} {step.title} ({step.ended_at - step.at:.1f} s)")
        lines += [f"     {e.claim}: {e.seen}" for e in step.evidence]
        lines += [f"     {step.fault}"] if step.fault else []
    failed = [s for s in record.sent if not s.ok]
    lines.append(f"{len(record.sent)} requests beside it, {len(failed)} failed: {failed[:5]}")
    return "\n".join(lines)
