"""A graph shows every thing and only the edges that do not follow from others, in three notations."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.plan.values import Condition, Desired, Key, Need
from forge.render.graph import FORMATS, graph_json, graph_lines, reduced

NET, EAST, CA = Key("network", "lab"), Key("cluster", "east"), Key("authority", "ca")
FIRST, SECOND = Key("step", "east/app/01-manifest"), Key("step", "east/app/02-wait")
DB, WEB = Key("service", "db"), Key("service", 'we"b#1')


def wanted(needs: Mapping[Key, tuple[Need | Key, ...]]) -> dict[Key, Desired]:
    return {
        key: Desired(
            key, key.name, "f", None, needs=tuple(n if isinstance(n, Need) else Need(n) for n in given_)
        )
        for key, given_ in needs.items()
    }


LAB = wanted(
    {
        NET: (),
        CA: (),
        SECOND: (FIRST, EAST, NET),
        EAST: (NET,),
        FIRST: (EAST, CA, NET),
        DB: (NET,),
        WEB: (NET, Need(DB, Condition.HEALTHY), SECOND),
    }
)

TEXT = """\
network/lab
authority/ca
cluster/east               <- network/lab
service/db                 <- network/lab
step/east/app/01-manifest  <- authority/ca, cluster/east
step/east/app/02-wait      <- step/east/app/01-manifest
service/we"b#1             <- service/db healthy, step/east/app/02-wait
"""

MERMAID = """\
graph LR
  n1["network/lab"]
  n2["authority/ca"]
  n4["service/db"]
  n7["service/we#quot;b#35;1"]
  subgraph n3g["cluster east"]
    n3["cluster/east"]
    n5["step app/01-manifest"]
    n6["step app/02-wait"]
  end
  n1 --> n3
  n1 --> n4
  n2 --> n5
  n3 --> n5
  n5 --> n6
  n4 -->|healthy| n7
  n6 --> n7
"""

DOT = """\
digraph lab {
  rankdir=LR;
  node [shape=box];
  "network/lab" [label="network/lab"];
  "authority/ca" [label="authority/ca"];
  "service/db" [label="service/db"];
  "service/we\\"b#1" [label="service/we\\"b#1"];
  subgraph cluster_1 {
    label="cluster east";
    "cluster/east" [label="cluster/east"];
    "step/east/app/01-manifest" [label="step app/01-manifest"];
    "step/east/app/02-wait" [label="step app/02-wait"];
  }
  "network/lab" -> "cluster/east";
  "network/lab" -> "service/db";
  "authority/ca" -> "step/east/app/01-manifest";
  "cluster/east" -> "step/east/app/01-manifest";
  "step/east/app/01-manifest" -> "step/east/app/02-wait";
  "service/db" -> "service/we\\"b#1" [label="healthy"];
  "step/east/app/02-wait" -> "service/we\\"b#1";
}
"""


@pytest.mark.parametrize(("style", "text"), [("text", TEXT), ("mermaid", MERMAID), ("dot", DOT)])
def test_a_lab_drawn(style: str, text: str) -> None:
    assert "\n".join(graph_lines(LAB, style)) + "\n" == text


def test_the_same_as_data() -> None:
    found = graph_json(LAB)
    assert found["nodes"][4] == {"key": "step/east/app/01-manifest", "kind": "step", "cluster": "east"}
    assert {"from": "service/db", "to": str(WEB), "condition": "healthy"} in found["edges"]


@pytest.mark.parametrize("style", FORMATS)
def test_nothing_is_a_graph_too(style: str) -> None:
    assert isinstance(graph_lines({}, style), tuple)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not here")
def test_graphviz_takes_it() -> None:
    source = "\n".join(graph_lines(LAB, "dot"))
    done = subprocess.run(
        ["dot", "-Tsvg"], input=source, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_circle_is_an_error_and_no_endless_loop() -> None:
    with pytest.raises(ValueError, match="circle"):
        reduced(wanted({DB: (WEB,), WEB: (DB,)}))


def closure(needs: Mapping[Key, tuple[Need, ...]]) -> set[tuple[Key, Key]]:
    found: set[tuple[Key, Key]] = set()
    for key, direct in needs.items():  # in an order in which needs come first
        for need in direct:
            found.add((need.key, key))
            found |= {(a, key) for a, b in found if b == need.key}
    return found


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_leaving_edges_out_loses_nothing(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    size, pairs = drawn
    keys = [Key("service", f"s{i}") for i in range(size)]
    needs = {key: tuple(keys[a] for a, b in sorted(pairs) if b == i and a < i) for i, key in enumerate(keys)}
    full = {key: d.needs for key, d in wanted(needs).items()}
    few = reduced(wanted(needs))
    assert closure(few) == closure(full)
    for key, direct in few.items():
        for need in direct:
            others = {n.key for n in direct} - {need.key}
            assert not any((need.key, other) in closure(full) for other in others), key
