"""How a worker gets its credentials: sealed with the bootstrap token, where anybody may read them.

A real cluster lets the holder of the token ask for a certificate. Here the control plane puts a
ServiceAccount's token beside the cluster's address, and only who has the bootstrap token can open it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
import urllib.request
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from tests.kind.node import place
from tests.kind.node.kubectl import Failed, Kubectl

_ACCOUNT = "forge-node"
_SPACE = "kube-public"
_NAME = "cluster-info"
_YEAR = "8760h"
_TIMEOUT_S = 20.0


def publish(admin: Kubectl, token: str) -> None:
    """Makes the account of nodes and its sealed credentials. Raises Failed."""
    admin("apply", "--server-side", "--force-conflicts", "-f", "-", given=_rights())
    account = admin("create", "token", _ACCOUNT, "-n", "kube-system", f"--duration={_YEAR}").strip()
    view = json.loads(admin("config", "view", "--raw", "--minify", "-o", "json"))
    authority = view["clusters"][0]["cluster"]["certificate-authority-data"]
    sealed = _lock(token).encrypt(json.dumps({"token": account, "ca": authority}).encode()).decode()
    told = {**_object("v1", "ConfigMap", _NAME, _SPACE), "data": {"forge-invitation": sealed}}
    admin("apply", "--server-side", "--force-conflicts", "-f", "-", given=[told])


def accept(url: str, token: str, kubeconfig: Path) -> Kubectl:
    """Opens the invitation, keeps the credentials in *kubeconfig*. Raises Failed."""
    found = _read(f"{url}/api/v1/namespaces/{_SPACE}/configmaps/{_NAME}")
    told = json.loads(_lock(token).decrypt(found["data"]["forge-invitation"].encode()))
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": url, "certificate-authority-data": told["ca"]}},
        ],
        "users": [{"name": "u", "user": {"token": told["token"]}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    place.write(kubeconfig, document)
    return Kubectl(kubeconfig)


def _read(url: str) -> Any:
    """As nobody in particular; kubectl would ask for a user's name."""
    # Nobody has told the worker the authority yet; the seal is what proves who wrote this.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S, context=context) as answer:
            return json.load(answer)
    except OSError as error:
        raise Failed(f"GET {url}: {error}") from error


def _lock(token: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()))


def _rights() -> list[Any]:
    group, api = "rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": _ACCOUNT}
    reader = {"apiGroup": group, "kind": "Role", "name": _NAME}
    account = {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": "kube-system"}
    anybody = {"apiGroup": group, "kind": "User", "name": "system:anonymous"}
    verbs = ["create", "get", "list", "patch", "update"]
    return [
        _object("v1", "ServiceAccount", _ACCOUNT, "kube-system"),
        {
            **_object(api, "ClusterRole", _ACCOUNT),
            "rules": [
                {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": verbs},
                {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs},
            ],
        },
        {**_object(api, "ClusterRoleBinding", _ACCOUNT), "roleRef": role, "subjects": [account]},
        {
            **_object(api, "Role", _NAME, _SPACE),
            "rules": [
                {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [_NAME], "verbs": ["get"]}
            ],
        },
        {**_object(api, "RoleBinding", _NAME, _SPACE), "roleRef": reader, "subjects": [anybody]},
    ]


def _object(version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": kind, "metadata": meta}
