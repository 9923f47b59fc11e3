"""The cluster verbs: list, kubeconfig, load-image, kubectl. They change nothing that `up` made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forge.app.lab import Lab
from forge.app.up import DEFAULTS, Request
from forge.errors import ForgeError, NotOurs, ToolMissing, UsageError
from forge.plan.clusters import ClusterLine
from forge.plan.values import Key, Observed, Owner, Recorded
from forge.state.model import State

if TYPE_CHECKING:
    from forge.plan import kind
    from forge.plan.kubeconfigs import Document
    from forge.plan.ports import Cancel


@dataclass(frozen=True, slots=True)
class Found:
    """The clusters of a lab that is up, as recorded."""

    state: State
    doors: kind.Lab
    recorded: Mapping[Key, Recorded]


def _found(lab: Lab, request: Request) -> Found:
    state = lab.state()
    doors = request.opened(lab, state.owner).doors(state.runtime)
    return Found(state, doors, {k: r for k, r in state.resources.items() if k.kind == "cluster"})


def clusters(lab: Lab, request: Request = DEFAULTS) -> tuple[ClusterLine, ...]:
    """The clusters that are recorded, as they are now. Raises UsageError FG0401 when nothing is up."""
    found = _found(lab, request)
    if not found.recorded:
        return ()
    live = found.doors.clusters.observe(found.state.owner, {}, found.recorded)
    return tuple(_line(found, key, live.get(key)) for key in sorted(found.recorded))


def _line(found: Found, key: Key, live: Observed | None) -> ClusterLine:
    full_name, pool = found.recorded[key].name, found.state.allocation.pools.get(key.name, "")
    try:
        access = found.doors.clusters.access(key.name)
    except ForgeError:
        return ClusterLine(key.name, full_name, live, pool=pool)
    return ClusterLine(key.name, full_name, live, access.context, access.server, str(access.kubeconfig), pool)


def kubeconfig(
    lab: Lab, names: Sequence[str], *, network: bool = False, request: Request = DEFAULTS
) -> Document:
    """One document with these clusters, or all. network: with the addresses by which other clusters and
    services of the lab reach them."""
    return _document(_found(lab, request), names, network=network)


def _document(found: Found, names: Sequence[str], *, network: bool) -> Document:
    from forge.host.clusters import kubeconfig as files
    from forge.plan.kubeconfigs import together

    documents = []
    for name in _chosen(found, names):
        access = found.doors.clusters.access(name)
        config = files.read(access.kubeconfig, access.context)
        documents.append(json.loads((config.at(access.network_server) if network else config).text()))
    return together(documents)


def _chosen(found: Found, names: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError FG0784 for one that is not here."""
    there = sorted(key.name for key in found.recorded)
    unknown = [name for name in names if name not in there]
    if unknown or not there:
        raise UsageError(
            "FG0784",
            f"no cluster called {', '.join(map(repr, unknown))} is here"
            if unknown
            else "there are no clusters here",
            hint=f"clusters here: {', '.join(there) or 'none'}",
            changed=False,
        )
    return tuple(dict.fromkeys(names)) or tuple(there)


def merge(
    lab: Lab,
    names: Sequence[str],
    *,
    network: bool = False,
    environ: Mapping[str, str] = os.environ,
    request: Request = DEFAULTS,
) -> tuple[Path, tuple[str, ...]]:
    """Puts them into the user's kubeconfig; gives that file and their contexts. `down` takes them out.

    Raises NotOurs FG0777 where names are taken, OperationFailed FG0778, FG0786; nothing was changed then.
    """
    from forge.host import kubeconfigs as files
    from forge.plan.kubeconfigs import clashes, merged

    found = _found(lab, request)
    owner, new = found.state.owner, _document(found, names, network=network)
    file = files.users_file(environ, Path.home()).absolute()

    def into(document: Document) -> Document:
        taken = clashes(document, new, owner)
        if taken:
            raise NotOurs(
                "FG0777",
                f"{file} has entries of these names already",
                why=f"{', '.join(taken)} {'is' if len(taken) == 1 else 'are'} not this environment's",
                hint="remove them, or use another file: praxis-forge cluster kubeconfig --out-file PATH",
                changed=False,
            )
        return merged(document, new, owner)

    _remember(lab, file)
    files.change(file, into)
    return file, tuple(str(entry["name"]) for entry in new["contexts"])


def _note(lab: Lab) -> Path:
    """Where it is kept into which files clusters were merged."""
    return lab.state_dir / "cache" / "merged.json"


def _remember(lab: Lab, file: Path) -> None:
    note = _note(lab)
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = note.with_suffix(".tmp")
    temporary.write_text(json.dumps(sorted({str(file), *_merged_into(lab)})), encoding="utf-8")
    temporary.replace(note)


def _merged_into(lab: Lab) -> tuple[str, ...]:
    try:
        found = json.loads(_note(lab).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def unmerge(lab: Lab, owner: Owner, note: Callable[[str], None]) -> None:
    """Takes the environment's clusters out of every kubeconfig they were put into. What cannot be
    changed is told and left: stale entries do no harm to anything that `down` does."""
    from forge.host import kubeconfigs as files
    from forge.plan.kubeconfigs import without

    for file in _merged_into(lab):
        try:
            if Path(file).exists():
                files.change(Path(file), lambda document: without(document, owner))
        except ForgeError as error:
            note(f"this environment's clusters are still in {file}: {error.why or error.what}")
    with suppress(OSError):
        _note(lab).unlink()


def load_images(
    lab: Lab,
    name: str,
    references: Sequence[str],
    note: Callable[[str], None],
    cancel: Cancel,
    request: Request = DEFAULTS,
) -> tuple[tuple[str, str], ...]:
    """Brings images of this machine onto every node of a cluster; gives each with its id."""
    from forge.app import wish as wishes

    found = _found(lab, request)
    _chosen(found, [name])
    opened = request.opened(lab, found.state.owner)
    wish, _ = wishes.read(lab, found.state, opened, note)
    cluster = wish.clusters.get(Key("cluster", name))
    if cluster is None:
        raise UsageError(
            "FG0784", f"cluster {name!r} is not in {lab.config} any more", hint="run `up`", changed=False
        )
    loaded = []
    for reference in dict.fromkeys(references):
        say = _prefixed(note, reference)
        loaded.append((reference, found.doors.images.load(reference, [cluster], say, cancel)))
    return tuple(loaded)


def _prefixed(note: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda text: note(f"{prefix}: {text}")


def kubectl(lab: Lab, name: str, request: Request = DEFAULTS) -> tuple[str, dict[str, str]]:
    """The user's kubectl, and the environment in which it speaks to a cluster of this lab alone. Raises
    ToolMissing FG0779."""
    import shutil

    found = _found(lab, request)
    (chosen,) = _chosen(found, [name])
    access = found.doors.clusters.access(chosen)
    program = shutil.which("kubectl")
    if program is None:
        raise ToolMissing(
            "FG0779",
            "kubectl is not there",
            why="no program of that name is on PATH",
            hint="install it; Forge itself needs none",
            changed=False,
        )
    return program, {**os.environ, "KUBECONFIG": str(access.kubeconfig)}
