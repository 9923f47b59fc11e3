"""What must not be reached and must not be seen: checks of boundaries, each a Show as in e2e/checks.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from e2e.lab import Lab
from e2e.scenario import Broken, Evidence, NotYet, Run, Show
from e2e.wire import Answer, Endpoint, ask, can_connect


def refused(claim: str, endpoint: Callable[[Run], Endpoint], code: str = "") -> Show:
    """No request gets through there: the connection ends without an answer, or, where a *code* is named,
    with the error of just that guard. Any other answer means that the request came past it."""

    def show(run: Run) -> Evidence:
        place = endpoint(run)
        answer = ask(place, "POST", "/v1/chat/completions", b"{}", timeout_s=5.0)
        if answer.status and (not code or code_of(answer) != code):
            raise NotYet(f"it answered {answer.status} {code_of(answer)}, wanted {code or 'no answer'}")
        seen = f"{answer.status} {code}" if answer.status else answer.error
        return Evidence(claim, seen, {"address": place.address})

    return show


def code_of(answer: Answer) -> str:
    """The code of an OpenAI-shaped error; empty for anything else."""
    try:
        return str(json.loads(answer.body)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def not_listening(claim: str, places: Callable[[Run], Collection[tuple[str, int]]]) -> Show:
    """Nothing listens at any of these places."""

    def show(run: Run) -> Evidence:
        tried = tuple(places(run))
        there = [f"{address}:{port}" for address, port in tried if can_connect(address, port)]
        if there:
            raise NotYet(f"{', '.join(there)} is open")
        return Evidence(claim, f"{len(tried)} places tried", {"places": [f"{a}:{p}" for a, p in tried]})

    return show


def absent(
    claim: str, secrets: Callable[[Lab], Collection[str]], texts: Callable[[Lab], dict[str, str]]
) -> Show:
    """No secret stands in any of the texts. texts: place -> text."""

    def show(run: Run) -> Evidence:
        hidden, places = secrets(run.lab), texts(run.lab)
        if not all(hidden) or not places:
            raise Broken("there is nothing to look for, or nowhere to look")
        found = [place for place, text in places.items() if any(secret in text for secret in hidden)]
        if found:
            raise NotYet(f"a secret stands in {', '.join(found)}")
        size = sum(map(len, places.values()))
        return Evidence(claim, f"{len(hidden)} secrets, {len(places)} places, {size} characters")

    return show
