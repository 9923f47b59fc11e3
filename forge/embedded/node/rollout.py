"""How a Deployment's ReplicaSets are to stand next, and how it itself stands. Pure.

A roll-out is a walk in which every step is allowed: never more pods than replicas + maxSurge, never
fewer available ones than replicas - maxUnavailable. The new set grows as far as the first rule lets it,
then old sets shrink, sick pods first, as far as the second does; ready pods make the next step possible.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from forge.embedded.api.values import Json, dig
from forge.embedded.node.objects import name_of, uid_of
from forge.embedded.node.pods import condition, instant

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_NOT_COPIED = (REVISION, HISTORY, DESIRED, MOST, "kubectl.kubernetes.io/last-applied-configuration")


def template_hash(template: Json, collisions: int) -> str:
    """A label value that tells templates apart. collisions: of names, so far."""
    text = json.dumps([template, collisions], sort_keys=True)
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:10])


def same_template(deployment: Json, replica_set: Json) -> bool:
    """Equal but for the label that the Deployment adds."""
    return _plain(deployment["spec"]["template"]) == _plain(replica_set["spec"]["template"])


def _plain(template: Json) -> Json:
    meta = template.get("metadata") or {}
    labels = {k: v for k, v in (meta.get("labels") or {}).items() if k != HASH}
    own = {k: v for k, v in meta.items() if v and k not in ("labels", "creationTimestamp")}
    return {"metadata": own | {"labels": labels}, "spec": template.get("spec")}


def current(deployment: Json, sets: Sequence[Json]) -> Json | None:
    """The set of the Deployment's present template: the oldest of several; None before it is made."""
    alike = [s for s in sets if same_template(deployment, s)]
    return min(alike, key=lambda s: (s["metadata"].get("creationTimestamp", ""), name_of(s)), default=None)


def revision(replica_set: Json) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a roll-out may go. surge: pods over replicas. unavailable: pods under it."""

    replicas: int
    surge: int
    unavailable: int


def bounds(deployment: Json) -> Bounds:
    """Percentages of surge are rounded up, of unavailability down; both may not be 0."""
    replicas = int(deployment["spec"].get("replicas") or 0)
    if dig(deployment, "spec", "strategy", "type") == "Recreate":
        return Bounds(replicas, 0, replicas)
    rolling = dig(deployment, "spec", "strategy", "rollingUpdate") or {}
    surge = _amount(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = _amount(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if not surge and not unavailable:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def _amount(value: Any, of: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        exact = int(value[:-1]) * of / 100
        return math.ceil(exact) if up else math.floor(exact)
    return int(value)


def sizes(deployment: Json, new: Json | None, old: Sequence[Json]) -> dict[str, int]:
    """The next number of replicas of each set that is to change, by uid. *new* None: none is made yet,
    and old sets are scaled alone, which happens while the Deployment is paused."""
    limit = bounds(deployment)
    if deployment["spec"].get("paused") or new is None:
        return _scaled(limit, [s for s in [new, *old] if s is not None])
    if dig(deployment, "spec", "strategy", "type") == "Recreate":
        return _recreated(limit, new, old)
    return _rolled(limit, new, old)


def _size(replica_set: Json) -> int:
    return int(replica_set["spec"].get("replicas") or 0)


def _available(replica_set: Json) -> int:
    return int(dig(replica_set, "status", "availableReplicas") or 0)


def _present(replica_set: Json) -> int:
    return int(dig(replica_set, "status", "replicas") or 0)


def _scaled(limit: Bounds, sets: Sequence[Json]) -> dict[str, int]:
    """Shares what is more or less evenly: the largest takes what the shares leave."""
    active = sorted((s for s in sets if _size(s)), key=_size, reverse=True)
    if not active:
        newest = max(sets, key=revision, default=None)
        return {uid_of(newest): limit.replicas} if newest is not None and limit.replicas else {}
    total = sum(_size(s) for s in active)
    if len(active) > 1 and total <= limit.replicas + limit.surge and total >= limit.replicas:
        return {}
    shares = {uid_of(s): _size(s) * limit.replicas // total for s in active}
    shares[uid_of(active[0])] += limit.replicas - sum(shares.values())
    return {
        uid: size
        for uid, size in shares.items()
        if size != next(_size(s) for s in active if uid_of(s) == uid)
    }


def _recreated(limit: Bounds, new: Json, old: Sequence[Json]) -> dict[str, int]:
    """All old pods go before the first new one comes."""
    going = {uid_of(s): 0 for s in old if _size(s)}
    if going or any(_present(s) for s in old):
        return going
    return {uid_of(new): limit.replicas} if _size(new) != limit.replicas else {}


def _rolled(limit: Bounds, new: Json, old: Sequence[Json]) -> dict[str, int]:
    total = _size(new) + sum(_size(s) for s in old)
    size = _size(new)
    if size > limit.replicas:
        size = limit.replicas
    elif size < limit.replicas:
        size = min(limit.replicas, size + max(0, limit.replicas + limit.surge - total))
    changed = {uid_of(new): size} if size != _size(new) else {}
    return changed | _shrunk(limit, size, new, old)


def _shrunk(limit: Bounds, size: int, new: Json, old: Sequence[Json]) -> dict[str, int]:
    """Old sets after this step: first pods that are not available anyway, then by availability."""
    left = {uid_of(s): _size(s) for s in old}
    total = size + sum(left.values())
    least = limit.replicas - limit.unavailable
    spare = total - least - max(0, size - _available(new))
    by_age = sorted((s for s in old if _size(s)), key=lambda s: s["metadata"].get("creationTimestamp", ""))
    for one in by_age:
        sick = min(max(0, _size(one) - _available(one)), max(0, spare))
        left[uid_of(one)] -= sick
        spare -= sick
    available = _available(new) + sum(min(_available(s), left[uid_of(s)]) for s in old)
    spare = min(spare, available - least)
    for one in by_age:
        going = min(left[uid_of(one)], max(0, spare))
        left[uid_of(one)] -= going
        spare -= going
    return {uid_of(s): left[uid_of(s)] for s in old if left[uid_of(s)] != _size(s)}


def superfluous(deployment: Json, old: Sequence[Json]) -> list[Json]:
    """Old sets beyond the history limit that hold nothing any more, the oldest first."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    empty = [s for s in old if not _size(s) and not _present(s)]
    excess = len(old) - int(10 if limit is None else limit)
    return sorted(empty, key=revision)[: max(0, excess)]


