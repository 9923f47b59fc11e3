"""What Forge says when something stops it: what, why, where and what to do.

Every error a user can meet is a ForgeError with a code. The code's page is
`explain/<CODE>.md`, shown by `praxis-forge explain CODE`; a test keeps pages and codes equal.
Exit codes are by class, since scripts act on them:

    1 failed, partial state kept    5 lock held                     8 not owned by this environment
    2 usage or configuration        6 timed out or unhealthy      129 terminal closed, state saved
    4 doctor found errors           7 engine or tool missing      130 interrupted, state saved
                                                                  143 terminated, state saved

Programming errors are not here: they escape as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where in a file. line and column count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class ForgeError(Exception):
    """One failure a user can act on.

    what: what failed, by name. why: the fact that stopped it, quoting the tool. hint: one action
    to take. changed: whether anything was changed before it failed; None where that goes without
    saying. place: where in a file the cause stands. detail: lines to show below (a tool's output,
    a service's last log lines), already free of secrets.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        code: str,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        changed: bool | None = None,
        place: Place | None = None,
        detail: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{code}: {what}" + (f": {why}" if why else ""))
        self.code = code
        self.what = what
        self.why = why
        self.hint = hint
        self.changed = changed
        self.place = place
        self.detail = detail


class OperationFailed(ForgeError):
    """An action on the machine failed; what was done before it stands in the state.

    may_pass: set to True on an error whose cause may go away by itself (an engine that restarts, a
    registry that does not answer): such an action is tried again.
    """

    may_pass: bool = False


class UsageError(ForgeError):
    """The command's words are off; nothing was changed."""

    exit_code = 2


class DoctorFoundErrors(ForgeError):
    """doctor found something that would stop `up`."""

    exit_code = 4


class LockHeld(ForgeError):
    """Another command works on this environment; nothing was changed."""

    exit_code = 5


class Unhealthy(ForgeError):
    """Something did not become, or is not, healthy in its time."""

    exit_code = 6


class ToolMissing(ForgeError):
    """The container engine or a tool is missing, unreachable or unsupported."""

    exit_code = 7


class NotOurs(ForgeError):
    """A thing of that name exists and does not belong to this environment; it was not touched."""

    exit_code = 8


class Interrupted(ForgeError):
    """Stopped by a signal, after the state was saved. exit_code is 128 and the signal's number."""

    def __init__(self, code: str, what: str, *, signal_number: int, hint: str = "") -> None:
        super().__init__(code, what, hint=hint, changed=True)
        self.signal_number = signal_number
