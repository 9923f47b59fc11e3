"""A cluster is waited for until all of it is there; what is missing is named."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from forge.errors import Interrupted, OperationFailed, Unhealthy
from forge.host.clusters import ready
from forge.host.clusters.api import Silent


class Answers:
    """An Api of which each path has its answers in order; the last one stays."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.asked = 0

    def get(self, path: str, timeout_s: float = 0.0) -> tuple[int, Any]:
        self.asked += 1
        answers = self._answers[path.rpartition("/")[2]]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, tuple) else (found, None)


def node(name: str, status: str = "True") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}


def nodes(*found: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"items": list(found)}


def whole(**other: list[Any]) -> Answers:
    fresh: dict[str, list[Any]] = {"readyz": [200], "nodes": [nodes(node("a"))], "default": [200]}
    return Answers(**{**fresh, **other})


WANTED = ready.Wanted("east", 1)


@pytest.mark.parametrize(
    ("api", "count", "missing"),
    [
        pytest.param(whole(), 1, "", id="nothing"),
        pytest.param(whole(readyz=[Silent("nobody")]), 1, "its API to answer (nobody)", id="no answer"),
        pytest.param(whole(readyz=[500]), 1, "its API to become ready", id="not ready"),
        pytest.param(whole(nodes=[nodes()]), 1, "its nodes (0 of 1 are there)", id="no node"),
        pytest.param(whole(), 2, "its nodes (1 of 2 are there)", id="one node of two"),
        pytest.param(
            whole(nodes=[nodes(node("b", "False"), node("a", "Unknown"))]),
            2,
            "node a, b to become Ready",
            id="nodes that are not ready",
        ),
        pytest.param(whole(nodes=[nodes({"metadata": {"name": "a"}})]), 1, "node a to become Ready", id="no status"),
        pytest.param(whole(nodes=[nodes()]), 0, "", id="no node is waited for"),
        pytest.param(whole(default=[404]), 1, "the default ServiceAccount", id="no account"),
    ],
)  # fmt: skip
def test_what_is_missing(api: Any, count: int, missing: str) -> None:
    assert ready.look(api, ready.Wanted("east", count)) == missing


def test_it_returns_once_all_is_there() -> None:
    api: Any = whole(readyz=[Silent("no"), 500, 200], nodes=[nodes(), nodes(node("a"))])
    ready.wait(api, WANTED, print, threading.Event())


def test_what_never_comes_is_named() -> None:
    api: Any = whole(default=[404])
    with pytest.raises(Unhealthy, match="the default ServiceAccount") as late:
        ready.wait(api, WANTED, print, threading.Event(), timeout_s=0.0)
    assert (late.value.code, late.value.exit_code) == ("FG0703", 6)


def test_cancelled_it_stops() -> None:
    cancel = threading.Event()
    cancel.set()
    api: Any = whole(readyz=[500])
    with pytest.raises(Interrupted):
        ready.wait(api, WANTED, print, cancel)


def test_a_long_wait_says_what_for_and_says_it_once() -> None:
    told: list[str] = []
    cancel = threading.Event()
    api: Any = whole(default=[404])

    def tell(line: str) -> None:
        told.append(line)
        threading.Timer(0.6, cancel.set).start()

    with pytest.raises(Interrupted):
        ready.wait(api, WANTED, tell, cancel)
    assert told == ["waiting for the default ServiceAccount"]


def test_what_has_died_is_not_waited_for() -> None:
    api: Any = whole(readyz=[500])
    with pytest.raises(OperationFailed, match="it died"):
        ready.wait(api, WANTED, print, threading.Event(), lambda: OperationFailed("FG0710", "it died"))
