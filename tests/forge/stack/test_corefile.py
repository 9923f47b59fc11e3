"""A zone is forwarded once, and nothing else of the text changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.stack.corefile import forwarded

ROOT = ".:53 {\n    kubernetes cluster.local {\n        pods insecure\n    }\n    forward . /etc/resolv.conf\n}\n"
OURS = "lab.test:53 {\n    errors\n    cache 30\n    forward . 10.0.0.2 10.0.0.3:5353\n}\n"
OTHER = "other.test {\n    forward . 1.1.1.1\n}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(ROOT, ROOT + OURS, id="new"),
        pytest.param(ROOT + OURS, ROOT + OURS, id="there already"),
        pytest.param(
            ROOT + OURS.replace("10.0.0.2", "10.9.9.9") + OTHER, ROOT + OURS + OTHER, id="other upstreams"
        ),
        pytest.param("lab.test {\n forward . 1.1.1.1\n}\n" + ROOT, OURS + ROOT, id="without a port"),
        pytest.param(
            OTHER.replace("other", "sub.lab"), OTHER.replace("other", "sub.lab") + OURS, id="a zone below it"
        ),
        pytest.param("# lab.test:53 {\n" + ROOT, "# lab.test:53 {\n" + ROOT + OURS, id="only in a comment"),
        pytest.param(ROOT.rstrip("\n"), ROOT + OURS, id="no line end"),
        pytest.param("", OURS, id="empty"),
    ],
)
def test_a_zone_is_forwarded(before: str, after: str) -> None:
    assert forwarded(before, "lab.test", ("10.0.0.2", "10.0.0.3:5353")) == after


@given(st.lists(st.sampled_from([ROOT, OTHER, OURS, "# a comment\n", "\n"]), max_size=6))
def test_a_second_time_changes_nothing(blocks: list[str]) -> None:
    once = forwarded("".join(blocks), "lab.test", ("10.0.0.2",))
    assert forwarded(once, "lab.test", ("10.0.0.2",)) == once


@given(st.text(alphabet="lab.test:53 {}\n#x", max_size=60))
def test_any_text_gets_exactly_one(text: str) -> None:
    assert forwarded(text, "lab.test", ("10.0.0.2",)).count("forward . 10.0.0.2") == 1
