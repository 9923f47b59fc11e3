"""The label by which the mesh's Service finds the leader's pod: on that one, and on no other.

A new leader takes it from the others first: for a moment nobody is found, and never two.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from grid.contract.names import GROUP
from grid.kube.port import POD, Kube

log = logging.getLogger(__name__)
LABEL_MESH: Final = f"{GROUP}/mesh"
LEADER: Final = "leader"


@dataclass(slots=True)
class Marking:
    """pod: our own; empty where this process is no pod, and nothing is marked."""

    kube: Kube
    namespace: str
    pod: str

    async def hold(self) -> None:
        """Our pod has the label, and no other. Raises KubeFault."""
        if not self.pod:
            return
        marked = await self.kube.list(POD, self.namespace, {LABEL_MESH: LEADER})
        names = {str(pod["metadata"]["name"]) for pod in marked.items}
        for name in sorted(names - {self.pod}):
            await self._mark(name, {})
            log.info("mark taken from another", extra={"instance": name})
        if self.pod not in names:
            await self._mark(self.pod, {LABEL_MESH: LEADER})

    async def _mark(self, name: str, labels: dict[str, str]) -> None:
        """By server-side apply: a label we own and do not state is taken away."""
        await self.kube.apply(
            POD, {"metadata": {"name": name, "namespace": self.namespace, "labels": labels}}
        )
