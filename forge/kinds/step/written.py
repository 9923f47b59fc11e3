"""Steps that write a file: a rendered template, and a kubeconfig that acts as a ServiceAccount."""

from __future__ import annotations

import base64
import json

from forge.errors import ForgeError
from forge.kinds.step.work import Done, Work
from forge.plan.lab_ports import Access
from forge.spec.shape import seconds
from forge.spec.steps import KubeconfigStep, TemplateFileStep
from forge.stack.content import rendered


def template_file(work: Work, step: TemplateFileStep) -> Done:
    """A file that is there already, and the same, is left: whoever watches it is not woken for nothing."""
    data = rendered(step.source, work.leaf.scope, work.files).encode()
    try:
        if work.files.exists(step.target) and work.files.read(step.target) == data:
            return Done()
    except ForgeError:
        pass  # what cannot be read is replaced, or that fails with its own reason
    work.files.write(step.target, data)
    return Done()


def kubeconfig(work: Work, step: KubeconfigStep) -> Done:
    """Made anew when half of the token's life is over."""
    now = work.site.tools.now()
    token = work.kube.token(step.namespace, step.service_account, seconds(step.lifetime))
    access = work.site.clusters.access(work.cluster)
    text = _kubeconfig(access, token, step, work.cluster)
    work.files.write(step.target, text.encode(), 0o600)
    return Done(expires_at=now + max(0.0, _end(token, now + seconds(step.lifetime)) - now) / 2)


def _kubeconfig(access: Access, token: str, step: KubeconfigStep, cluster: str) -> str:
    """JSON, which is YAML."""
    name = step.context or cluster
    reach = {"server": access.network_server if step.address == "network" else access.server}
    if access.ca:  # without one the machine's own authorities are trusted
        reach["certificate-authority-data"] = base64.b64encode(access.ca).decode()
    context = {"cluster": name, "user": step.service_account, "namespace": step.namespace}
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": reach}],
        "users": [{"name": step.service_account, "user": {"token": token}}],
        "contexts": [{"name": name, "context": context}],
    }
    return json.dumps(whole, indent=2) + "\n"


def _end(token: str, otherwise: float) -> float:
    """Unix seconds when the token ends, as it says itself: a cluster may give a shorter one than asked."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(claims["exp"])
    except (IndexError, ValueError, KeyError, TypeError):
        return otherwise
