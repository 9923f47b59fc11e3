"""Asks again what may pass: an API that is away, too busy, or whose webhook does not answer yet.

`may_pass` is the rule, a pure function of an answer. How long is a budget of seconds since things last
went well: while some of many objects go through there is no reason to give up on the rest.
"""

from __future__ import annotations

import random
import threading
import time

from forge.host.kube.transport import Reply
from forge.plan.ports import Cancel

_STAYS = ("typed patch object", "field not declared in schema", "failed to create manager")

FIRST_S = 0.1
SLOWEST_S = 5.0


def may_pass(reply: Reply) -> bool:
    """Whether asking again later may end otherwise. A manifest that does not fit its kind's schema is an
    internal error (500) to a server-side apply, and stays one."""
    if reply.status in (429, 502, 503, 504):
        return True
    if reply.status == 500:
        return not any(words in reply.words for words in _STAYS)
    if reply.status == 409:  # somebody wrote at the same moment; for a delete it is a precondition
        return reply.reason in ("Conflict", "AlreadyExists") and "Precondition" not in reply.words
    return reply.status == 403 and "being terminated" in reply.words


class Patience:
    """budget_s: seconds without any success until what fails is given up. Shared by threads."""

    def __init__(self, budget_s: float, cancel: Cancel | None = None) -> None:
        self._budget_s = budget_s
        self._cancel = cancel
        self._since = time.monotonic()
        self._lock = threading.Lock()

    @property
    def cancel(self) -> Cancel | None:
        return self._cancel

    @property
    def is_cancelled(self) -> bool:
        return self._cancel is not None and self._cancel.is_set()

    def went_well(self) -> None:
        with self._lock:
            self._since = time.monotonic()

    def pause(self, attempt: int, asked_s: float = 0.0) -> bool:
        """Waits before attempt number *attempt* (from 1); False when there is no point any more.
        asked_s: what the server asks for."""
        with self._lock:
            left = self._since + self._budget_s - time.monotonic()
        jitter = 0.5 + random.random() / 2  # noqa: S311 - many clients shall not come back at once
        wait = max(asked_s, min(SLOWEST_S, FIRST_S * 2 ** (attempt - 1)) * jitter)
        if left <= 0 or self.is_cancelled:
            return False
        wait = min(wait, left)
        if self._cancel is not None:
            return not self._cancel.wait(wait)
        time.sleep(wait)
        return True
