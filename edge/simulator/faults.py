"""The misbehaviours that can be switched on, and which request meets which of them.

| kind | what a caller sees | parameters |
|---|---|---|
| down | connections refused, open ones reset | |
| slow | all times multiplied | factor (10) |
| hang | the request is read and never answered | |
| error | an error status | status (500), retry_after |
| reset | the connection is reset in the body | after (3) chunks |
| malformed | a broken piece in the stream, then the end | after (3) chunks, form: framing, json |
| capacity | fewer requests run at once | running (1) |
| unhealthy | `/health` answers 503, everything else works | |

Any of them takes `requests` (switches itself off after so many met it), `seconds` (after so long) and `share`
(the part of requests that meet it, fixed by seed and request). `hang` and `error` take `scope: all` to hit
`/health` and `/metrics` too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from edge.simulator import tokens

Kind = Literal["down", "slow", "hang", "error", "reset", "malformed", "capacity", "unhealthy"]
KINDS: tuple[Kind, ...] = ("down", "slow", "hang", "error", "reset", "malformed", "capacity", "unhealthy")


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters in the table above; those that mean nothing to a kind are ignored by it."""

    factor: float = 10.0
    status: int = 500
    retry_after: int | None = None
    after: int = 3
    form: Literal["framing", "json"] = "framing"
    running: int = 1
    scope: Literal["api", "all"] = "api"
    share: float = 1.0
    requests: int | None = None
    seconds: float | None = None


_RULES: tuple[tuple[str, Callable[[Fault], bool]], ...] = (
    ("share is 0..1", lambda fault: 0 <= fault.share <= 1),
    ("status is 400..599", lambda fault: 400 <= fault.status <= 599),
    ("factor is above 0 and at most 1000000", lambda fault: 0 < fault.factor <= 1e6),
    ("running is 0 or more", lambda fault: fault.running >= 0),
    ("after is 0 or more", lambda fault: fault.after >= 0),
    ("retry_after is 0 or more", lambda fault: fault.retry_after is None or fault.retry_after >= 0),
    ("requests is 1 or more", lambda fault: fault.requests is None or fault.requests >= 1),
    ("seconds is above 0", lambda fault: fault.seconds is None or fault.seconds > 0),
)


@dataclass(slots=True)
class _Active:
    fault: Fault
    left: int | None
    until: float | None


class UnknownFault(ValueError):
    """No such kind, or parameters that do not read; nothing was switched."""


@dataclass(slots=True)
class Faults:
    """The faults switched on now, at most one of each kind."""

    seed: int = 0
    _active: dict[str, _Active] = field(default_factory=dict)

    def switch_on(self, kind: str, parameters: bytes, now: float) -> Fault:
        """Raises UnknownFault, having changed nothing."""
        if kind not in KINDS:
            raise UnknownFault(f"no fault named {kind!r}; there are {', '.join(KINDS)}")
        try:
            fault = msgspec.json.decode(parameters or b"{}", type=Fault)
        except msgspec.DecodeError as error:
            raise UnknownFault(str(error)) from None
        wrong = [name for name, holds in _RULES if not holds(fault)]
        if wrong:
            raise UnknownFault("; ".join(wrong))
        until = None if fault.seconds is None else now + fault.seconds
        self._active[kind] = _Active(fault, fault.requests, until)
        return fault

    def switch_off(self, kind: str | None = None) -> None:
        """Switches *kind* off, or everything when None."""
        if kind is None:
            self._active.clear()
        else:
            self._active.pop(kind, None)

    def present(self, kind: Kind, now: float) -> Fault | None:
        """The fault while it is on, counting nobody."""
        active = self._active.get(kind)
        if active is None:
            return None
        if (active.until is not None and now >= active.until) or active.left == 0:
            del self._active[kind]
            return None
        return active.fault

    def meet(self, kind: Kind, request_id: str, now: float) -> Fault | None:
        """The fault, if this request meets it; counts against its `requests`."""
        fault = self.present(kind, now)
        if fault is None or (
            fault.share < 1 and tokens.rng(self.seed, kind, request_id).random() >= fault.share
        ):
            return None
        active = self._active[kind]
        if active.left is not None:
            active.left -= 1
        return fault

    def next_end(self) -> float | None:
        """When the next fault ends by itself; None when none does."""
        return min((a.until for a in self._active.values() if a.until is not None), default=None)

    def shown(self, now: float) -> dict[str, object]:
        """kind -> parameters, of all that are on."""
        on = {kind: self.present(kind, now) for kind in KINDS}
        return {kind: msgspec.to_builtins(fault) for kind, fault in on.items() if fault}
