"""An engine's refusals in the words of Forge: what failed, why, and what to do about it. Pure."""

from __future__ import annotations

import re

from forge.errors import NotOurs, OperationFailed
from forge.host.docker_labels import Labels, owner_of
from forge.host.engine import EngineRefused
from forge.plan.resources import ServiceResource

_SHORTEST_BLOT = 4
_NOISE = re.compile(
    r"^(failed to create (task for container|shim task|shim): |OCI runtime create failed: "
    r"|runc create failed: |container_linux\.go:\d+: |driver failed programming external connectivity "
    r"on endpoint \S+ \(\w+\): |failed to set up container networking: |Error starting userland proxy: "
    r"|starting container process caused: |unable to start container process: |exec: )+"
)


def not_ours(what: str, name: str, labels: Labels | None) -> NotOurs:
    """A container or network of that name is somebody else's; it was not touched."""
    owner = owner_of(labels)
    whose = "no environment" if owner is None else f"environment {owner.environment!r}"
    return NotOurs(
        "FG0304",
        f"{what} {name!r} is not ours",
        why=f"it exists and belongs to {whose}",
        hint=f"rename it, or remove it yourself: docker {what} rm {name}",
        changed=False,
    )


def refused_by_engine(what: str, refused: EngineRefused, *, changed: bool = False) -> OperationFailed:
    """An engine's refusal that has no words of its own here. One of 500 and over may pass."""
    hint = "these are the engine's own words; its log may say more"
    failed = OperationFailed("FG0310", what, why=plain(refused.message), hint=hint, changed=changed)
    failed.may_pass = refused.status in (502, 503, 504)
    return failed


def plain(message: str) -> str:
    """The engine's message without the layers it came through."""
    shorter = _NOISE.sub("", message.removesuffix(": unknown"))
    return shorter.strip() or message


def without_secrets(message: str, wanted: ServiceResource) -> str:
    """The message with every value of the service's env blotted out. Short ones (`1`, `yes`) are no
    secrets, and blotting them would eat the text."""
    for secret in wanted.env.values():
        value = secret.reveal()
        if len(value) >= _SHORTEST_BLOT:
            message = message.replace(value, "***")
    return message