def copied_annotations(deployment: Json) -> Json:
    """What a Deployment hands down to its sets."""
    held = deployment["metadata"].get("annotations") or {}
    return {k: v for k, v in held.items() if k not in _NOT_COPIED}


def status(deployment: Json, new: Json | None, sets: Sequence[Json], now: datetime) -> Json:
    """How the Deployment stands with these sets."""
    limit = bounds(deployment)
    total = sum(_present(s) for s in sets)
    available = sum(_available(s) for s in sets)
    counts = {
        "replicas": total,
        "updatedReplicas": _present(new) if new is not None else 0,
        "readyReplicas": sum(int(dig(s, "status", "readyReplicas") or 0) for s in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, limit.replicas - available) if total or limit.replicas else 0,
    }
    whole: Json = {"observedGeneration": deployment["metadata"].get("generation", 1)}
    whole |= {k: v for k, v in counts.items() if v}
    collisions = dig(deployment, "status", "collisionCount")
    if collisions:
        whole["collisionCount"] = collisions
    whole["conditions"] = _conditions(deployment, new, counts, limit, now)
    return whole


def _conditions(
    deployment: Json, new: Json | None, counts: dict[str, int], limit: Bounds, now: datetime
) -> list[Json]:
    enough = counts["availableReplicas"] >= limit.replicas - limit.unavailable
    available = _condition(
        deployment,
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    progressing = _progress(deployment, new, counts, limit, now)
    return [available, progressing] if progressing else [available]


def is_complete(counts: dict[str, int], replicas: int) -> bool:
    return all(counts[k] == replicas for k in ("replicas", "updatedReplicas", "availableReplicas"))


def _progress(
    deployment: Json, new: Json | None, counts: dict[str, int], limit: Bounds, now: datetime
) -> Json | None:
    old = condition(deployment, "Progressing")
    name = name_of(new) if new is not None else name_of(deployment)
    said = f'ReplicaSet "{name}"' if new is not None else f'Deployment "{name}"'
    if deployment["spec"].get("paused"):
        return _condition(
            deployment, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now
        )
    if is_complete(counts, limit.replicas):
        message = f"{said} has successfully progressed."
        return _condition(deployment, "Progressing", "True", "NewReplicaSetAvailable", message, now)
    if old.get("reason") == "DeploymentPaused":
        return _condition(
            deployment,
            "Progressing",
            "Unknown",
            "DeploymentResumed",
            "Deployment is resumed",
            now,
            moved=True,
        )
    before: Json = deployment.get("status") or {}
    observed = before.get("observedGeneration") == deployment["metadata"].get("generation")
    moved = not observed or any(
        counts[k] != int(before.get(k) or 0)
        for k in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )
    if old and not moved and _is_late(deployment, old, now):
        message = f"{said} has timed out progressing."
        return _condition(deployment, "Progressing", "False", "ProgressDeadlineExceeded", message, now)
    if old.get("reason") == "ProgressDeadlineExceeded" and not moved:
        return old
    if not old:
        message = f'Created new replica set "{name}"'
        return _condition(deployment, "Progressing", "True", "NewReplicaSetCreated", message, now)
    message = f"{said} is progressing."
    return _condition(deployment, "Progressing", "True", "ReplicaSetUpdated", message, now, moved=moved)


def late_in_s(deployment: Json, now: datetime) -> float | None:
    """Seconds until the roll-out counts as stuck; None when it is not under way."""
    held = condition(deployment, "Progressing")
    if held.get("status") != "True" or held.get("reason") == "NewReplicaSetAvailable":
        return None
    since = instant(held.get("lastUpdateTime"))
    deadline_s = float(deployment["spec"].get("progressDeadlineSeconds") or 600)
    return max(0.1, deadline_s - (now - since).total_seconds()) if since else None


def _is_late(deployment: Json, old: Json, now: datetime) -> bool:
    since = instant(old.get("lastUpdateTime"))
    deadline_s = float(deployment["spec"].get("progressDeadlineSeconds") or 600)
    stuck = old.get("status") == "True" and old.get("reason") != "NewReplicaSetAvailable"
    return stuck and since is not None and (now - since).total_seconds() >= deadline_s


def _condition(
    deployment: Json, kind: str, word: str, reason: str, message: str, now: datetime, *, moved: bool = False
) -> Json:
    """Unchanged unless its status or reason differ, or the roll-out moved."""
    old = condition(deployment, kind)
    if (old.get("status"), old.get("reason"), old.get("message")) == (word, reason, message) and not moved:
        return old
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    changed = old.get("lastTransitionTime") if old.get("status") == word else at
    return {
        "type": kind,
        "status": word,
        "lastUpdateTime": at,
        "lastTransitionTime": changed,
        "reason": reason,
        "message": message,
    }
