"""`doctor`: whether this file can come up on this machine, and what to do where it cannot."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forge.app import lab as labs
from forge.app import wish as wishes
from forge.app.lab import Lab
from forge.app.up import Request
from forge.app.wish import Wish
from forge.errors import ForgeError
from forge.host import machine
from forge.plan.checkup import Facts, Finding, Needs, Severity, checkup
from forge.plan.ports import Host, PortHolder
from forge.plan.resources import ImageResource, ServiceResource
from forge.plan.values import Owner
from forge.state.lock import host_directory
from forge.state.model import State


@dataclass(frozen=True, slots=True)
class Report:
    """config_error: why the file itself cannot be used; the machine's findings are there anyway."""

    runtime: str
    findings: tuple[Finding, ...]
    config_error: ForgeError | None = None

    @property
    def has_errors(self) -> bool:
        return self.config_error is not None or any(f.severity is Severity.ERROR for f in self.findings)


def doctor(lab: Lab, note: Callable[[str], None], open_host: labs.HostOpener = labs.open_host) -> Report:
    """Looks at the file and the machine; changes nothing. Without a file: at the machine alone."""
    wish, error = None, None
    state = lab.store.read()
    owner = state.owner if state is not None else Owner("", "")
    opened = Request(open_host=open_host).opened(lab, owner)
    if lab.config.exists():
        try:
            wish, _ = wishes.read(lab, state, opened, note)
        except ForgeError as raised:
            error = raised
    runtime = wish.runtime if wish else labs.choose_runtime(lab, None, state, note)
    host = opened.host(runtime)
    facts = _facts(lab, host, wish, state)
    services = sum(1 for d in wish.desired.values() if isinstance(d.resource, ServiceResource)) if wish else 0
    return Report(runtime, checkup(facts, Needs(runtime, services)), error)


def _facts(lab: Lab, host: Host, wish: Wish | None, state: State | None) -> Facts:
    engine, engine_error = _engine(host)
    return Facts(
        system=machine.system(),
        disk_free=machine.disk_free(lab.state_dir),
        memory_available=machine.memory_available(),
        inotify_instances=machine.sysctl("fs.inotify.max_user_instances"),
        inotify_watches=machine.sysctl("fs.inotify.max_user_watches"),
        file_limit=machine.file_limit(),
        cgroup=machine.cgroup_version(),
        engine=engine,
        engine_error=engine_error,
        state_writable=machine.not_writable((lab.state_dir, host_directory())),
        missing_programs=_missing_programs(wish),
        missing_images=_missing_images(host, wish) if engine else (),
        held_ports=_held_ports(host, wish, state) if engine else (),
    )


def _engine(host: Host) -> tuple[str | None, str]:
    try:
        return host.describe(), ""
    except ForgeError as error:
        return None, error.why or error.what


def _missing_programs(wish: Wish | None) -> dict[str, str] | None:
    """The embedded runtime runs programs of this machine: those it will not find."""
    if wish is None or wish.runtime != "embedded":
        return None
    services = [d.resource for d in wish.desired.values() if isinstance(d.resource, ServiceResource)]
    wanted = [((s.process or s.args)[0], f"service {s.name}") for s in services if s.process or s.args]
    return machine.missing_programs(wanted, str(Path(sys.executable).parent))


def _missing_images(host: Host, wish: Wish | None) -> tuple[str, ...]:
    images = {
        k: d.name for k, d in (wish.desired if wish else {}).items() if isinstance(d.resource, ImageResource)
    }
    if not images:
        return ()
    present = host.observe(Owner("", ""), images)
    return tuple(name for key, name in images.items() if key not in present)


def _held_ports(host: Host, wish: Wish | None, state: State | None) -> tuple[PortHolder, ...]:
    services = [
        d.resource for d in (wish.desired if wish else {}).values() if isinstance(d.resource, ServiceResource)
    ]
    wanted = [(p.bind, p.host) for s in services for p in s.ports]
    held = host.survey(wanted).ports if wanted else ()
    mine = state.owner if state is not None else None
    return tuple(p for p in held if mine is None or p.owner != mine)
