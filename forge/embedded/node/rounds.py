"""The probes of one pod's containers while they run, and what their answers change.

Answers change a container's memory and ring the pod's bell; a container that is not alive, or never
started, is ended, and the pod's policy begins another run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from forge.embedded.api.values import Json, dig
from forge.embedded.node import checking
from forge.embedded.node.checking import Asked
from forge.embedded.node.containers import Memory
from forge.embedded.node.endings import Endings
from forge.embedded.node.hands import Hands
from forge.embedded.node.objects import name_of
from forge.embedded.node.probing import Kind, Standing, was_counted
from forge.embedded.process.probes import Verdict

log = logging.getLogger(__name__)
_HOOK_S = 60.0


@dataclass(slots=True)
class Rounds:
    """changed: called when a container became ready, or is not any more."""

    hands: Hands
    group: asyncio.TaskGroup
    endings: Endings
    changed: Callable[[], None]
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def begin(self, pod: Json, asked: Asked, memory: Memory) -> None:
        """For a run that has just begun."""
        container = asked.container
        memory.started = "startupProbe" not in container
        memory.ready = memory.started and "readinessProbe" not in container
        self._tasks[container["name"]] = self.group.create_task(self._watch(pod, asked, memory))

    def end(self, container: str) -> None:
        task = self._tasks.pop(container, None)
        if task is not None:
            task.cancel()

    def end_all(self) -> None:
        for name in list(self._tasks):
            self.end(name)

    async def _watch(self, pod: Json, asked: Asked, memory: Memory) -> None:
        """A fault of ours ends neither the pod nor the node."""
        try:
            await self._accompany(pod, asked, memory)
        except Exception:
            facts = {"pod": name_of(pod), "container": asked.container["name"]}
            log.exception("probes failed", extra=facts)

    async def _accompany(self, pod: Json, asked: Asked, memory: Memory) -> None:
        container = asked.container
        start = dig(container, "lifecycle", "postStart")
        if start:
            why = await checking.hook(asked, start, _HOOK_S)
            if why:
                said = f"PostStartHook failed: {why}"
                self.hands.recorder.warn(pod, "FailedPostStartHook", said, path=_path(container))
                self._restart(pod, container, memory, said, "start hook")
                return

        def report(kind: Kind, before: Standing, after: Standing, verdict: Verdict) -> None:
            self._answered(pod, container, memory, kind, before, after, verdict)

        await checking.watch(asked, report)

    def _answered(
        self,
        pod: Json,
        container: Json,
        memory: Memory,
        kind: Kind,
        before: Standing,
        after: Standing,
        verdict: Verdict,
    ) -> None:
        said = f"{kind} probe failed: {verdict.detail}"
        if not verdict.ok and was_counted(before, after):
            self.hands.recorder.warn(pod, "Unhealthy", said, path=_path(container))
        if kind is Kind.READINESS:
            if memory.ready != after.passed:
                memory.ready = after.passed
                self.changed()
        elif kind is Kind.STARTUP and after.passed:
            memory.started = True
            memory.ready = "readinessProbe" not in container
            self.changed()
        elif after.failed:
            self._restart(pod, container, memory, said, f"{kind.lower()} probe")

    def _restart(self, pod: Json, container: Json, memory: Memory, why: str, what: str) -> None:
        probe, spec = container.get("livenessProbe") or {}, pod["spec"]
        grace_s = probe.get("terminationGracePeriodSeconds") or spec.get("terminationGracePeriodSeconds")
        memory.reason = why
        if self.endings.begin(pod, container, float(grace_s or 0)):
            said = f"Container {container['name']} failed {what}, will be restarted"
            self.hands.recorder.note(pod, "Killing", said, path=_path(container))


def _path(container: Json) -> str:
    return f"spec.containers{{{container['name']}}}"
