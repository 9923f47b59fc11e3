"""The simulator's admin pages: switch faults on and off, and pin what the load metrics show.

`GET /faults` · `PUT /faults/{kind}` with the parameters as JSON · `DELETE /faults/{kind}` · `DELETE
/faults` · `PUT /load` with `{"queue": 40, "kv": 0.9}`, `DELETE /load` · `/livez /metrics /status`. Each
change calls back, so that what it means for sockets and the queue happens before the answer is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import msgspec

from edge.simulator.faults import KINDS, UnknownFault
from edge.simulator.load import Pins
from edge.simulator.server import Simulator
from grid.telemetry import admin
from grid.telemetry.admin import Answer, Page


class _Pins(msgspec.Struct, forbid_unknown_fields=True):
    queue: int | None = None
    kv: float | None = None


@dataclass(frozen=True, slots=True)
class Switches:
    """changed: called after each change, before it is answered."""

    simulator: Simulator
    changed: Callable[[], None]

    def pages(self) -> Iterator[Page]:
        yield admin.livez()
        yield admin.scrape(self.simulator.metrics.metrics)
        yield Page("/status", self.status)
        yield Page("/load", self.pin, "PUT")
        yield Page("/load", self.unpin, "DELETE")
        yield Page("/faults", self.shown)
        yield Page("/faults", partial(self.off, None), "DELETE")
        for kind in KINDS:
            yield Page(f"/faults/{kind}", partial(self.on, kind), "PUT")
            yield Page(f"/faults/{kind}", partial(self.off, kind), "DELETE")

    def shown(self, _: bytes = b"") -> Answer:
        return admin.as_json(self.simulator.faults.shown(self.simulator.now()))

    def on(self, kind: str, body: bytes) -> Answer:
        try:
            self.simulator.faults.switch_on(kind, body, self.simulator.now())
        except UnknownFault as error:
            return admin.as_json({"error": str(error)}, 400)
        self.changed()
        return self.shown()

    def off(self, kind: str | None, _: bytes) -> Answer:
        self.simulator.faults.switch_off(kind)
        self.changed()
        return self.shown()

    def pin(self, body: bytes) -> Answer:
        try:
            asked = msgspec.json.decode(body or b"{}", type=_Pins)
        except msgspec.DecodeError as error:
            return admin.as_json({"error": str(error)}, 400)
        if (asked.queue or 0) < 0 or not 0 <= (asked.kv or 0) <= 1:
            return admin.as_json({"error": "queue is 0 or more, kv is 0..1"}, 400)
        self.simulator.load.pins = Pins(asked.queue, asked.kv)
        return self.status()

    def unpin(self, _: bytes) -> Answer:
        self.simulator.load.pins = Pins()
        return self.status()

    def status(self, _: bytes = b"") -> Answer:
        simulator, load = self.simulator, self.simulator.load
        return admin.as_json(
            {
                "provider": simulator.settings.provider,
                "instance": simulator.settings.instance,
                "running": load.running,
                "waiting": load.waiting,
                "kv": load.kv,
                "capacity": load.capacity,
                "faults": simulator.faults.shown(simulator.now()),
            }
        )
