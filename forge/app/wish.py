"""What the file asks for, as Desired values: read anew, or remembered from the last `up`.

Reading YAML, checking it and settling every value takes longer than all the rest of an `up` that
has nothing to do. So `up` leaves the outcome beside the state: keys, names, fingerprints and needs,
which is all that a diff takes, and never a value of the file. It is used only while the file's
bytes, those of the files it names, this Forge, the runtime, the allocation and all that templates
read are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge import __version__
from forge.app.lab import Lab, choose_runtime
from forge.errors import UsageError
from forge.plan.facts import Facts
from forge.plan.kind import Context
from forge.plan.lab_ports import Seen
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Allocation, Condition, Desired, Key, Need

if TYPE_CHECKING:
    from forge.plan import kind
    from forge.plan.allocate import Wanted
    from forge.plan.ports import Host
    from forge.spec.model import Environment
    from forge.state.model import State

Note = Callable[[str], None]
Doors = Callable[[str], "kind.Lab"]
"""runtime -> the ports beside the host's."""

DEFAULT_POOL = 20
"""Load-balancer addresses of a cluster where the file says nothing of them."""

_FACTUAL = frozenset({"authority", "certificate", "secret"})


@dataclass(frozen=True, slots=True)
class Opened:
    """host, doors: open what belongs to a runtime."""

    host: Callable[[str], Host]
    doors: Doors


@dataclass(frozen=True, slots=True)
class Wish:
    """environment: its name. digest: of the file's bytes. from_cache: resources are None then.
    inputs: names of the variables it used. clusters: those that are wanted, also from the cache.
    read: files that were read for it. spec: the file itself; None from the cache."""

    environment: str
    runtime: str
    digest: str
    allocation: Allocation
    desired: Mapping[Key, Desired]
    inputs: tuple[str, ...] = ()
    from_cache: bool = False
    clusters: Mapping[Key, ClusterResource] = field(default_factory=dict)
    read: tuple[Seen, ...] = ()
    spec: Environment | None = None


