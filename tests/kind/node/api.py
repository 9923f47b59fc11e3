"""The control plane's API, as the programs of a node speak to it: JSON over TLS, one call at a time."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Api:
    """context: trusts its authority alone. token: empty where the context has a certificate."""

    url: str
    context: ssl.SSLContext
    token: str = ""

    @classmethod
    def of_kubeconfig(cls, path: Path) -> Api:
        """As the holder of the token in a kubeconfig that is JSON."""
        document = json.loads(path.read_text())
        cluster = document["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        return cls(cluster["server"], context, document["users"][0]["user"]["token"])

    @classmethod
    def of_admin(cls, url: str, pki: Path) -> Api:
        """As the administrator, whose certificate lies beside the authority's."""
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        return cls(url, context)

    def call(self, method: str, path: str, body: Any = None, media: str = "") -> Any:
        """The answer's document. Raises OSError and HTTPException."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if media:
            headers["Content-Type"] = media
        sent = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, sent, headers, method=method)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=self.context) as answer:
            return json.load(answer)
