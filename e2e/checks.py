"""The vocabulary of what can be seen of the lab, one function an observable, generic over who and what.

Each gives a Show: looked at, it gives Evidence or raises NotYet with what is seen instead. `eventually`
(e2e/scenario.py) makes one wait. A check whose precondition is broken raises Broken.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from e2e.kube import APPS
from e2e.lab import CANDIDATES, CONTROL, EAST, MARK, US, WEST, LabMissing
from e2e.scenario import Act, Broken, Evidence, NotYet, Run, Show
from e2e.wire import Answer
from grid.contract.overlay import Admission, Candidate, Overlay
from grid.contract.reasons import OverlayRejected, RejectReason
from grid.contract.status import StatusRejected

Holds = Callable[[Overlay], "str | None"]
"""None where an overlay is as it should be, else what is seen instead."""

SIMULATORS = "app in (sim, sim-a, sim-b)"


def answered(name: str, status: int = 200) -> Show:
    """The answer that a step remembered under *name* has a status."""

    def show(run: Run) -> Evidence:
        answer: Answer = run.recall(name)
        if answer.status != status:
            raise NotYet(f"status {answer.status} {answer.error} {answer.body[:200]!r}, wanted {status}")
        facts = {"status": status, "request_id": answer.request_id, "took_ms": round(answer.took_s * 1e3, 1)}
        return Evidence(f"the answer is {status}", f"{status} in {answer.took_s * 1e3:.0f} ms", facts)

    return show


def handled_by(name: str, site: str) -> Show:
    """The request that a step remembered was decided for a provider of *site*, and a simulator there
    says that it answered it: the same id in the edge's log and in the simulator's."""

    def show(run: Run) -> Evidence:
        answer: Answer = run.recall(name)
        if not answer.request_id:
            raise Broken(f"the answer {name!r} has no request id")
        decided = _with_id(run.lab.log(f"grid-edge-{run.memory.get('edge', US)}"), answer.request_id)
        if decided is None:
            raise NotYet("the edge's log does not have the request")
        if not str(decided.get("cluster", "")).startswith(f"gateway-{site}"):
            raise NotYet(f"the edge sent it to {decided.get('cluster')}, wanted {site}")
        served = _with_id(run.lab.pod_log(site, SIMULATORS), answer.request_id)
        if served is None:
            raise NotYet(f"no simulator in {site} has the request in its log")
        facts = {
            "request_id": answer.request_id,
            "cluster": decided["cluster"],
            "reason": decided.get("reason"),
            "provider": served["provider"],
        }
        return Evidence(f"{site} handled it", f"{served['provider']} by {decided['cluster']}", facts)

    return show


def overlay(claim: str, holds: Holds, edge: str = US) -> Show:
    """The rendered overlay is as *holds* wants it. holds: None where it is, else what is seen instead."""

    def show(run: Run) -> Evidence:
        try:
            found = run.lab.rendered(edge)
        except (LabMissing, OverlayRejected) as missing:
            raise NotYet(str(missing)) from missing
        instead = holds(found)
        if instead is not None:
            raise NotYet(f"revision {found.revision}: {instead}")
        run.memory["revision"] = found.revision
        return Evidence(claim, f"revision {found.revision}", {"revision": found.revision})

    return show


def closed(site: str, *, names: Collection[str] = ()) -> Holds:
    """No candidate of a site (with one of these clusters, where any are named) takes new work."""

    def holds(found: Overlay) -> str | None:
        still = [c for c in _of(found, site, names) if c.admission is Admission.NEW_AND_EXISTING]
        return f"{', '.join(c.cluster for c in still)} still open to new work" if still else None

    return holds


def open_to_new(site: str, *, names: Collection[str] = ()) -> Holds:
    """Some candidate of a site takes new work, and where clusters are named, each of them."""

    def holds(found: Overlay) -> str | None:
        open_now = {c.cluster for c in _of(found, site, names) if c.admission is Admission.NEW_AND_EXISTING}
        missing = set(names) - open_now if names else (set() if open_now else {site})
        return f"{', '.join(sorted(missing))} not open to new work" if missing else None

    return holds


def gone_or_none(site: str) -> Holds:
    """No candidate of a site takes any work."""

    def holds(found: Overlay) -> str | None:
        still = [c for c in found.candidates if c.site == site and c.admission is not Admission.NONE]
        return f"{still[0].cluster} is {still[0].admission}" if still else None

    return holds


def first_is(site: str) -> Holds:
    """The best candidate that takes new work is one of a site."""

    def holds(found: Overlay) -> str | None:
        best = min(
            (c for c in found.candidates if c.admission is Admission.NEW_AND_EXISTING),
            key=lambda c: c.rank,
            default=None,
        )
        if best is None:
            return "nobody is open to new work"
        return None if best.site == site else f"{best.site} comes first"

    return holds


_AGAIN_S = 1.0
REST_S = 4.0
"""Longer than a hold-down of the lab: what is going to change by itself has changed by then."""


def at_rest(edge: str = US) -> Show:
    """Every candidate takes new work, the edge routes by that, and no revision has come for a while."""

    def show(run: Run) -> Evidence:
        try:
            found = run.lab.rendered(edge)
            serving = run.lab.edge_status(edge).serving
        except (LabMissing, OverlayRejected, StatusRejected) as missing:
            raise NotYet(str(missing)) from missing
        shut = [c.cluster for c in found.candidates if c.admission is not Admission.NEW_AND_EXISTING]
        sites = {c.site for c in found.candidates}
        if shut or sites != {EAST, WEST} or len(found.candidates) != CANDIDATES:
            raise NotYet(f"revision {found.revision}: {', '.join(shut) or 'not every provider'} is not open")
        if serving is None or serving.revision != found.revision:
            raise NotYet(f"the edge serves revision {serving and serving.revision}, not {found.revision}")
        revision, since = run.memory.get("at rest", (None, 0.0))
        if revision != found.revision:
            revision, since = run.memory["at rest"] = (found.revision, time.monotonic())
        if time.monotonic() - since < REST_S:
            raise NotYet(f"revision {revision} is new")
        return Evidence("every provider is open, and nothing has changed for a while", f"revision {revision}")

    return show


def revision_changed(edge: str = US) -> Show:
    """The rendered revision is above the one remembered as `revision_before`."""

    def holds(run: Run) -> Holds:
        before = run.recall("revision_before")
        return lambda found: None if (found.revision or 0) > before else f"still revision {found.revision}"

    return lambda run: overlay("the overlay's revision changed", holds(run), edge)(run)


def synced(edge: str = US) -> Show:
    """overlay-sync has written the rendered revision."""

    def show(run: Run) -> Evidence:
        wanted = run.recall("revision")
        said = run.lab.sync_status(edge)
        revision = said.get("revision")
        if not str(revision).isdigit() or int(revision) < wanted:
            raise NotYet(f"overlay-sync is at revision {revision}, wanted {wanted}")
        return Evidence("overlay-sync wrote it", f"revision {revision}", {"revision": revision})

    return show


def accepted(edge: str = US) -> Show:
    """The edge routes by the rendered revision, or a later one."""

    def show(run: Run) -> Evidence:
        wanted = run.recall("revision")
        status = run.lab.edge_status(edge)
        serving = status.serving
        if serving is None or (serving.revision or 0) < wanted:
            raise NotYet(f"the edge serves revision {serving and serving.revision}, wanted {wanted}")
        return Evidence(
            "the edge accepted it and routes by it",
            f"revision {serving.revision}",
            {"digest": serving.digest},
        )

    return show


def still_serves(name: str, edge: str = US) -> Show:
    """The edge routes by the revision remembered under *name*, exactly."""

    def show(run: Run) -> Evidence:
        wanted = run.recall(name)
        serving = run.lab.edge_status(edge).serving
        if serving is None or serving.revision != wanted:
            raise NotYet(f"the edge serves revision {serving and serving.revision}, wanted {wanted} to stay")
        return Evidence("the last good overlay stays in use", f"revision {serving.revision}")

    return show


def edge_rejected(edge: str = US, *, reason: RejectReason | None = None, again: Act | None = None) -> Show:
    """The edge counted more rejections than `rejections_before`, and says why: for *reason*, where one is
    wanted. again: what is done anew
    each second until then: overlay-sync may have put the file right before the edge looked at all."""

    def show(run: Run) -> Evidence:
        before = run.recall("rejections_before")
        status = run.lab.edge_status(edge)
        said = "" if status.last_rejection is None else str(status.last_rejection.reason)
        if status.rejections <= before or (reason is not None and said != reason):
            last, now = run.memory.setdefault("spoiled at", time.monotonic()), time.monotonic()
            if again is not None and now - last > _AGAIN_S:
                run.memory["spoiled at"] = now
                again(run)
            wanted = f", wanted {reason}" if reason is not None else ""
            raise NotYet(f"{status.rejections} rejections, {before} before, the last for {said}{wanted}")
        run.memory.pop("spoiled at", None)
        return Evidence("the edge refused it", said, {"reason": said, "rejections": status.rejections})

    return show


def recorded(services: Collection[str]) -> Show:
    """Who runs, as the last mark has it."""

    def show(run: Run) -> Evidence:
        marked = run.recall("marked")
        missing = [name for name in services if not marked.get(name, {}).get("pid")]
        if missing:
            raise NotYet(f"{', '.join(missing)} does not run")
        facts = {name: marked[name] for name in sorted(services)}
        seen = "; ".join(
            f"{name} {who['id']}, PID {who['pid']}, restarted {who['restarts']} times, since {_instant(who)}"
            for name, who in facts.items()
        )
        return Evidence("id, PID, start time and restart count are recorded", seen, facts)

    return show


def _instant(who: Mapping[str, Any]) -> str:
    return datetime.fromtimestamp(who["started_at"], UTC).isoformat(timespec="milliseconds")


def stopped(*names: str) -> Show:
    """No pod of these Deployments (`cluster/namespace/deployment/name`) is ready, so none takes requests."""

    def show(run: Run) -> Evidence:
        for whole in names:
            cluster, _, _, name = whole.split("/")
            found = run.lab.kube(cluster).get(f"{APPS}/deployments/{name}")
            if found is None:
                raise Broken(f"there is no Deployment {name} in {cluster}")
            ready = found.get("status", {}).get("readyReplicas", 0)
            if ready:
                raise NotYet(f"{cluster}/{name} has {ready} ready")
        return Evidence("no pod of them is ready any more", ", ".join(names))

    return show


def nothing_restarted(services: Collection[str]) -> Show:
    """Id, PID, start time and restart count of services are what they were at the mark."""

    def show(run: Run) -> Evidence:
        differences = run.lab.forge.data("evidence", "diff", MARK, codes=(0, 1))["differences"]
        mine = [d for d in differences if d["service"] in services]
        if mine:
            first = mine[0]
            raise NotYet(f"{first['service']}: {first['field']} {first['before']} -> {first['after']}")
        return Evidence(
            "identity, PID, start time and restart count are unchanged", ", ".join(sorted(services))
        )

    return show


def no_rollout(cluster: str, kind: str, name: str) -> Show:
    """A workload's generation and restartedAt are what `remember_workload` saw."""

    def show(run: Run) -> Evidence:
        before = run.recall(f"workload {cluster}/{kind}/{name}")
        now = run.lab.workload(cluster, kind, name)
        if now != before:
            raise NotYet(f"{cluster}/{kind}/{name}: {before} -> {now}")
        return Evidence(f"{cluster}/{kind}/{name} was neither rolled out nor restarted", str(now))

    return show


