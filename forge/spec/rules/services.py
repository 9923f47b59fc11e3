"""Services among themselves: who waits for whom, and whether that can ever come true."""

from __future__ import annotations

from collections.abc import Iterator

from forge.spec.known import did_you_mean
from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.graph import circles
from forge.spec.services import Dependency, Service
from forge.spec.source import Source


def dependencies_exist(environment: Environment, source: Source) -> Iterator[Problem]:
    declared = source.names(("spec", "services"))
    for path, service, dependency in _dependencies(environment):
        if dependency.name == service.name:
            yield source.problem("FG0122", f'"{service.name}" depends on itself', path, help="remove it")
        elif dependency.name not in declared:
            message = f'"{service.name}" depends on "{dependency.name}", and there is no such service'
            help_ = did_you_mean(dependency.name, declared - {service.name})
            yield source.problem("FG0121", message, path, help=help_)


def dependencies_are_named_once(environment: Environment, source: Source) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for path, service, dependency in _dependencies(environment):
        pair = (service.name, dependency.name)
        if pair in seen:
            message = f'"{service.name}" names "{dependency.name}" twice in dependsOn'
            yield source.problem("FG0115", message, path, help="keep one of the two")
        seen.add(pair)


def dependencies_start_by_themselves(environment: Environment, source: Source) -> Iterator[Problem]:
    services = {s.name: s for s in environment.spec.services}
    for path, service, dependency in _dependencies(environment):
        target = services.get(dependency.name)
        if target and service.auto_start and not target.auto_start:
            message = f'"{service.name}" starts with `up` and depends on "{target.name}", which does not'
            help_ = f"set autoStart: false on {service.name}, or remove it from {target.name}"
            yield source.problem("FG0123", message, path, help=help_)


def conditions_can_come_true(environment: Environment, source: Source) -> Iterator[Problem]:
    services = {s.name: (index, s) for index, s in enumerate(environment.spec.services)}
    for path, _, dependency in _dependencies(environment):
        if dependency.name not in services or dependency.condition is None:
            continue
        index, target = services[dependency.name]
        unsure = source.is_damaged(("spec", "services", index))
        at: Path = (*path, "condition")
        if dependency.condition == "healthy" and target.health_check is None and not unsure:
            message = f'"{target.name}" has no health check, so it never becomes healthy'
            yield source.problem("FG0124", message, at, help="give it a healthCheck, or wait for started")
        if dependency.condition == "completed" and target.restart in ("always", "unless-stopped"):
            message = f'"{target.name}" is restarted whenever it ends, so it never completes'
            yield source.problem("FG0124", message, at, help=f"set restart: on-failure on {target.name}")


def dependencies_lead_nowhere_round(environment: Environment, source: Source) -> Iterator[Problem]:
    """No circle of services that wait for each other. A service on itself is told elsewhere."""
    services = environment.spec.services
    needs = {s.name: [d.name for d in s.depends_on if d.name != s.name] for s in services}
    for circle in circles(needs):
        first, second = circle[0], circle[1]
        index = next(i for i, s in enumerate(services) if s.name == first)
        entry = next(i for i, d in enumerate(services[index].depends_on) if d.name == second)
        message = f"services wait for each other: {' -> '.join((*circle, first))}"
        path: Path = ("spec", "services", index, "dependsOn", entry)
        yield source.problem("FG0122", message, path, help="remove one of these dependencies")


def checked_ports_can_be_reached(environment: Environment, source: Source) -> Iterator[Problem]:
    """On the engine's default network a service has no address Forge knows, only published ports."""
    for index, service in enumerate(environment.spec.services):
        check = service.health_check
        if check is None or check.type == "exec" or service.network != "none":
            continue
        path: Path = ("spec", "services", index)
        published = {p.container for p in service.ports}
        if check.port not in published and not source.is_damaged((*path, "ports")):
            message = f"the health check asks port {check.port}, which is not published"
            help_ = f"publish container port {check.port} under ports, or set network: environment"
            yield source.problem("FG0124", message, (*path, "healthCheck", "port"), help=help_)


def _dependencies(environment: Environment) -> Iterator[tuple[Path, Service, Dependency]]:
    for index, service in enumerate(environment.spec.services):
        for entry, dependency in enumerate(service.depends_on):
            yield ("spec", "services", index, "dependsOn", entry), service, dependency
