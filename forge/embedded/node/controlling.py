"""What the controllers of the controller manager have in common: whom they write as, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, field

from forge.embedded.api.cluster import Cluster
from forge.embedded.node.objects import Objects
from forge.embedded.node.recorder import Recorder

_MANAGER = "kube-controller-manager"


@dataclass(slots=True)
class Controlling:
    """name: of the controller, in logs and events. settle_s: see `api/controllers.py`."""

    cluster: Cluster
    name: str = ""
    settle_s: float = 0.0
    objects: Objects = field(init=False)
    recorder: Recorder = field(init=False)

    def __post_init__(self) -> None:
        self.objects = Objects(self.cluster, _MANAGER)
        self.recorder = Recorder(self.cluster, self.name)
