"""`graph`: what the file asks for and what waits for what, without looking at what is there."""

from __future__ import annotations

from forge.app import wish as wishes
from forge.app.lab import Lab
from forge.app.up import DEFAULTS, Request
from forge.app.wish import Note, Wish
from forge.plan.values import Owner


def graph(lab: Lab, note: Note, request: Request = DEFAULTS) -> Wish:
    """The wish of the file as it is now. Changes nothing. Raises what `plan` raises for a file."""
    state = lab.store.read()
    opened = request.opened(lab, state.owner if state is not None else Owner("", ""))
    return wishes.read(lab, state, opened, note)[0]
