"""What a scenario does to a lab: ask, break, mend. Each gives an Act; faults are noted on the timeline."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from e2e.lab import CONTROL, MARK, MODEL, US, Lab
from e2e.scenario import Act, Broken, Run
from e2e.wire import Answer


def both(*acts: Act) -> Act:
    """One after the other."""

    def act(run: Run) -> None:
        for each in acts:
            each(run)

    return act


def ask(
    name: str,
    *,
    edge: str = US,
    model: str = MODEL,
    session: str | None = None,
    headers: Mapping[str, str] | None = None,
    key: str | None = None,
) -> Act:
    """One request to an edge; its answer is remembered under *name*."""

    def act(run: Run) -> None:
        client = run.lab.client(edge)
        run.memory["edge"] = edge
        run.memory[name] = client.chat(model, session=session, headers=headers, key=key)
        client.connection.close()

    return act


def remember_state(edge: str = US) -> Act:
    """Marks who runs (`marked`: service -> id, pid, started_at, restarts), and remembers the edge's
    revision and count of rejections."""

    def act(run: Run) -> None:
        run.memory["marked"] = run.lab.forge.data("evidence", "mark", MARK)["services"]
        status = run.lab.edge_status(edge)
        if status.serving is None or status.serving.revision is None:
            raise Broken(f"edge-{edge} has no overlay: {', '.join(map(str, status.not_ready))}")
        run.memory["revision_before"] = status.serving.revision
        run.memory["rejections_before"] = status.rejections

    return act


def remember_workloads(workloads: Collection[tuple[str, str]]) -> Act:
    """(cluster, Deployment): what a rollout would change."""

    def act(run: Run) -> None:
        for cluster, name in workloads:
            seen = run.lab.workload(cluster, "deployment", name)
            run.memory[f"workload {cluster}/deployment/{name}"] = seen

    return act


def fault(how: str, *names: str) -> Act:
    """`praxis-forge fault stop|kill` on workloads, services or clusters, in one command. It counts from
    the instant at which the last of them was begun, as Forge's journal has it."""

    def act(run: Run) -> None:
        run.memory.setdefault("faulty", set()).update(names)
        run.lab.forge("fault", how, *names)
        begun = {f["name"]: f["at"] for f in run.lab.forge.data("fault", "list")["faults"]}
        at = max((begun[name] for name in names if name in begun), default=None)
        run.mark("fault", f"{how} {', '.join(_short(name) for name in names)}", at)

    return act


def _short(name: str) -> str:
    """`provider-east/sim-a` of a workload's whole name."""
    parts = name.split("/")
    return name if len(parts) < 3 else f"{parts[0]}/{parts[-1]}"


def restore(*names: str) -> Act:
    """Ends faults."""

    def act(run: Run) -> None:
        run.mark("fault", f"restore {', '.join(map(_short, names))}")
        run.lab.forge("fault", "restore", *names)
        run.memory.get("faulty", set()).difference_update(names)

    return act


def restore_all(run: Run) -> None:
    """Ends every fault that this run began."""
    names = sorted(run.memory.get("faulty", ()))
    if names:
        restore(*names)(run)


def patch_overlay(text: str, edge: str = US) -> Act:
    """Writes something else into the overlay's ConfigMap, behind the operator's back."""

    def act(run: Run) -> None:
        run.mark("fault", "a hand edits the overlay's ConfigMap")
        run.lab.kube(CONTROL).merge(run.lab.overlay_path(edge), {"data": {"grid-config.json": text}})

    return act


def replace_overlay_file(text: str, edge: str = US) -> Act:
    """Puts another file in the place of the one the edge reads, by rename as overlay-sync does."""

    def act(run: Run) -> None:
        run.mark("fault", "a hand replaces the overlay's file")
        replace_file(run.lab.overlay_file(edge), text)

    return act


def replace_file(path: Path, text: str) -> None:
    """By rename, so that nobody reads half of it; with the mode the old one had."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(mode)
    Path(name).replace(path)


def tampered(lab: Lab, edge: str = US) -> str:
    """The overlay in force with one word changed: its digest does not fit any more."""
    found = lab.kube(CONTROL).get(lab.overlay_path(edge))
    if found is None:
        raise Broken("there is no overlay to change")
    document = json.loads(found["data"]["grid-config.json"])
    document["content_digest"] = "sha256:" + "0" * 64
    return json.dumps(document)


def ask_many(name: str, sessions: Collection[str], *, edge: str = US) -> Act:
    """One request a session; session -> answer is remembered under *name*."""

    def act(run: Run) -> None:
        client = run.lab.client(edge)
        answers: dict[str, Answer] = {s: client.chat(session=s) for s in sessions}
        run.memory[name] = answers
        run.memory["edge"] = edge
        client.connection.close()

    return act
