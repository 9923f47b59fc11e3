"""Steps that spell out an object: deployment, service, configmap, secret, MetalLB's pool."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from forge.errors import OperationFailed
from forge.kinds.step.work import Done, Work
from forge.plan import metallb
from forge.plan.lab_ports import Object
from forge.spec.steps import ConfigMapStep, DeploymentStep, MetallbAutoPoolStep, SecretStep, ServiceStep
from forge.stack.content import pool
from forge.stack.manifests import Document

_UNKNOWN_KIND = "FG0733"
_CRDS_S = 60.0
"""Seconds that the kinds of MetalLB may take to be served after it was installed."""


def deployment(work: Work, step: DeploymentStep) -> Done:
    labels = {"app": step.name}
    container: dict[str, Any] = {"name": step.name, "image": step.image}
    if step.args:
        container["args"] = list(step.args)
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return _one(work, "apps/v1", "Deployment", step.name, step.namespace, {"spec": spec})


def service(work: Work, step: ServiceStep) -> Done:
    port = {"port": step.port, "targetPort": step.port, "protocol": "TCP"}
    spec = {"selector": {"app": step.name}, "ports": [port]}
    return _one(work, "v1", "Service", step.name, step.namespace, {"spec": spec})


def config_map(work: Work, step: ConfigMapStep) -> Done:
    """What is no text goes into binaryData, as kubectl does it."""
    data, binary = dict(step.data), {}
    for key, path in step.files.items():
        content = work.files.read(path)
        try:
            data[key] = content.decode()
        except UnicodeDecodeError:
            binary[key] = b64encode(content).decode()
    content_ = {"data": data, **({"binaryData": binary} if binary else {})}
    return _one(work, "v1", "ConfigMap", step.name, step.namespace, content_)


def secret(work: Work, step: SecretStep) -> Done:
    """The values go to the API and nowhere else."""
    data = {key: value.encode() for key, value in step.data.items()}
    data |= {key: work.files.read(path) for key, path in step.files.items()}
    data |= {key: work.site.material.read_secret(name) for key, name in step.secrets.items()}
    encoded = {key: b64encode(value).decode() for key, value in data.items()}
    return _one(work, "v1", "Secret", step.name, step.namespace, {"type": step.secret_type, "data": encoded})


def metallb_pool(work: Work, step: MetallbAutoPoolStep) -> Done:
    """The pool and its announcement, once MetalLB's kinds are served and its webhook answers."""
    addresses = pool(work.leaf.scope)
    if addresses is None:
        raise OperationFailed(
            "FG0752",
            f"{work.name}: the cluster has no load-balancer addresses",
            why="Forge gave it no pool",
            hint="make the pool by a manifest: its loadBalancer is `none`, or it is an existing cluster",
            changed=False,
        )
    spec = {"addresses": [addresses]}
    objects: tuple[Object, ...] = (
        _object(metallb.VERSION, "IPAddressPool", step.name, metallb.NAMESPACE, {"spec": spec}),
        _object(
            metallb.VERSION,
            "L2Advertisement",
            f"{step.name}-l2",
            metallb.NAMESPACE,
            {"spec": {"ipAddressPools": [step.name]}},
        ),
    )
    documents = [Document(one, f"the pool of {work.cluster}") for one in objects]
    if work.resource.embedded:
        work.apply([Document(one, "the kinds of MetalLB") for one in metallb.definitions()])
        return work.apply(documents)
    return _applied_once_served(work, documents)


def _applied_once_served(work: Work, documents: Sequence[Document]) -> Done:
    """Applies them; kinds that MetalLB is only about to bring are waited for."""
    waited, pause = 0.0, 0.2
    while True:
        try:
            return work.apply(documents)
        except OperationFailed as error:
            if error.code != _UNKNOWN_KIND or waited > _CRDS_S:
                raise
        work.site.progress("waiting for MetalLB's kinds")
        if work.until.wait(pause):
            raise work.stopped()
        waited, pause = waited + pause, min(pause * 2, 2.0)


def _one(
    work: Work, api_version: str, kind: str, name: str, namespace: str | None, content: Mapping[str, Any]
) -> Done:
    thing = _object(api_version, kind, name, namespace or "default", content)
    return work.apply([Document(thing, work.name)])


def _object(
    api_version: str, kind: str, name: str, namespace: str | None, content: Mapping[str, Any]
) -> Object:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **content}