def remembered(lab: Lab, state: State | None, doors: Doors) -> Wish | None:
    """The wish of the last `up`, if nothing it depends on has changed since; None otherwise."""
    if state is None or not state.runtime or lab.options.runtime not in (None, "auto", state.runtime):
        return None
    try:
        document = json.loads(_cache(lab).read_text(encoding="utf-8"))
        names = tuple(document["inputs"])
        facts = known(state, doors(state.runtime)) if document["factual"] else Facts()
        if document["key"] != _cache_key(lab, file_digest(lab), state, names, facts):
            return None
        read = tuple(Seen.parse(entry) for entry in document["read"])
        if read and not all(map(doors(state.runtime).files.is_current, read)):
            return None
        desired = {d.key: d for d in map(_from_json, document["desired"])}
        clusters = {c.key: c.resource for c in map(_cluster_from_json, document["clusters"])}
        return Wish(
            document["environment"],
            state.runtime,
            document["digest"],
            state.allocation,
            desired,
            from_cache=True,
            clusters=clusters,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(lab: Lab, wish: Wish, state: State, doors: Doors) -> None:
    """Leaves the wish for the next run. A failure to do so costs time, nothing else. What was settled
    only while the lab was made is settled now for good."""
    factual = bool(wish.clusters) or any(k.kind in _FACTUAL for k in wish.desired)
    facts = known(state, doors(wish.runtime)) if factual else Facts()
    document = {
        "key": _cache_key(lab, wish.digest, state, wish.inputs, facts),
        "factual": factual,
        "inputs": list(wish.inputs),
        "environment": wish.environment,
        "digest": wish.digest,
        "read": [seen.to_json() for seen in wish.read],
        "clusters": [_cluster_to_json(key, c) for key, c in wish.clusters.items()],
        "desired": [_to_json(d) for d in wish.desired.values()],
    }
    path = _cache(lab)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(document), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        path.unlink(missing_ok=True)


def read(lab: Lab, state: State | None, opened: Opened, note: Note) -> tuple[Wish, Host]:
    """The wish as the file says it now, with every address chosen. Looks at the machine for room
    only when something new needs some. Raises ConfigErrors, UsageError, OperationFailed."""
    from forge import catalog
    from forge.spec.load import load

    loaded = load(lab.config, environ=os.environ)
    for warning in loaded.warnings:
        note(f"warning: {warning.place}: {warning.message}")
    spec = loaded.environment
    if state is not None and state.resources and state.owner.environment != spec.metadata.name:
        raise UsageError(
            "FG0405",
            f"this lab is up as {state.owner.environment!r}, and the file says {spec.metadata.name!r}",
            hint="run `praxis-forge down` first, or restore the name",
            changed=False,
        )
    runtime = choose_runtime(lab, spec.spec, state, note)
    host = opened.host(runtime)
    allocation = _allocation(spec, runtime, state, host)
    doors = opened.doors(runtime)
    context = context_of(lab, spec, runtime, allocation, state, doors)
    desired = catalog.desire(spec, context)
    wish = Wish(
        spec.metadata.name,
        runtime,
        loaded.digest,
        allocation,
        desired,
        tuple(loaded.inputs),
        clusters=catalog.clusters(desired),
        read=doors.files.seen() if _reads_files(spec) else (),
        spec=spec,
    )
    return wish, host


def context_of(
    lab: Lab,
    spec: Environment,
    runtime: str,
    allocation: Allocation,
    state: State | None,
    doors: kind.Lab,
) -> Context:
    """What desires are settled with, as far as it is known now."""
    made = spec.spec.clusters or spec.spec.certificates or spec.spec.secrets
    facts = known(state, doors) if made and state is not None else Facts()
    facts = replace(facts, addresses=allocation.addresses, pools=allocation.pools)
    files = doors.files.within(spec.spec.root) if _reads_files(spec) else None
    return Context(str(lab.root), str(lab.state_dir), runtime, allocation, facts, files)


def _reads_files(spec: Environment) -> bool:
    """Whether what is asked for depends on what stands in other files: manifests, a build's context."""
    return bool(spec.spec.clusters) or any(image.build is not None for image in spec.spec.images)


def known(state: State, doors: kind.Lab) -> Facts:
    """What templates may read, of what is there: captures, and the hashes of what Forge made."""
    fingerprints, previous, secrets = doors.material.fingerprints()
    return Facts(
        captures=state.captures,
        pools=state.allocation.pools,
        fingerprints=fingerprints,
        previous=previous,
        addresses=state.allocation.addresses,
        secrets=secrets,
    )


def file_digest(lab: Lab) -> str:
    """SHA-256 of the file's bytes, in hex. Raises OSError."""
    return hashlib.sha256(lab.config.read_bytes()).hexdigest()


def _allocation(spec: Environment, runtime: str, state: State | None, host: Host) -> Allocation:
    from forge.plan.allocate import allocate, is_settled

    wanted = _wanted(spec, runtime)
    recorded = state.allocation if state is not None else Allocation()
    if is_settled(wanted, recorded):
        return allocate(wanted, recorded, {})
    return allocate(wanted, recorded, host.survey(()).subnets)


def _wanted(spec: Environment, runtime: str) -> Wanted:
    """What needs room. KIND clusters are on the lab network, where an embedded one has its block."""
    from forge.kinds.service import addressed
    from forge.plan.allocate import Wanted

    services = addressed(spec, runtime)
    network = spec.spec.network
    own = tuple(c.name for c in spec.spec.clusters if c.driver != "existing")
    balancer = network.load_balancer if network is not None else None
    pooled = balancer is None or balancer.type != "none"
    return Wanted(
        environment=spec.metadata.name,
        runtime=runtime,
        network=bool(services or own) or (network is not None and network.cross_cluster),
        services=services,
        subnet=None if network is None or runtime == "embedded" else network.subnet,
        clusters=own,
        embedded=own if runtime == "embedded" else (),
        pool_size=(balancer.pool_size if balancer is not None else DEFAULT_POOL) if pooled and own else 0,
    )


def _cache(lab: Lab) -> Path:
    return lab.state_dir / "cache" / "wish.json"


def _cache_key(lab: Lab, digest: str, state: State, inputs: tuple[str, ...], facts: Facts) -> str:
    """inputs: names; their values go into the hash, and nowhere else."""
    allocation = state.allocation
    parts = [__version__, digest, state.runtime, str(lab.config), str(lab.state_dir), str(allocation.subnet)]
    parts += [f"{name}={os.environ.get(name)}" for name in inputs]
    for given in (allocation.addresses, allocation.pools, allocation.blocks):
        parts += [f"{name}={address}" for name, address in sorted(given.items())]
    parts.append(
        json.dumps([facts.captures, facts.fingerprints, facts.previous, facts.secrets], sort_keys=True)
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _to_json(desired: Desired) -> dict[str, Any]:
    return {
        "key": str(desired.key),
        "name": desired.name,
        "fingerprint": desired.fingerprint,
        "needs": [[str(need.key), need.condition.value] for need in desired.needs],
        "start": desired.start,
        "gated": desired.gated,
        "replacesWith": [str(key) for key in desired.replaces_with],
        "owned": desired.owned,
        "inPlace": desired.in_place,
        "follows": [str(key) for key in desired.follows],
    }


def _from_json(value: Mapping[str, Any]) -> Desired:
    return Desired(
        key=Key.parse(value["key"]),
        name=value["name"],
        fingerprint=value["fingerprint"],
        resource=None,
        needs=tuple(Need(Key.parse(key), Condition(condition)) for key, condition in value["needs"]),
        start=value["start"],
        gated=value["gated"],
        replaces_with=tuple(Key.parse(key) for key in value["replacesWith"]),
        owned=value["owned"],
        in_place=value["inPlace"],
        follows=tuple(map(Key.parse, value["follows"])),
    )


@dataclass(frozen=True, slots=True)
class _Cluster:
    key: Key
    resource: ClusterResource


def _cluster_to_json(key: Key, cluster: ClusterResource) -> dict[str, Any]:
    return {"key": str(key), **asdict(cluster)}


def _cluster_from_json(value: dict[str, Any]) -> _Cluster:
    fields = {k: v for k, v in value.items() if k != "key"}
    fields["driver"] = Driver(fields["driver"])
    fields["images"] = {k: tuple(v) for k, v in fields["images"].items()}
    return _Cluster(Key.parse(value["key"]), ClusterResource(**fields))
