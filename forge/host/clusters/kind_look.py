"""One look at a KIND cluster: whose it is and how it stands. Changes nothing.

It is ours when its API shows our marker. Where that does not answer, or shows none, it is ours when our
records know it and its nodes sit on a network with our labels; or when it is the very one that our records
name by its id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forge.host.clusters import kubeconfig, marker, nodes
from forge.host.clusters.api import Api, Silent, Stranger
from forge.host.clusters.asked import Asked
from forge.host.clusters.nodes import Node
from forge.plan.values import Observed, Owner, Phase

LOOK_S = 2.0
_GRACE_S = 5.0
"""How long an API whose nodes have just been started is given before it counts as silent."""


@dataclass(frozen=True, slots=True)
class Look:
    """present: the node containers of the one that is looked at. networks: of environments, as nodes.owners
    gives them. me: whose records `one` is from."""

    me: Owner | None
    one: Asked
    present: Sequence[Node]
    networks: Mapping[str, Owner]

    def take(self) -> Observed:
        try:
            config = kubeconfig.read(self.one.folder.kubeconfig)
        except kubeconfig.Unusable:
            return self._without_access()
        ended = [f"{node.name} is {node.state}" for node in self.present if not node.running]
        if ended:
            return self._silent(f"node {', '.join(ended)}")
        try:
            found = self._marker(Api(config.at(nodes.server(self.present) or config.server)))
        except Silent as error:
            return self._silent(f"its API does not answer: {error}")
        except Stranger as error:
            return self.one.observed(self._by_network(), Phase.RUNNING, str(error))
        told = self._told(found)
        if told.phase is Phase.RUNNING and nodes.server(self.present) not in (None, config.server):
            return self.one.silent(told.owner, f"its API is at {nodes.server(self.present)} now")
        return told

    def _told(self, found: marker.Marker | str | None) -> Observed:
        """What the API said: a marker, or the cluster's id where it has none."""
        one = self.one
        if isinstance(found, marker.Marker):
            about = one.about
            if about is not None and not about.made and about.owner == found.owner:
                return one.unfinished(found.owner, "its creation was cut off")
            return Observed(one.key, found.owner, found.fingerprint, Phase.RUNNING, id=found.id)
        if one.is_whole and one.about is not None and one.about.id == found:
            return one.observed(one.about.owner, Phase.RUNNING, "its ConfigMap forge-owner is missing")
        return one.unfinished(self._by_network(), "its creation was cut off")

    def _marker(self, api: Api) -> marker.Marker | str | None:
        until = time.monotonic() + (_GRACE_S if self._is_young() else 0.0)
        while True:
            try:
                return marker.read(api, LOOK_S) or marker.uid(api)
            except Silent as error:
                if error.hangs or time.monotonic() >= until:
                    raise
                time.sleep(0.1)

    def _is_young(self) -> bool:
        """Whether a node has just been started, as after a restart of the engine."""
        return any("second" in node.status.lower() for node in self.present)

    def _silent(self, detail: str) -> Observed:
        return self.one.silent(self._by_network(), detail)

    def _without_access(self) -> Observed:
        """Nobody made it to its end here, or it is another's."""
        owner = self._by_network()
        if owner is None or self.one.about is None or owner != self.one.about.owner:
            return self.one.observed(owner, Phase.RUNNING, "it was not made by this environment")
        if self.one.is_whole:
            return self.one.silent(owner, "its access file is gone")
        return self.one.unfinished(owner, "its creation was cut off")

    def _by_network(self) -> Owner | None:
        """Whose it is by its nodes' network; ours only where our records know of it too."""
        owner = nodes.owner_of(self.present, self.networks)
        return owner if owner != self.me or self.one.is_recorded else None
