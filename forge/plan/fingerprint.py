"""The fingerprint that decides same or different: a hash of the fields Forge itself sets.

A label carries it on the machine; nothing live is ever compared field by field, since engines and
images add fields of their own and a false difference destroys what runs. Left out on purpose:
how a resource is fetched, gated or ordered (pull policy, health check, needs), which changes
nothing in what was made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from forge.plan.lab_resources import LabResource
from forge.plan.resources import HealthCheck, Mount, PullPolicy, Resource, Secret

LENGTH = 32
"""Hex digits kept: 128 bits, and short enough to read in a label."""


def fingerprint(resource: Resource | LabResource) -> str:
    """Equal for resources that would be made alike; differs otherwise."""
    text = json.dumps(_plain(resource), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _plain(value: Any) -> Any:
    match value:
        case Secret():
            return value.reveal()
        case HealthCheck() | PullPolicy():
            return None
        case Mount():
            return [value.source, value.target, value.read_only]
        case Mapping():
            return {str(k): _plain(v) for k, v in value.items()}
        case tuple() | list():
            return [_plain(v) for v in value]
        case _ if is_dataclass(value):
            named = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
            return {"": type(value).__name__, **named}
        case _:
            return value
