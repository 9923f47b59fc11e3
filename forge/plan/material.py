"""The laws of what Forge makes and keeps secret: when a certificate is renewed, what one can say.

made_at                      2/3                    not_after
   |--------- good -----------|------ renewed -------|
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from forge.plan.lab_resources import AuthorityResource, LeafResource

RENEWED_WITH_LEFT: Final = 1 / 3
"""Share of its life that is left when a certificate is renewed: enough of it that a lab which is used
once in a while never meets one that has ended."""

MAX_NAME: Final = 64
"""Characters of a common name or an organization: RFC 5280, appendix A.1, ub-common-name."""

_DAY: Final = 86400.0


def ending(made_at: float, not_after: float, now: float) -> str:
    """Why a certificate must be renewed now, in words; empty while it is good. Unix seconds.

    One made in the future (the clock was set back) is not valid yet, and renewed too.
    """
    if now < made_at - _DAY:
        return "it was made in the future, as this machine's clock has it"
    left = not_after - now
    if left <= 0:
        return "it has ended"
    if left < (not_after - made_at) * RENEWED_WITH_LEFT:
        return f"it ends in {_about(left)}"
    return ""


def _about(seconds: float) -> str:
    for unit, size in (("days", _DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def shared(places: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What two things would both be written to, a sentence each. places: who, and where."""
    first: dict[str, str] = {}
    for who, where in places:
        other = first.setdefault(where, who)
        if other != who:
            yield f"{other} and {who} are both written to {where}"


def unsayable(wanted: AuthorityResource | LeafResource) -> Iterator[str]:
    """What of it a certificate cannot carry, a sentence each."""
    for what, text in (("commonName", wanted.common_name), ("organization", wanted.organization)):
        if text is not None and len(text) > MAX_NAME:
            yield f"{what} {text!r} has {len(text)} characters, and a certificate takes {MAX_NAME}"
    for kind in ("dns", "uri"):
        for name in getattr(wanted, kind, ()):
            if not name.isascii() or not name.isprintable() or " " in name:
                yield f"{kind} name {name!r} is not plain ASCII (write an IDN as xn--...)"
