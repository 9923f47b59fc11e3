"""What `doctor` thinks of a machine: facts and needs in, findings out.

Each finding says what was found and, when it would stop or hurt a lab, the one thing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from forge.plan.ports import PortHolder


class Severity(StrEnum):
    """WARNING: `up` may work; ERROR: it will not."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """fix: what to do; empty for OK."""

    check: str
    severity: Severity
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read off the machine; None where it would not say.

    system: `Linux`, ... disk_free, memory_available: bytes. inotify_*: the kernel's limits.
    file_limit: open files of one process (hard limit). cgroup: 1 or 2. engine: a line on the
    engine, or None when none answers; engine_error: why. missing_programs: argv[0]s that are not
    on PATH, with who wants them. missing_images: references that are not present.
    """

    system: str
    disk_free: int | None = None
    memory_available: int | None = None
    inotify_instances: int | None = None
    inotify_watches: int | None = None
    file_limit: int | None = None
    cgroup: int | None = None
    engine: str | None = None
    engine_error: str = ""
    state_writable: str | None = None
    missing_programs: Mapping[str, str] | None = None
    missing_images: tuple[str, ...] = ()
    held_ports: tuple[PortHolder, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """What the file asks of a machine. services: how many."""

    runtime: str
    services: int
    missing_images_can_be_pulled: bool = True


_MIB = 1024 * 1024
MIN_DISK = 200 * _MIB
"""State, logs (10 MB a service at most) and room to breathe."""
SERVICE_MEMORY = 20 * _MIB
"""A small Python service; less than this each and the lab will swap or be killed."""
MIN_INOTIFY_INSTANCES = 128
"""The kernel's default. Labs with clusters want 512."""
MIN_FILES = 1024


def checkup(facts: Facts, needs: Needs) -> tuple[Finding, ...]:
    """Every finding, in the order in which a person would mend them."""
    findings: list[Finding] = [_runtime(facts, needs)]
    findings += _programs(facts)
    findings += _images(facts, needs)
    findings += _ports(facts.held_ports)
    findings.append(_state(facts))
    findings.append(_disk(facts))
    findings.append(_memory(facts, needs))
    findings.append(_files(facts, needs))
    findings.append(_inotify(facts))
    findings.append(_cgroup(facts, needs))
    return tuple(findings)


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in findings)


def _runtime(facts: Facts, needs: Needs) -> Finding:
    if needs.runtime == "embedded":
        if facts.system == "Linux":
            return Finding("runtime", Severity.OK, "embedded: processes on loopback addresses; no isolation")
        return Finding(
            "runtime",
            Severity.ERROR,
            f"the embedded runtime needs Linux, this is {facts.system}",
            "install Docker and use --runtime docker, or run inside WSL2 or a Linux VM",
        )
    if facts.engine is not None:
        return Finding("runtime", Severity.OK, facts.engine)
    return Finding(
        "runtime",
        Severity.ERROR,
        facts.engine_error or "no container engine answers",
        "start Docker (systemctl start docker), or use --runtime embedded",
    )


def _programs(facts: Facts) -> list[Finding]:
    if facts.missing_programs is None:
        return []
    if not facts.missing_programs:
        return [Finding("programs", Severity.OK, "every program of the file is on PATH")]
    return [
        Finding(
            "programs",
            Severity.ERROR,
            f"{program!r} is not on PATH; {who} needs it",
            f"install {program}, or change the image's `process`",
        )
        for program, who in facts.missing_programs.items()
    ]


def _images(facts: Facts, needs: Needs) -> list[Finding]:
    severity = Severity.WARNING if needs.missing_images_can_be_pulled else Severity.ERROR
    return [
        Finding("images", severity, f"{image} is not present", f"docker pull {image}  (or `up` pulls it)")
        for image in facts.missing_images
    ]


def _ports(held: tuple[PortHolder, ...]) -> list[Finding]:
    return [
        Finding(
            "ports",
            Severity.ERROR,
            f"{_address(p.bind, p.port)} is held by {p.holder}",
            "stop it, or publish another host port",
        )
        for p in held
    ] or [Finding("ports", Severity.OK, "every published port is free or ours")]


def _state(facts: Facts) -> Finding:
    if facts.state_writable is None:
        return Finding("state", Severity.OK, "the state directories are writable")
    return Finding(
        "state", Severity.ERROR, facts.state_writable, "make it writable, or set --state-dir / XDG_STATE_HOME"
    )


def _disk(facts: Facts) -> Finding:
    if facts.disk_free is None:
        return Finding("disk", Severity.WARNING, "free space is unknown", "check it with df")
    found = f"{facts.disk_free // _MIB} MiB free beside the state"
    if facts.disk_free < MIN_DISK:
        return Finding("disk", Severity.ERROR, found, f"make room: {MIN_DISK // _MIB} MiB are needed")
    return Finding("disk", Severity.OK, found)


def _memory(facts: Facts, needs: Needs) -> Finding:
    if facts.memory_available is None:
        return Finding("memory", Severity.WARNING, "available memory is unknown", "check it with free")
    wanted = needs.services * SERVICE_MEMORY
    found = f"{facts.memory_available // _MIB} MiB available, about {wanted // _MIB} MiB wanted"
    if facts.memory_available < wanted:
        return Finding("memory", Severity.WARNING, found, "stop other programs, or start fewer services")
    return Finding("memory", Severity.OK, found)


def _files(facts: Facts, needs: Needs) -> Finding:
    wanted = max(MIN_FILES, 16 * needs.services)
    if facts.file_limit is None or facts.file_limit >= wanted:
        return Finding("open files", Severity.OK, f"limit {facts.file_limit or 'unknown'}")
    return Finding(
        "open files", Severity.WARNING, f"limit {facts.file_limit}, {wanted} wanted", f"ulimit -n {wanted}"
    )


def _inotify(facts: Facts) -> Finding:
    instances = facts.inotify_instances
    if instances is None or instances >= MIN_INOTIFY_INSTANCES:
        return Finding(
            "inotify", Severity.OK, f"{instances or 'unknown'} instances, {facts.inotify_watches} watches"
        )
    return Finding(
        "inotify",
        Severity.WARNING,
        f"only {instances} instances a user",
        "sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288",
    )


def _cgroup(facts: Facts, needs: Needs) -> Finding:
    if needs.runtime == "embedded" or facts.cgroup != 1:
        return Finding("cgroup", Severity.OK, f"version {facts.cgroup}" if facts.cgroup else "not needed")
    return Finding(
        "cgroup",
        Severity.WARNING,
        "version 1",
        "newer Kubernetes nodes refuse it; boot with systemd.unified_cgroup_hierarchy=1",
    )


def _address(bind: str, port: int) -> str:
    return f"[{bind}]:{port}" if ":" in bind else f"{bind}:{port}"
