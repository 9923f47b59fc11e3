"""Every template of the file where it is rendered: once for each cluster, stack and for-each item.

Each Use has the scope its template would be rendered in, with Unknown for what exists only later.
The rules on templates and on captures both work on what this finds.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from forge.spec.expression import Absent, TemplateBroken, Unknown, as_text, holds, look_up, parse
from forge.spec.files import Files
from forge.spec.model import DEFAULT_ZONE, Cluster, Environment
from forge.spec.nodes import Path
from forge.spec.rules.walk import templated, texts
from forge.spec.source import Source
from forge.spec.steps import (
    CaptureStep,
    ForEachStep,
    KubeconfigStep,
    Step,
    TemplateFileStep,
    TemplateManifestStep,
)

MAX_ITEMS = 256
MAX_STEPS = 50_000
"""Steps that are looked at. Nested for-each multiply; beyond this the rest is checked as it runs."""

Scope = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Spot:
    """A stack on a cluster. position: in the cluster's list. cluster: None for a stack no cluster uses."""

    cluster: str | None
    position: int
    stack: str


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One text to render. spot: None in a service. order: of its step within the stack, from 0.
    file: the template file the text is from; None where it stands in forge.yaml itself."""

    path: Path
    text: str
    scope: Scope
    spot: Spot | None = None
    order: int = 0
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """key: None where it is known only later. order: as in Use. path: of its step."""

    spot: Spot
    key: str | None
    order: int
    path: Path


@dataclass(frozen=True, slots=True)
class Write:
    """A file a step writes. content: differs where the files differ, as far as is known now."""

    spot: Spot
    path: Path
    target: str
    content: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Slip:
    """A for-each that cannot repeat. reason: after `cluster "x" `."""

    cluster: str
    path: Path
    reason: str


@dataclass(slots=True)
class Uses:
    """texts: template file -> its text, None where it cannot be read. steps: how many were looked at.
    complete: False where there were more than MAX_STEPS."""

    uses: list[Use] = field(default_factory=list)
    captures: list[Capture] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    slips: list[Slip] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)
    steps: int = 0
    complete: bool = True


def find(environment: Environment, source: Source, files: Files) -> Uses:
    """All uses, with their scopes complete."""
    found = Uses()
    for spot, scope in _spots(environment, source):
        _Walk(environment, files, found, spot, scope).stack()
    shared = _shared(environment, source, found)
    found.uses = [replace(use, scope={**shared, **use.scope}) for use in found.uses]
    found.uses += _in_services(environment, shared)
    return found


class Texts(Protocol):
    """Template files, as forge.spec.files.Files reads them."""

    def read(self, path: str, root: str) -> str | None: ...


def in_stack(environment: Environment, files: Texts, spot: Spot) -> Uses:
    """The uses, captures and writes of one stack on one cluster of a file that is known to be sound."""
    found = Uses()
    cluster = next(c for c in environment.spec.clusters if c.name == spot.cluster)
    scope = {**_cluster(cluster), "stack": {"name": spot.stack}}
    _Walk(environment, files, found, spot, scope).stack()
    return found


def _spots(environment: Environment, source: Source) -> Iterator[tuple[Spot, Scope]]:
    stacks = environment.spec.stacks
    unused = dict.fromkeys(stacks)
    for index, cluster in enumerate(environment.spec.clusters):
        root = _cluster(cluster)
        if source.is_damaged(("spec", "clusters", index, "properties")):
            root = {"cluster": {"name": cluster.name, "properties": Unknown.ANY}}
        for position, name in enumerate(cluster.stacks):
            unused.pop(name, None)
            if name in stacks:
                yield Spot(cluster.name, position, name), {**root, "stack": {"name": name}}
    for name in unused:
        yield Spot(None, 0, name), {"cluster": Unknown.ANY, "stack": {"name": name}}


def _cluster(cluster: Cluster) -> dict[str, object]:
    return {"cluster": {"name": cluster.name, "properties": cluster.properties}}


def _shared(environment: Environment, source: Source, found: Uses) -> dict[str, object]:
    """The roots that are the same everywhere. What was left out as broken counts as present."""
    spec = environment.spec
    zone = spec.network.dns_zone if spec.network else None
    leaves = source.names(("spec", "certificates", "leaves"))
    secrets = source.names(("spec", "secrets"))
    whole = {s.name for s in spec.services}
    anywhere = spec.runtime.provider == "embedded"  # there every service has an address of its own
    services = {s.name for s in spec.services if anywhere or s.network == "environment"}
    services |= source.names(("spec", "services")) - whole
    return {
        "network": {"dnsZone": zone or DEFAULT_ZONE, "pool": Unknown.LATER},
        "captures": _captured(environment, source, found),
        "certificates": {n: {"sha256": Unknown.LATER, "previousSha256": Unknown.LATER} for n in leaves},
        "services": {n: {"address": Unknown.LATER} for n in services},
        "secrets": {n: {"sha256": Unknown.LATER} for n in secrets},
    }


def _captured(environment: Environment, source: Source, found: Uses) -> object:
    if source.is_damaged(("spec", "stacks"), ("spec", "clusters")) or not found.complete:
        return Unknown.ANY
    by_cluster: dict[str, object] = {c.name: {} for c in environment.spec.clusters}
    for capture in found.captures:
        keys = by_cluster.get(capture.spot.cluster or "")
        if capture.spot.cluster is None or not isinstance(keys, dict):
            continue
        if capture.key is None:
            by_cluster[capture.spot.cluster] = Unknown.ANY
        else:
            keys[capture.key] = Unknown.LATER
    return by_cluster


def _in_services(environment: Environment, shared: dict[str, object]) -> Iterator[Use]:
    clusters = {c.name: c for c in environment.spec.clusters}
    for index, service in enumerate(environment.spec.services):
        scope = shared
        if service.from_cluster is not None:
            known = clusters.get(service.from_cluster)
            scope = {**shared, **(_cluster(known) if known else {"cluster": Unknown.ANY})}
        for key, value in (("env", service.env), ("args", service.args)):
            for path, text in texts(value, ("spec", "services", index, key)):
                if "{{" in text:
                    yield Use(path, text, scope)


@dataclass(slots=True)
class _Walk:
    """Through the steps of one stack on one cluster. order: steps met so far."""

    environment: Environment
    files: Texts
    found: Uses
    spot: Spot
    scope: Scope
    order: int = 0

    def stack(self) -> None:
        steps = self.environment.spec.stacks[self.spot.stack].steps
        self._steps(steps, ("spec", "stacks", self.spot.stack, "steps"), self.scope)

    def _steps(self, steps: tuple[Step, ...], path: Path, scope: Scope) -> None:
        for index, step in enumerate(steps):
            self.found.steps += 1
            if self.found.steps > MAX_STEPS:
                self.found.complete = False
                return
            self._step(step, (*path, index), scope)

    def _step(self, step: Step, path: Path, scope: Scope) -> None:
        never = step.when is not None and holds(step.when, lambda text: known_text(text, scope)) is False
        for at, text in templated(step, path):
            if "{{" in text and (not never or at[len(path)] == "when"):
                self._use(at, text, scope)
        if never:  # not on this cluster: what the step would need, it need not have
            self.order += 1
            return
        if isinstance(step, ForEachStep):
            for item in self._items(step, path, scope):
                if not self.found.complete:
                    return
                self._steps(step.steps, (*path, "steps"), {**scope, "item": item})
        elif isinstance(step, TemplateManifestStep):
            self._file(step.path, (*path, "path"), scope)
        elif isinstance(step, TemplateFileStep):
            text = self._file(step.source, (*path, "source"), scope)
            own = "{{" in text  # it may say something of its cluster
            self._write(step.target, path, scope, (step.source, *([self.spot.cluster or ""] if own else [])))
        elif isinstance(step, KubeconfigStep):
            self._write(step.target, path, scope, (self.spot.cluster or "",))
        elif isinstance(step, CaptureStep):
            self.found.captures.append(Capture(self.spot, known_text(step.key, scope), self.order, path))
        self.order += 1

    def _use(self, path: Path, text: str, scope: Scope, file: str | None = None) -> None:
        self.found.uses.append(Use(path, text, scope, self.spot, self.order, file))

    def _write(self, target: str, path: Path, scope: Scope, content: tuple[str, ...]) -> None:
        name = known_text(target, scope)
        if name is not None:
            self.found.writes.append(Write(self.spot, (*path, "target"), posixpath.normpath(name), content))

    def _file(self, template: str, path: Path, scope: Scope) -> str:
        """Looks at a template file; gives its text, empty where it cannot be read."""
        name = known_text(template, scope) or ""
        if name not in self.found.texts:
            self.found.texts[name] = self.files.read(name, self.environment.spec.root) if name else None
        text = self.found.texts[name]
        if text and "{{" in text:
            self._use(path, text, scope, name)
        return text or ""

    def _items(self, step: ForEachStep, path: Path, scope: Scope) -> list[object]:
        """The items; one unknown item where the list is not known."""
        name, cluster = known_text(step.property, scope), scope.get("cluster")
        properties = cluster.get("properties") if isinstance(cluster, Mapping) else None
        if name is None or not isinstance(properties, Mapping):
            return [Unknown.ANY]
        items = properties.get(name)
        if isinstance(items, list) and len(items) <= MAX_ITEMS:
            return items
        reason = (
            f'has no property "{name}"' if name not in properties else f'has no list in the property "{name}"'
        )
        if isinstance(items, list):
            reason = f'has {len(items)} items in "{name}", and for-each takes at most {MAX_ITEMS}'
        self.found.slips.append(Slip(self.spot.cluster or "", (*path, "property"), reason))
        return [Unknown.ANY]


def known_text(text: str, scope: Scope) -> str | None:
    """The text rendered now; None where it is broken or needs what exists only later."""
    if "{{" not in text:
        return text
    rendered = ""
    try:
        for piece in parse(text):
            if isinstance(piece, str):
                rendered += piece
            elif not piece.words:
                rendered += piece.literal
            else:
                value = look_up(piece.words, scope)
                if value is Unknown.LATER:
                    return None
                rendered += as_text(value)
    except (TemplateBroken, Absent, ValueError):
        return None
    return rendered
