"""One look at everything a lab consists of: the machine, its clusters, what stands in them, the disk.

A lab without clusters and certificates is looked at as if there were none of this: nothing is
opened, nothing imported. What stands inside a cluster is known from the record alone, and counts
as there while it is the same cluster and every object in it is as Forge left it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from forge.errors import ForgeError
from forge.plan import kind
from forge.plan.lab_resources import ClusterResource
from forge.plan.ports import Host
from forge.plan.values import Desired, Key, Observed, Owner, Phase, Recorded, RecordPhase

_ON_DISK = frozenset({"authority", "certificate", "secret"})


@dataclass(frozen=True, slots=True)
class Sight:
    """Where to look. now: Unix seconds, for what expires. held: uids of workloads that are held down on
    purpose: what was done to them is as it should be."""

    host: Host
    lab: kind.Lab
    owner: Owner
    now: float
    recorded: Mapping[Key, Recorded] = field(default_factory=dict)
    held: frozenset[str] = frozenset()


def look(
    sight: Sight,
    desired: Mapping[Key, Desired],
    clusters: Mapping[Key, ClusterResource],
    *,
    partial: bool = False,
) -> dict[Key, Observed]:
    """All that is wanted, recorded or labelled as this environment's. clusters: wanted ones.
    partial: nothing but what is wanted matters."""
    recorded = {k: r for k, r in sight.recorded.items() if not partial or k in desired}
    keys = {*desired, *recorded}
    names = {d.key: d.name for d in desired.values() if d.key.kind in _HOSTED}
    names |= {k: r.name for k, r in recorded.items() if k not in names and k.kind in _HOSTED}
    looks: list[Callable[[], Mapping[Key, Observed]]] = [lambda: sight.host.observe(sight.owner, names)]
    if any(key.kind == "cluster" for key in keys):
        looks.append(lambda: _clusters(sight, clusters, recorded, desired))
    on_disk = [key for key in keys if key.kind in _ON_DISK]
    if on_disk:
        looks.append(lambda: sight.lab.material.observe(sight.owner, on_disk))
    found: dict[Key, Observed] = {}
    for part in _at_once(looks):
        found |= part
    return found


_HOSTED = frozenset({"network", "image", "service"})


def _clusters(
    sight: Sight,
    wanted: Mapping[Key, ClusterResource],
    recorded: Mapping[Key, Recorded],
    desired: Mapping[Key, Desired],
) -> Mapping[Key, Observed]:
    own = {k: r for k, r in recorded.items() if k.kind == "cluster"}
    found = dict(sight.lab.clusters.observe(sight.owner, wanted, own))
    inside = [
        lambda c=cluster: _inside(sight, c, wanted.get(c.key), recorded, desired)
        for cluster in tuple(found.values())
        if cluster.owner == sight.owner
    ]
    for part in _at_once(inside):
        found |= part
    return found


def _inside(
    sight: Sight,
    cluster: Observed,
    resource: ClusterResource | None,
    recorded: Mapping[Key, Recorded],
    desired: Mapping[Key, Desired],
) -> Mapping[Key, Observed]:
    """What stands in one cluster. One that does not answer now is taken at the record's word: it is
    started, or made anew, before anything in it is looked at."""
    name = cluster.key.name
    records = {k: r for k, r in recorded.items() if k.cluster == name and k.kind != "load"}
    wanted = {k.name.partition("/")[2]: k for k in desired if k.kind == "load" and k.cluster == name}
    seen: dict[Key, Observed] = {}
    if cluster.phase is Phase.RUNNING:
        records = {k: r for k, r in records.items() if r.id == cluster.id}
        seen |= _loaded(sight, resource, wanted)
        records = dict(_untouched(sight, name, records))
    for key, record in records.items():
        seen[key] = _as_recorded(sight, key, record)
    return seen


def _loaded(
    sight: Sight, cluster: ClusterResource | None, wanted: Mapping[str, Key]
) -> Mapping[Key, Observed]:
    """Images that are on every node of a cluster, those that are wanted there."""
    if cluster is None or not wanted:
        return {}
    present = sight.lab.images.on_nodes(cluster, tuple(wanted))
    return {
        wanted[ref]: Observed(wanted[ref], None, None, Phase.PRESENT, id=image)
        for ref, image in present.items()
        if ref in wanted
    }


def _untouched(sight: Sight, cluster: str, records: Mapping[Key, Recorded]) -> Iterator[tuple[Key, Recorded]]:
    """Records whose objects are all there as Forge left them, and whose file is."""
    refs = {ref for record in records.values() for ref in record.objects}
    now = sight.lab.kube(cluster).observe(refs) if refs else {}
    for key, record in records.items():
        alive = all(
            ref in now and (ref.is_as_left(now[ref]) or now[ref].uid == ref.uid in sight.held)
            for ref in record.objects
        )
        if alive and (not _is_a_file(record) or sight.lab.files.exists(record.name)):
            yield key, record
        elif alive or any(ref in now for ref in record.objects):
            yield key, replace(record, fingerprint="")


def _is_a_file(record: Recorded) -> bool:
    return record.key.kind == "step" and bool(record.name)


def _as_recorded(sight: Sight, key: Key, record: Recorded) -> Observed:
    """A record as an observation. An empty fingerprint: something else changed it since."""
    phase = Phase.PRESENT
    detail = ""
    if record.phase is not RecordPhase.CREATED:
        phase, detail = Phase.BROKEN, "it was only half made"
    elif record.expires_at is not None and record.expires_at <= sight.now:
        phase, detail = Phase.BROKEN, "it must be made anew before it expires"
    elif not record.fingerprint:
        phase, detail = Phase.BROKEN, "somebody else changed it"
    return Observed(key, sight.owner, record.fingerprint or None, phase, id=record.id, detail=detail)


def _at_once(
    looks: Collection[Callable[[], Mapping[Key, Observed]]],
) -> Iterator[Mapping[Key, Observed]]:
    """The answers of calls made side by side. Raises the first one's error, once all have ended."""
    if len(looks) == 1:
        yield from (call() for call in looks)
        return
    if not looks:
        return
    with ThreadPoolExecutor(max_workers=len(looks)) as pool:
        futures = [pool.submit(call) for call in looks]
    errors = [e for f in futures if isinstance(e := f.exception(), ForgeError)]
    if errors:
        raise errors[0]
    yield from (future.result() for future in futures)
