"""Replays recorded answers of real API servers against an embedded cluster: the share that is equal.

    python -m tests.kit.oracle [TOPIC ...]

Recordings and matcher lie beside the project (../shared); each file is replayed on a cluster of its
own, in order, as its pairs depend on each other. Every pair that differs is printed; why it may is in
docs/architecture/embedded-differences.md, and one that does not stand there is called a bug.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tests.kit.embedded_cluster import running

SHARED = Path(__file__).resolve().parents[3] / "shared"
RECORDINGS = SHARED / "data" / "kubernetes-oracle"
MATCHER = SHARED / "tools" / "oracle" / "replay.py"
PREFIX = "kube-apiserver-1.32-"
DIFFERENCES = Path(__file__).resolve().parents[2] / "docs" / "architecture" / "embedded-differences.md"
# Some pairs wait a minute for what a node or a controller would do.
_DEADLINE_S = 900
# Topics that wait for what a node and its controllers do.
_ON_A_NODE = ("workload", "strategic-merge", "kubectl-flows")
_NAMESPACES = ("team-a", "team-b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """different: ids of the pairs that are not equal."""

    topic: str
    equal: int
    pairs: int
    different: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.topic:26} {self.equal:4} of {self.pairs:4}  {100 * self.equal / self.pairs:5.1f} %"


def topics() -> tuple[str, ...]:
    """Every recorded topic of this release, those of custom resources first."""
    found = [p.stem.removeprefix(PREFIX) for p in RECORDINGS.glob(f"{PREFIX}*.json")]
    return tuple(sorted(found, key=lambda t: (not t.startswith("cr-"), t)))


def _arguments(topic: str, folder: Path) -> tuple[str, ...]:
    """Services are recorded with addresses of one range; pods of the recording do nothing, for ever."""
    if topic not in _ON_A_NODE:
        return "--service-cidr", "10.96.0.0/16"
    images = folder / "images.json"
    images.write_text(json.dumps({"registry.k8s.io/pause:3.10": ["sleep", "infinity"]}))
    return "--images", str(images)


def replay(topic: str) -> Outcome:
    """Replays one topic on a new cluster."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), *_arguments(topic, Path(folder)), node=topic in _ON_A_NODE) as cluster,
    ):
        with cluster.client() as client:
            for name in _NAMESPACES:
                client.post("/api/v1/namespaces", json={"metadata": {"name": name}}).raise_for_status()
        pki, report = Path(folder) / "pki", Path(folder) / "report.json"
        argv = [sys.executable, "-B", str(MATCHER), str(RECORDINGS / f"{PREFIX}{topic}.json")]
        argv += ["--server", cluster.url, "--ca", str(pki / "ca.crt"), "--cert", str(pki / "admin.crt")]
        argv += ["--key", str(pki / "admin.key"), "--report", str(report), "-q"]
        done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=_DEADLINE_S)
        different = tuple(i for ids in json.loads(report.read_text())["varies"].values() for i in ids)
    found = re.search(r"(\d+) of (\d+) pairs match", done.stdout)
    assert found, done.stdout
    return Outcome(topic, int(found[1]), int(found[2]), different)


def explained(table: str) -> dict[str, set[str]]:
    """topic -> patterns of pairs, out of the first cells of the document's rows."""
    found: dict[str, set[str]] = {}
    for row in table.splitlines():
        for part in row.split("|")[1].split(";") if row.startswith("|") else ():
            topic = re.match(r"\s*([\w-]+):", part)
            if topic:
                found.setdefault(topic[1], set()).update(re.findall(r"`([^`]+)`", part))
    return found


def unexplained(outcome: Outcome, table: dict[str, set[str]]) -> tuple[str, ...]:
    """The pairs that differ without a reason being known."""
    patterns = table.get(outcome.topic, ())
    return tuple(i for i in outcome.different if not any(fnmatch(i, p) for p in patterns))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Prints each topic's share and what differs; fails below the share that is promised, and for what
    nobody has explained."""
    if not RECORDINGS.is_dir():
        _say("no recordings beside the project: nothing to replay")
        return 0
    outcomes, bugs, table = [], [], explained(DIFFERENCES.read_text(encoding="utf-8"))
    for topic in sys.argv[1:] or topics():
        outcome = replay(topic)
        outcomes.append(outcome)
        _say("\n    ".join((str(outcome), *outcome.different)))
        bugs += [
            f"{topic}: {one} differs, and {DIFFERENCES.name} has no reason"
            for one in unexplained(outcome, table)
        ]
    total = Outcome("all", sum(o.equal for o in outcomes), sum(o.pairs for o in outcomes), ())
    _say("\n".join((str(total), *bugs)))
    return 0 if not bugs and total.equal >= 0.85 * total.pairs else 1


if __name__ == "__main__":
    sys.exit(main())
