"""What goes wrong at a cluster's API, as errors people can act on."""

from __future__ import annotations

from forge.errors import OperationFailed
from forge.plan.lab_ports import Object, ObjectRef


def named(kind: str, namespace: str, name: str) -> str:
    """`Deployment shop/web`, `Namespace shop`."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}" if name else kind


def title(thing: Object | ObjectRef) -> str:
    """What an object is called in a sentence."""
    if isinstance(thing, ObjectRef):
        return named(thing.kind, thing.namespace, thing.name)
    meta = thing.get("metadata") or {}
    return named(str(thing.get("kind", "object")), meta.get("namespace", ""), meta.get("name", ""))


def unreachable(cluster: str, why: str) -> OperationFailed:
    error = OperationFailed(
        "FG0730",
        f"the API of cluster {cluster} does not answer",
        why=why,
        hint="see how it stands with: praxis-forge status",
    )
    error.may_pass = True
    return error


def unknown_kind(api_version: str, kind: str, where: str = "", served: str = "") -> OperationFailed:
    """where: the document that needs it. served: other versions of the kind that are there."""
    hint = (
        f"the cluster serves it as {served}: change the apiVersion"
        if served
        else "apply its CustomResourceDefinition in a step before this one"
    )
    return OperationFailed(
        "FG0733",
        f"{where or 'an object'} needs the kind {kind}, which the cluster does not have",
        why=f"nothing serves {kind} in {api_version}",
        hint=hint,
    )


def refused(verb: str, what: str, why: str, *, where: str = "", may_pass: bool = False) -> OperationFailed:
    """verb: `apply`, `delete`. why: the server's words."""
    no_namespace = 'namespaces "' in why and "not found" in why
    hint = "apply its namespace in the same step, or in one before it" if no_namespace else ""
    error = OperationFailed(
        "FG0735", f"cannot {verb} {what}" + (f" ({where})" if where else ""), why=why, hint=hint
    )
    error.may_pass = may_pass
    return error


def denied(cluster: str, what: str, why: str) -> OperationFailed:
    """401 and 403: who Forge is to this cluster is not, or no longer, known or allowed."""
    return OperationFailed(
        "FG0755",
        f"cluster {cluster} does not let Forge {what}",
        why=why,
        hint="its credentials may have expired: run `praxis-forge up`, which renews them",
    )


def stays(what: str, found: Object, after_s: float) -> OperationFailed:
    """An object that was asked to go is still there."""
    holders = ", ".join((found["metadata"].get("finalizers")) or ()) or "nothing that it names"
    error = OperationFailed(
        "FG0750",
        f"{what} is not gone after {after_s:g} s",
        why=f"it is held by {holders}",
        hint="see to whoever holds it: its controller may not run any more",
        changed=True,
    )
    error.may_pass = True
    return error


def several(errors: list[OperationFailed], total: int, changed: bool) -> OperationFailed:
    """One error for all that failed; the first one's words lead. Passes only if all may."""
    first = errors[0]
    if len(errors) == 1:
        first.changed = changed
        return first
    shown = tuple(f"{e.what}: {e.why}" for e in errors[:20])
    more = (f"... and {len(errors) - 20} more",) if len(errors) > 20 else ()
    error = OperationFailed(
        first.code,
        f"{len(errors)} of {total} objects could not be applied",
        why=f"the first: {first.what}: {first.why}",
        hint=first.hint,
        detail=(*shown, *more),
        changed=changed,
    )
    error.may_pass = all(e.may_pass for e in errors)
    return error
