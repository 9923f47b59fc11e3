"""Certificates in clusters: a leaf as a Secret of type kubernetes.io/tls, with ca.crt.

Its fingerprint holds the hash of the certificate it carries, so that a renewed one is seen to be missing
in the cluster, whatever stopped the run that renewed it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from forge.errors import NotOurs, OperationFailed, UsageError
from forge.plan.fingerprint import LENGTH, fingerprint
from forge.plan.kind import Context, Intent, Made, Site
from forge.plan.lab_ports import ObjectRef
from forge.plan.lab_resources import LeafSecretResource
from forge.plan.material import shared
from forge.plan.values import Change, Desired, Key, Need, Observed
from forge.spec.model import Environment

if TYPE_CHECKING:
    from forge.plan.lab_ports import Kube, Object

KIND: Final = "certificate-secret"
_MADE_FOR: Final = "dev.praxis.forge/resource"
"""The annotation that says what applied an object last: a step's key, or this kind."""
OWNED_BY: Final = "dev.praxis.forge/environment-id"
"""The label by which an object is known to be an environment's; forge/host/kube/labels.py sets it."""


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """With an empty fingerprint while the certificate is not issued yet. Raises UsageError FG0787 where
    two certificates would be one Secret."""
    leaves = spec.spec.certificates.leaves if spec.spec.certificates else ()
    resources = [
        LeafSecretResource(leaf.name, s.cluster, s.name, s.namespace) for leaf in leaves for s in leaf.secrets
    ]
    _refuse_shared(resources)
    return tuple(_desired(resource, context.facts.fingerprints) for resource in resources)


def _refuse_shared(resources: Sequence[LeafSecretResource]) -> None:
    wrong = list(
        shared(
            (f"certificate {r.leaf}", f"Secret {r.namespace}/{r.secret} of cluster {r.cluster}")
            for r in resources
        )
    )
    if wrong:
        raise UsageError(
            "FG0787",
            "two certificates would take each other's place",
            why="; ".join(wrong),
            hint="give each its own Secret",
            changed=False,
        )


def settled(spec: Environment, context: Context, key: Key) -> Desired:
    """The Secret of the certificate that is on disk now."""
    return next(d for d in desire(spec, context) if d.key == key)


def _desired(resource: LeafSecretResource, issued: Mapping[str, str]) -> Desired:
    leaf = Key("certificate", resource.leaf)
    known = issued.get(resource.leaf)
    return Desired(
        key=Key(KIND, f"{resource.cluster}/{resource.leaf}/{resource.namespace}/{resource.secret}"),
        name=f"{resource.namespace}/{resource.secret}",
        fingerprint="" if known is None else _carrying(resource, known),
        resource=resource,
        needs=(Need(Key("cluster", resource.cluster)), Need(leaf)),
        in_place=True,
        follows=(leaf,),
    )


def _carrying(resource: LeafSecretResource, certificate: str) -> str:
    """Of the Secret with this certificate in it."""
    return hashlib.sha256(f"{fingerprint(resource)} {certificate}".encode()).hexdigest()[:LENGTH]


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> Made:
    """Raises NotOurs FG0776 for a Secret of that name that somebody else made."""
    resource = desired.resource
    if not isinstance(resource, LeafSecretResource):
        raise TypeError(f"{desired.key} is no Secret of a certificate")
    kube = site.kube(resource.cluster)
    _refuse_foreign(resource, kube, site)
    issued = site.facts().fingerprints[resource.leaf]
    identity = kube.identity()
    objects = [*_namespace(resource, kube), _secret(resource, site)]
    refs = kube.apply(
        objects,
        owner=site.owner,
        intend=lambda refs: site.intend(Intent(identity, _secrets(refs))),
        progress=site.progress,
        cancel=site.cancel,
    )
    return Made(identity, _carrying(resource, issued), objects=_secrets(refs))


def _secrets(refs: Iterable[ObjectRef]) -> tuple[ObjectRef, ...]:
    """Without the namespace, which steps may apply as well, and change."""
    return tuple(ref for ref in refs if ref.kind == "Secret")


def _refuse_foreign(resource: LeafSecretResource, kube: Kube, site: Site) -> None:
    found = kube.get("v1", "Secret", resource.namespace, resource.secret)
    if found is None:
        return
    labels = (found.get("metadata") or {}).get("labels") or {}
    if labels.get(OWNED_BY) != site.owner.environment_id:
        raise NotOurs(
            "FG0776",
            f"Secret {resource.namespace}/{resource.secret} in cluster {resource.cluster} is not ours",
            why="it exists, and does not carry this environment's label",
            hint=f"name another Secret for certificate {resource.leaf}, or remove that one yourself",
            changed=False,
        )


def _namespace(resource: LeafSecretResource, kube: Kube) -> list[Object]:
    """Made where it is missing, with a mark that it was made for this."""
    if kube.get("v1", "Namespace", "", resource.namespace) is not None:
        return []
    metadata = {"name": resource.namespace, "annotations": {_MADE_FOR: KIND}}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]


def _secret(resource: LeafSecretResource, site: Site) -> Object:
    certificate, key, ca = site.material.read_leaf(resource.leaf)
    data = {"tls.crt": certificate, "tls.key": key, "ca.crt": ca}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": resource.secret, "namespace": resource.namespace},
        "type": "kubernetes.io/tls",
        "data": {name: b64encode(content).decode() for name, content in data.items()},
    }


def remove(observed: Observed, site: Site) -> None:
    """A Secret that somebody else made since under its name stays. A namespace that was made for it goes
    too, once nothing is left in it."""
    cluster, _, namespace, name = observed.key.name.split("/")
    kube = site.kube(cluster)
    made = site.previous or (ObjectRef("v1", "Secret", namespace, name),)
    kube.delete(made, owner=site.owner, cancel=site.cancel)
    found = kube.get("v1", "Namespace", "", namespace)
    if found is None or not _was_made_here(found, site):
        return
    try:
        left = kube.residents(namespace)
    except OperationFailed as error:
        site.progress(
            f"namespace {namespace} stays: what is in it cannot be read ({error.why or error.what})"
        )
        return
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        site.progress(f"namespace {namespace} stays: {left[0].kind} {left[0].name}{more} is in it")
        return
    it = ObjectRef("v1", "Namespace", "", namespace, str(found["metadata"]["uid"]))
    kube.delete((it,), owner=site.owner, cancel=site.cancel)


def _was_made_here(namespace: Object, site: Site) -> bool:
    """Whether this kind made it, and no step has applied it since."""
    meta = namespace["metadata"]
    ours = (meta.get("labels") or {}).get(OWNED_BY) == site.owner.environment_id
    return ours and (meta.get("annotations") or {}).get(_MADE_FOR) == KIND
