"""A lab on a fake machine: a folder with a forge.yaml, and the use cases bound to the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forge.app import down as down_case
from forge.app import up as up_case
from forge.app.lab import Lab, Options, find
from forge.app.up import Listener, Request
from forge.plan.ports import Host
from forge.plan.run import Event, Outcome
from forge.plan.text import plan_text
from forge.plan.values import Plan
from tests.kit.fake_host import FakeHost, Machine

HEAD = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: docker}
"""


def file(*services: str, name: str = "lab") -> str:
    """A forge.yaml of services, each a YAML flow mapping without its braces."""
    lines = [f"    - {{image: 'app:1', {text}}}" for text in services]
    head = HEAD.replace("name: lab", f"name: {name}")
    return head + ("  services:\n" + "\n".join(lines) + "\n" if lines else "")


CHECK = "healthCheck: {type: tcp, port: 80, interval: 20ms, timeout: 20ms, retries: 3}, ports: [{host: %d, container: 80}]"


def checked(port: int) -> str:
    """A quick health check, and the port that it asks."""
    return CHECK % port


@dataclass
class FakeLab:
    """notes, events, plans: what the last runs told."""

    folder: Path
    machine: Machine = field(default_factory=Machine)
    notes: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)
    parallel: int = 8

    @property
    def lab(self) -> Lab:
        return find(Options(config=self.folder / "forge.yaml", lock_timeout_s=0.2))

    def write(self, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "forge.yaml").write_text(text)

    def open_host(self, runtime: str, _: Path) -> Host:
        return FakeHost(self.machine, runtime)

    @property
    def request(self) -> Request:
        return Request(parallel=self.parallel, open_host=self.open_host)

    @property
    def listener(self) -> Listener:
        return Listener(self.notes.append, lambda _: None, self.events.append)

    def up(self, request: Request | None = None) -> tuple[Plan, Outcome]:
        return up_case.up(self.lab, self.listener, self.cancel, request or self.request)

    def plan(self) -> str:
        return plan_text(up_case.plan(self.lab, self.notes.append, self.request).plan)

    def down(self) -> Outcome | None:
        ended = down_case.down(self.lab, self.listener, self.cancel, request=self.request)
        down_case.sweep(self.lab)
        return None if ended is None else ended[1]

    def running(self) -> set[str]:
        return {thing.key.name for thing in self.machine.containers.values() if thing.running}


OpenHost = Callable[[str, Path], Host]
