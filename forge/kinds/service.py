"""Standalone services: containers on an engine, supervised processes on the embedded runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from forge.errors import UsageError
from forge.plan.fingerprint import fingerprint
from forge.plan.kind import Context, Site
from forge.plan.resources import (
    HealthCheck,
    Mount,
    NetworkMode,
    PortBinding,
    ProbeType,
    PullPolicy,
    RestartPolicy,
    Secret,
    ServiceResource,
)
from forge.plan.values import Change, Condition, Desired, Key, Need, Observed, Verb
from forge.spec.model import Environment
from forge.spec.services import HealthCheck as HealthCheckSpec
from forge.spec.services import Service, Volume
from forge.stack.edges import reads_what_is_made
from forge.stack.template import TemplateFailed, render_service

KIND: Final = "service"
_LAB = Key("network", "lab")


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    desired = tuple(_one(service, spec, context) for service in spec.spec.services)
    if context.runtime == "embedded":
        _refuse_unmapped(spec)
    return desired


def settled(spec: Environment, context: Context, key: Key) -> Desired:
    """The service as it is now that all it reads is known. Raises TemplateFailed where it is not."""
    service = next(s for s in spec.spec.services if s.name == key.name)
    return _desired(render_service(service, spec, context.facts), spec, context)


def _one(service: Service, spec: Environment, context: Context) -> Desired:
    """Settled, or with no fingerprint where something it reads is made only by this run."""
    try:
        return _desired(render_service(service, spec, context.facts), spec, context)
    except TemplateFailed:
        if not reads_what_is_made(service):
            raise
    return replace(_desired(service, spec, context), fingerprint="", resource=None)


def addressed(spec: Environment, runtime: str) -> tuple[str, ...]:
    """The services that get an address of their own on the lab network."""
    return tuple(s.name for s in spec.spec.services if runtime == "embedded" or s.network == "environment")


def _desired(service: Service, spec: Environment, context: Context) -> Desired:
    resource = _resource(service, spec, context)
    attached = context.runtime == "embedded" or resource.network is NetworkMode.ENVIRONMENT
    return Desired(
        key=Key(KIND, service.name),
        name=resource.container,
        fingerprint=fingerprint(resource),
        resource=resource,
        needs=_needs(service, spec, context, attached=attached),
        start=service.auto_start,
        gated=service.health_check is not None and service.health_gate,
        replaces_with=(_LAB,) if attached else (),
    )


def _needs(service: Service, spec: Environment, context: Context, *, attached: bool) -> tuple[Need, ...]:
    needs = [Need(_LAB)] if attached else []
    if context.runtime != "embedded":
        needs.append(Need(Key("image", service.image)))
    services = {s.name: s for s in spec.spec.services}
    for dependency in service.depends_on:
        condition = service.condition_for(dependency, services[dependency.name])
        needs.append(Need(Key(KIND, dependency.name), Condition(condition)))
    return tuple(sorted(needs))


def _resource(service: Service, spec: Environment, context: Context) -> ServiceResource:
    name = spec.metadata.name
    image = next((i for i in spec.spec.images if i.name == service.image), None)
    mode = NetworkMode(service.network)
    return ServiceResource(
        name=service.name,
        container=f"{name}-{service.name}",
        image=service.image,
        process=None if image is None else image.process,
        pull=PullPolicy.MISSING if image is None else PullPolicy(image.pull),
        args=service.args,
        env={key: Secret(value) for key, value in service.env.items()},
        mounts=tuple(_mount(volume, context) for volume in service.volumes),
        ports=tuple(PortBinding(p.bind_address or "0.0.0.0", p.host, p.container) for p in service.ports),  # noqa: S104 - what the file's silence means
        network=mode,
        network_name=f"{name}-net" if mode is NetworkMode.ENVIRONMENT else None,
        address=context.allocation.addresses.get(service.name),
        restart=RestartPolicy(service.restart),
        health=None if service.health_check is None else _health(service.health_check),
        inherit_host_group=service.inherit_host_group,
    )


def _mount(volume: Volume, context: Context) -> Mount:
    """`.forge/...` is the state directory wherever that is; all else is below the root."""
    path = PurePosixPath(volume.source)
    inside = path.parts[:1] == (".forge",)
    source = (
        PurePosixPath(context.state_dir, *path.parts[1:]) if inside else PurePosixPath(context.root) / path
    )
    return Mount(str(source), volume.target, read_only=volume.read_only, create=inside)


def _health(check: HealthCheckSpec) -> HealthCheck:
    return HealthCheck(
        type=ProbeType(check.type),
        port=check.port or 0,
        path=check.path,
        command=check.command,
        interval_s=check.interval_s,
        timeout_s=check.timeout_s,
        retries=check.retries,
        start_period_s=check.start_period_s,
    )


def _refuse_unmapped(spec: Environment) -> None:
    """Raises UsageError FG0501, naming every service that has no process to run as."""
    mapped = {image.name for image in spec.spec.images if image.process is not None}
    unmapped = [s for s in spec.spec.services if s.auto_start and s.image not in mapped]
    if unmapped:
        raise UsageError(
            "FG0501",
            "not every service can run on the embedded runtime",
            why="; ".join(f"image {s.image!r} of service {s.name!r} has no process" for s in unmapped),
            hint="name each image under spec.images with its `process`, or use --runtime docker",
            changed=False,
        )


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, ServiceResource):
        raise TypeError(f"{desired.key} is no service")
    if change.verb is Verb.START and observed is not None:
        site.host.start_service(observed, resource)
        return observed.id
    if change.verb is Verb.REPLACE and observed is not None:
        site.host.remove_service(observed)
    return site.host.create_service(desired.key, resource, site.owner, desired.fingerprint, site.cancel)


def remove(observed: Observed, site: Site) -> None:
    site.host.remove_service(observed)
