"""Renders {{ }} templates: texts, whole steps, and the conditions of `when`.

The language itself, and what can be known of it before anything runs, is forge/spec/expression.py.
Here every value is known: a path that leads nowhere stops the step before it did anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from forge.errors import OperationFailed
from forge.plan.facts import Facts
from forge.spec.expression import Absent, TemplateBroken, Unknown, as_text, has_template, look_up, parse
from forge.spec.expression import holds as condition
from forge.spec.model import DEFAULT_ZONE, Cluster, Environment
from forge.spec.services import Service
from forge.spec.steps import Step

MAX_FIELD_BYTES = 8192
"""One field of a step. What is longer belongs into a file."""
MAX_FILE_BYTES = 1024 * 1024
"""One rendered file: a Kubernetes object has at most 1.5 MiB."""

Scope = Mapping[str, object]


class TemplateFailed(OperationFailed):
    """A template could not be rendered; the step it belongs to did nothing."""


def scope(
    environment: Environment, facts: Facts, cluster: Cluster | None = None, stack: str | None = None
) -> Scope:
    """What paths lead to. cluster and stack are None where a template belongs to none.

    A leaf that was never renewed has its own fingerprint as the previous one.
    """
    network = environment.spec.network
    roots: dict[str, object] = {
        "network": {
            "dnsZone": (network and network.dns_zone) or DEFAULT_ZONE,
            "pool": facts.pools.get(cluster.name) if cluster is not None else None,
        },
        "captures": facts.captures,
        "certificates": {
            leaf: {"sha256": hash_, "previousSha256": facts.previous.get(leaf, hash_)}
            for leaf, hash_ in facts.fingerprints.items()
        },
        "services": {name: {"address": address} for name, address in facts.addresses.items()},
        "secrets": {name: {"sha256": hash_} for name, hash_ in facts.secrets.items()},
    }
    if cluster is not None:
        roots["cluster"] = {"name": cluster.name, "properties": cluster.properties}
    if stack is not None:
        roots["stack"] = {"name": stack}
    return roots


def with_item(outer: Scope, item: object) -> Scope:
    """The scope inside a for-each. An inner for-each replaces the outer item."""
    return {**outer, "item": item}


def render(text: str, values: Scope, *, max_bytes: int = MAX_FIELD_BYTES) -> str:
    """The text with every template replaced by its value. Raises TemplateFailed."""
    if not has_template(text):
        return text
    parts: list[str] = []
    size = 0
    try:
        for piece in parse(text):
            part = piece if isinstance(piece, str) else piece.literal
            if not isinstance(piece, str) and piece.words:
                part = _value(piece.words, values)
            parts.append(part)
            size += len(part.encode())
            if size > max_bytes:
                raise TemplateFailed("FG0131", "a rendered text is too long", why=f"over {max_bytes} bytes")
    except TemplateBroken as broken:
        raise TemplateFailed("FG0130", "a template cannot be read", why=str(broken)) from None
    return "".join(parts)


def _value(words: tuple[str, ...], values: Scope) -> str:
    shown = f"{{{{ {'.'.join(words)} }}}}"
    try:
        value = look_up(words, values)
        if isinstance(value, Unknown):
            raise TemplateFailed(
                "FG0131", f"{shown} has no value yet", hint="run `praxis-forge config validate`"
            )
        return as_text(value)
    except Absent as absent:
        hint = f"known here: {', '.join(absent.known)}" if absent.known else ""
        raise TemplateFailed("FG0131", f"{shown} has no value", why=str(absent), hint=hint) from None
    except ValueError as no_text:
        raise TemplateFailed("FG0131", f"{shown} {no_text}", hint="name a field of it") from None


def render_deep(value: object, values: Scope) -> object:
    """Every text in a value rendered, at any depth; keys and everything else as they are."""
    if isinstance(value, str):
        return render(value, values)
    if isinstance(value, Mapping):
        return {key: render_deep(inner, values) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [render_deep(inner, values) for inner in value]
    return value


def render_step(step: Step, values: Scope) -> Step:
    """The step with its templated fields rendered, and checked again: a value may make a path or an
    address invalid. Steps inside a for-each stay as they are, for each item renders them anew.

    Raises TemplateFailed.
    """
    whole = step.model_dump(by_alias=True, exclude_unset=True)
    for name in type(step).TEMPLATED:
        key = to_camel(name)
        if key in whole:
            whole[key] = render_deep(whole[key], values)
    try:
        return type(step).model_validate(whole)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
    raise TemplateFailed("FG0131", f"a {step.type} step is invalid once it is rendered", why="; ".join(wrong))


def render_service(service: Service, environment: Environment, facts: Facts) -> Service:
    """The service with its args and env rendered; `cluster` is the one it names in fromCluster.

    Raises TemplateFailed.
    """
    cluster = next((c for c in environment.spec.clusters if c.name == service.from_cluster), None)
    values = scope(environment, facts, cluster)
    args = tuple(render(arg, values) for arg in service.args)
    env = {key: render(value, values) for key, value in service.env.items()}
    return service.model_copy(update={"args": args, "env": env})


def holds(when: str | None, values: Scope) -> bool:
    """Whether a step is to run; see forge.spec.expression.holds. None always holds. Raises TemplateFailed."""
    return when is None or bool(condition(when, lambda text: render(text, values)))
