"""Names that travel: API versions, the ConfigMap's name and key, labels and annotations.

A name here is a promise to every reader of an overlay, so nothing else spells one out.
"""

from __future__ import annotations

import hashlib

GROUP = "grid.praxis-proxy.io"
CRD_VERSION = "v1alpha1"

OVERLAY_V1ALPHA2 = "grid.praxis.fast/v1alpha2"
OVERLAY_V1ALPHA1 = f"{GROUP}/v1alpha1"

OVERLAY_KEY = "grid-config.json"
OVERLAY_PREFIX = "grid-overlay-"
INFERENCE_MODEL = "inference_model"

LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_NETWORK = f"{GROUP}/network"
LABEL_GATEWAY = f"{GROUP}/gateway"
LABEL_AUTO_DISCOVER = f"{GROUP}/auto-discover-sites"
LABEL_AUTO_DISCOVERED = f"{GROUP}/auto-discovered"
ANNOTATION_REVISION = f"{GROUP}/overlay-revision"
ANNOTATION_DIGEST = f"{GROUP}/overlay-content-digest"

# A Kubernetes label value and a DNS label end here (RFC 1123, 2.1; apimachinery's validation.go).
MAX_NAME = 63
_KEPT = 20


def overlay_configmap(network: str, gateway: str) -> str:
    """The name of the ConfigMap that holds *gateway*'s overlay; at most 63 characters.

    A longer one keeps 20 characters of each part and 8 hex digits of their hash, so that two long names
    that begin alike stay apart.
    """
    whole = f"{OVERLAY_PREFIX}{network}-{gateway}"
    if len(whole) <= MAX_NAME:
        return whole
    return f"{OVERLAY_PREFIX}{_start(network, _KEPT)}-{_start(gateway, _KEPT)}-{_tag(f'{network}/{gateway}')}"


def label_value(name: str) -> str:
    """*name* as a label value: itself, or its start and a hash where it is over 63 characters."""
    if len(name) <= MAX_NAME:
        return name
    return f"{_start(name, MAX_NAME - 9)}-{_tag(name)}"


def _start(name: str, length: int) -> str:
    """A cut may end in `-` or `.`, which no DNS label may before the next dash."""
    return name[:length].rstrip("-.")


def _tag(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
