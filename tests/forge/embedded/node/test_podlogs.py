"""What a request for logs asks for, and what of it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.api.status import ApiError
from forge.embedded.node.podlogs import Wanted, line_bytes, wanted
from forge.embedded.process.follow import Line

NOW = 1_780_000_000.0


def pod(*names: str, initial: tuple[str, ...] = ()) -> dict[str, Any]:
    spec = {
        "containers": [{"name": name} for name in names],
        "initContainers": [{"name": name} for name in initial],
    }
    return {"metadata": {"name": "p"}, "spec": spec}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({}, Wanted("a", False, False, False, None, None, None), id="the only container"),
        pytest.param(
            {"follow": "true", "timestamps": "true", "tailLines": "5", "limitBytes": "9"},
            Wanted("a", False, True, True, 5, None, 9),
            id="the end of it, stamped, and what comes",
        ),
        pytest.param(
            {"previous": "true", "sinceSeconds": "60"},
            Wanted("a", True, False, False, None, NOW - 60, None),
            id="a minute of the run before",
        ),
        pytest.param(
            {"sinceTime": "2026-05-28T20:26:40Z"},
            Wanted("a", False, False, False, None, NOW, None),
            id="since then",
        ),
    ],
)
def test_a_request_asks_for(query: dict[str, str], expected: Wanted) -> None:
    assert wanted(query, pod("a"), NOW) == expected


@pytest.mark.parametrize(
    ("found", "query", "why"),
    [
        pytest.param(pod("a", "b"), {}, "choose one of: [a b]", id="one of two must be named"),
        pytest.param(
            pod("a", "b", initial=("i",)),
            {},
            "[a b] or one of the init containers: [i]",
            id="those before them count",
        ),
        pytest.param(
            pod("a"), {"container": "x"}, "container x is not valid for pod p", id="a container it has not"
        ),
        pytest.param(pod("a"), {"tailLines": "-1"}, "tailLines must be", id="a negative number of lines"),
        pytest.param(pod("a"), {"sinceTime": "then"}, "sinceTime:", id="a time that is none"),
    ],
)
def test_a_request_is_refused(found: dict[str, Any], query: dict[str, str], why: str) -> None:
    with pytest.raises(ApiError) as refused:
        wanted(query, found, NOW)
    assert refused.value.code == 400
    assert why in refused.value.message


def test_a_container_may_be_any_of_the_pods() -> None:
    assert wanted({"container": "i"}, pod("a", initial=("i",)), NOW).container == "i"


def test_lines_carry_their_time_where_it_is_wanted() -> None:
    line = Line(NOW + 0.25, 1, "stdout", "said")
    assert line_bytes(line, timestamps=False) == b"said\n"
    assert line_bytes(line, timestamps=True) == b"2026-05-28T20:26:40.250000000Z said\n"
