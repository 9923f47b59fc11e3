"""One pod from its first sight to its last trace: looks at the whole, does what is missing, waits.

A worker is woken by the pod's object, by its processes, by its probes, by the ConfigMaps and Secrets of
its namespace, and by the clock where it asked for that. It never trusts what woke it: each turn reads
the pod and its processes anew. What to do is decided in `containers.py` and `podstatus.py`; what a
container runs is in `recipe.py`, its probes in `rounds.py`, its end in `endings.py`.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from dataclasses import dataclass, field

from forge.embedded.api.status import ApiError
from forge.embedded.api.values import Json, dig
from forge.embedded.node import containers, podstatus, recipe, scheduling
from forge.embedded.node.checking import Asked
from forge.embedded.node.containers import Memory
from forge.embedded.node.endings import Endings
from forge.embedded.node.fields import containers as all_containers
from forge.embedded.node.hands import Hands
from forge.embedded.node.mounting import Mounting
from forge.embedded.node.objects import NODES, PODS, is_leaving, uid_of
from forge.embedded.node.podstatus import Place
from forge.embedded.node.rounds import Rounds
from forge.embedded.process.spec import Status
from forge.errors import OperationFailed

log = logging.getLogger(__name__)
_PAUSE_S = 1.0
_FORCED_GRACE_S = 2.0
"""For a pod whose object is gone already: nobody waits for it, but its processes may end in order."""
WITHOUT_WARNING = "dev.praxis.forge/kill"
"""Annotation: when such a pod is deleted, with whatever grace, its processes get SIGKILL and nothing
before it. `praxis-forge fault kill` sets it."""


@dataclass(slots=True)
class Worker:
    """hands: shared with all workers. uid, name, namespace: of the pod, for good."""

    hands: Hands
    uid: str
    name: str
    namespace: str
    group: asyncio.TaskGroup
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    memories: dict[str, Memory] = field(default_factory=dict)
    _pod: Json | None = None
    _mounting: Mounting = field(init=False)
    _endings: Endings = field(init=False)
    _rounds: Rounds = field(init=False)
    _problem: str = ""

    def __post_init__(self) -> None:
        self._mounting = Mounting(self.hands)
        self._endings = Endings(self.hands, self.group, self.bell)
        self._rounds = Rounds(self.hands, self.group, self._endings, self.bell.set)
        self.bell.set()

    async def run(self) -> None:
        """Until the pod and all of it is gone."""
        wait_s: float | None = None
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    await self.bell.wait()
            except TimeoutError:
                pass
            self.bell.clear()
            try:
                gone, wait_s = self._turn()
                if gone:
                    await self._clear()
                    return
            except (ApiError, OperationFailed, OSError) as error:
                log.info("pod is tried again", extra={"pod": self.name, "reason": str(error)})
                wait_s = _PAUSE_S
            except Exception:
                log.exception("pod failed", extra={"pod": self.name, "namespace": self.namespace})
                wait_s = _PAUSE_S

    def process_name(self, container: str) -> str:
        return recipe.process_name(self.uid, container)

    def status_of(self, container: str) -> Status | None:
        return self.hands.supervisor.status(self.process_name(container))

    def _turn(self) -> tuple[bool, float | None]:
        """(whether nothing is left, seconds after which to look again or None)."""
        found = self.hands.pod(self.name, self.namespace)
        pod = found if found is not None and uid_of(found) == self.uid else None
        if pod is None or is_leaving(pod):
            return self._leave(pod), None
        self._pod = pod
        if not pod["spec"].get("nodeName") and not self._schedule(pod):
            return False, None
        if dig(pod, "status", "phase") in ("Succeeded", "Failed") and not self._running():
            return False, None
        return False, self._keep(self._fresh())

    def _fresh(self) -> Json:
        """The pod as it is now, after a write of this turn."""
        pod = self.hands.pod(self.name, self.namespace) or self._pod
        if pod is None:
            raise OperationFailed("FG0510", "the pod is gone", why="it went in mid-turn", changed=False)
        self._pod = pod
        return pod

    def _schedule(self, pod: Json) -> bool:
        node = self.hands.objects.get(NODES, self.hands.node)
        why = scheduling.refusal(pod, node) if node is not None else "no nodes available to schedule pods"
        if why:
            status = podstatus.unschedulable(pod, why, self.hands.cluster.now())
            if self.hands.objects.put_status(PODS, pod, status):
                self.hands.recorder.warn(pod, "FailedScheduling", why)
            return False
        self.hands.objects.patch(PODS, pod, {"spec": {"nodeName": self.hands.node}})
        said = f"Successfully assigned {self.namespace}/{self.name} to {self.hands.node}"
        self.hands.recorder.note(pod, "Scheduled", said)
        return True

    def _keep(self, pod: Json) -> float | None:
        """Makes of the pod what it is to be; seconds until the next look."""
        now = self.hands.now()
        address = self.hands.lease(pod)
        if address is None:
            self.hands.recorder.warn(
                pod, "FailedCreatePodSandBox", f"no address is left in {self.hands.cidr}"
            )
            return containers.RETRY_S
        place = Place(self.hands.address, address)
        if dig(pod, "status", "podIP") != address:
            # The downward API reads it from the pod; one write later it is there.
            self._publish(pod, place)
            pod = self._fresh()
        self._remember(pod)
        self._take_ends(pod, now)
        problem = self._mounting.refresh(pod)
        waits = [self._mounting.renew_in_s()]
        if problem and problem != self._problem:
            self.hands.recorder.warn(pod, "FailedMount", problem)
        self._problem = problem
        if not problem:
            waits += self._go_on(pod, address, now)
        self._publish(pod, place)
        due = [wait for wait in waits if wait is not None]
        return min(due) if due else None

    def _remember(self, pod: Json) -> None:
        """What an earlier daemon knew of the containers is in the pod's status."""
        entries = [
            *(dig(pod, "status", "initContainerStatuses") or []),
            *(dig(pod, "status", "containerStatuses") or []),
        ]
        held = {entry["name"]: entry for entry in entries}
        for container in all_containers(pod):
            name = container["name"]
            if name not in self.memories:
                memory = self.memories[name] = Memory()
                memory.last = dig(held.get(name), "lastState", "terminated")

    def _take_ends(self, pod: Json, now: float) -> None:
        for container in all_containers(pod):
            name = container["name"]
            status, memory = self.status_of(name), self.memories[name]
            if status is not None and containers.take_end(memory, status, now):
                self._rounds.end(name)
            if status is not None and containers.has_ended(status) and podstatus.is_sidecar(container):
                memory.started = memory.ready = False

    def _go_on(self, pod: Json, address: str, now: float) -> list[float | None]:
        """Starts whose turn it is; when to look again for each that waits."""
        policy = pod["spec"].get("restartPolicy") or "Always"
        waits: list[float | None] = []
        for container in pod["spec"].get("initContainers") or []:
            sidecar = podstatus.is_sidecar(container)
            own = "Always" if sidecar else ("Never" if policy == "Never" else "OnFailure")
            waits.append(self._advance(pod, container, own, address, now))
            status, memory = self.status_of(container["name"]), self.memories[container["name"]]
            if not (memory.started if sidecar else containers.has_succeeded(status)):
                for later in pod["spec"]["containers"]:
                    self.memories[later["name"]].waiting = ("PodInitializing", "")
                return waits
        waits += [self._advance(pod, one, policy, address, now) for one in pod["spec"]["containers"]]
        if all(self._is_over(c, policy) for c in pod["spec"]["containers"]):
            self._end_sidecars(pod)
        return waits

    def _is_over(self, container: Json, policy: str) -> bool:
        return containers.is_over(self.status_of(container["name"]), policy)

    def _end_sidecars(self, pod: Json) -> None:
        for container in pod["spec"].get("initContainers") or []:
            if podstatus.is_sidecar(container):
                self._endings.begin(pod, container, _FORCED_GRACE_S)

    def _advance(self, pod: Json, container: Json, policy: str, address: str, now: float) -> float | None:
        name = container["name"]
        if self.process_name(name) in self._endings.under_way:
            return None
        status, memory = self.status_of(name), self.memories[name]
        if status is not None and podstatus.is_sidecar(container) and self._main_over(pod):
            return None
        if memory.image not in ("", container["image"]) and self._endings.begin(
            pod, container, _grace_s(pod)
        ):
            memory.reason = "its image was changed"
            said = f"Container {name} definition changed, will be restarted"
            self._note(pod, name, "Killing", said)
            return None
        todo = containers.step(status, policy, memory, now)
        if not todo.start:
            return todo.wait_s
        return self._start(pod, container, address, now)

    def _main_over(self, pod: Json) -> bool:
        policy = pod["spec"].get("restartPolicy") or "Always"
        return all(self._is_over(c, policy) for c in pod["spec"]["containers"])

    def _start(self, pod: Json, container: Json, address: str, now: float) -> float | None:
        """Seconds after which to try again; None when it runs, or waits for an object."""
        name, memory = container["name"], self.memories[container["name"]]
        spec = recipe.recipe(self.hands, self._mounting, pod, container, address)
        if isinstance(spec, recipe.Refused):
            self._refuse(pod, name, memory, spec)
            return containers.RETRY_S
        status = self.hands.supervisor.status(spec.name)
        if status is not None and containers.has_ended(status):
            memory.last = containers.terminated(status, memory.reason)
        try:
            if status is None:
                self.hands.supervisor.create(spec)
            else:
                self.hands.supervisor.start(spec.name, spec)
        except (OperationFailed, OSError) as error:
            why = error.why if isinstance(error, OperationFailed) else str(error)
            memory.due_at = now + containers.RETRY_S
            self._refuse(pod, name, memory, recipe.Refused("RunContainerError", why, f"Error: {why}"))
            return containers.RETRY_S
        memory.reason, memory.said, memory.waiting = "", {}, ("ContainerCreating", "")
        memory.image = container["image"]
        self._note(pod, name, "Created", f"Created container: {name}")
        self._note(pod, name, "Started", f"Started container {name}")
        self._rounds.begin(pod, Asked(self.hands.supervisor, spec.name, container, address), memory)
        return None

    def _refuse(self, pod: Json, name: str, memory: Memory, why: recipe.Refused) -> None:
        memory.waiting = (why.reason, why.message)
        self._warn(pod, name, "Failed", why.said)
        if why.reason == recipe.NO_IMAGE:
            self._warn(pod, name, "BackOff", why.message)

    def _leave(self, pod: Json | None) -> bool:
        """Ends the containers; True when none is left and the pod's object may go."""
        known = pod or self._pod
        grace_s = _last_grace_s(pod, known)
        self._rounds.end_all()
        for container in all_containers(known) if known is not None else ():
            if known is not None and self._endings.begin(known, container, grace_s):
                self._note(known, container["name"], "Killing", f"Stopping container {container['name']}")
        if self._endings.under_way or self._running():
            return False
        if pod is not None:
            self._remember(pod)
            self._publish_last(pod)
            self.hands.objects.delete(PODS, self._fresh_or(pod), grace_s=0)
        return True

    def _fresh_or(self, pod: Json) -> Json:
        return self.hands.pod(self.name, self.namespace) or pod

    def _publish_last(self, pod: Json) -> None:
        """How it ended, for whoever keeps its object by a finalizer."""
        for memory in self.memories.values():
            memory.ready = memory.started = False
        address = dig(pod, "status", "podIP")
        known = any(self.status_of(c["name"]) is not None for c in all_containers(pod))
        if address and known and pod["metadata"].get("finalizers"):
            self._publish(pod, Place(self.hands.address, address))

    def _running(self) -> list[str]:
        own = [s for s in self.hands.supervisor.statuses() if s.name.startswith(f"{self.uid}.")]
        return [s.name for s in own if containers.is_running(s)]

    async def _clear(self) -> None:
        """Takes away what the pod left on this machine."""
        for status in self.hands.supervisor.statuses():
            if status.name.startswith(f"{self.uid}."):
                await self.hands.supervisor.remove(status.name, 0.0)
        self.hands.given.pop(self.uid, None)
        shutil.rmtree(self.hands.pod_folder(self.uid), ignore_errors=True)

    def _publish(self, pod: Json, place: Place) -> None:
        """Writes the pod's status where it differs from what is stored."""
        now = self.hands.now()
        self._remember(pod)
        initial = [self._entry(pod, c, now, first=True) for c in pod["spec"].get("initContainers") or []]
        main = [self._entry(pod, c, now) for c in pod["spec"]["containers"]]
        status = podstatus.status(pod, place, initial, main, self.hands.cluster.now())
        self.hands.objects.put_status(PODS, pod, status)

    def _entry(self, pod: Json, container: Json, now: float, *, first: bool = False) -> Json:
        own = policy = pod["spec"].get("restartPolicy") or "Always"
        if first:
            over = self._main_over(pod) if podstatus.is_sidecar(container) else policy == "Never"
            own = "Never" if over else ("Always" if podstatus.is_sidecar(container) else "OnFailure")
        name = container["name"]
        status, memory = self.status_of(name), self.memories[name]
        entry = containers.describe(container, status, own, memory, now)
        ended = entry["state"].get("terminated")
        if first and ended is not None:
            entry["ready"] = ended["exitCode"] == 0
        return entry

    def _note(self, pod: Json, container: str, reason: str, message: str) -> None:
        self.hands.recorder.note(pod, reason, message, path=_path(pod, container))

    def _warn(self, pod: Json, container: str, reason: str, message: str) -> None:
        """A Warning about a container, once for as long as it stays true."""
        said = self.memories[container].said
        if said.get(reason) != message:
            said[reason] = message
            self.hands.recorder.warn(pod, reason, message, path=_path(pod, container))


def _last_grace_s(pod: Json | None, known: Json | None) -> float:
    """pod: as its object is now, None where that is gone. known: as it was last seen."""
    if dig(known or {}, "metadata", "annotations", WITHOUT_WARNING) == "true":
        return 0.0
    return float(dig(pod, "metadata", "deletionGracePeriodSeconds") or 0) if pod else _FORCED_GRACE_S


def _grace_s(pod: Json) -> float:
    return float(pod["spec"].get("terminationGracePeriodSeconds") or 0)


def _path(pod: Json, container: str) -> str:
    names = [c["name"] for c in pod["spec"].get("initContainers") or []]
    kind = "initContainers" if container in names else "containers"
    return f"spec.{kind}{{{container}}}"