def error_code(name: str, code: str) -> Show:
    """The remembered answer is an OpenAI-shaped error with this code."""

    def show(run: Run) -> Evidence:
        answer: Answer = run.recall(name)
        try:
            error = json.loads(answer.body)["error"]
        except (ValueError, KeyError, TypeError) as fault:
            raise NotYet(f"no error object: {answer.body[:200]!r}") from fault
        if error.get("code") != code:
            raise NotYet(f"code {error.get('code')}, wanted {code}")
        return Evidence(f"it fails cleanly with {code}", str(error.get("message"))[:120])

    return show


def ready(edge: str, *, wanted: bool) -> Show:
    """The edge is ready, or says why not."""

    def show(run: Run) -> Evidence:
        status = run.lab.edge_status(edge)
        if status.ready is not wanted:
            raise NotYet(f"ready is {status.ready} ({', '.join(map(str, status.not_ready))})")
        word = "ready" if wanted else f"not ready: {', '.join(map(str, status.not_ready))}"
        return Evidence(f"the edge is {'ready' if wanted else 'out of rotation'}", word)

    return show


def rendered_by(run: Run) -> str:
    """The lease's holder in edge-control: which operator leads."""
    leases = run.lab.kube(CONTROL).items("/apis/coordination.k8s.io/v1/namespaces/grid-system/leases")
    return str(leases[0]["spec"].get("holderIdentity")) if leases else ""


def _of(found: Overlay, site: str, names: Collection[str]) -> list[Candidate]:
    return [c for c in found.candidates if c.site == site and (not names or c.cluster in names)]


def _with_id(lines: list[dict[str, Any]], request_id: str) -> dict[str, Any] | None:
    return next((line for line in reversed(lines) if line.get("request_id") == request_id), None)
