"""A user's kubeconfig gets this environment's clusters and loses them again; all else in it stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.plan.kubeconfigs import clashes, is_empty, merged, together, without
from forge.plan.values import Owner

OURS = Owner("lab", "id-of-lab")
OTHERS = Owner("lab", "id-of-another")
MINE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "preferences": {"colors": True},
    "clusters": [{"name": "work", "cluster": {"server": "https://work"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
    "current-context": "work",
}


def config(*names: str, server: str = "https://here") -> dict[str, Any]:
    return {
        "clusters": [{"name": n, "cluster": {"server": server}} for n in names],
        "users": [{"name": n, "user": {"token": n}} for n in names],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in names],
        "current-context": names[0] if names else "",
    }


def names(document: dict[str, Any]) -> list[str]:
    return [entry.get("name", "") for entry in document["contexts"]]


def test_ours_come_beside_what_is_there() -> None:
    found = merged(MINE, config("east", "west"), OURS)
    assert names(found) == ["work", "east", "west"]
    assert found["current-context"] == "work"
    assert found["preferences"] == {"colors": True}
    assert found["users"][0] == MINE["users"][0]


def test_an_empty_file_gets_a_current_context() -> None:
    found = merged({}, config("east"), OURS)
    assert (found["apiVersion"], found["kind"], found["current-context"]) == ("v1", "Config", "east")


def test_merging_again_brings_them_up_to_date_and_drops_what_went() -> None:
    once = merged(MINE, config("east", "west"), OURS)
    again = merged(once, config("east", server="https://moved"), OURS)
    assert names(again) == ["work", "east"]
    assert again["clusters"][1]["cluster"]["server"] == "https://moved"


def test_taking_them_out_leaves_what_was_there() -> None:
    assert without(merged(MINE, config("east"), OURS), OURS) == MINE


def test_a_current_context_that_went_is_empty() -> None:
    found = merged(MINE, config("east"), OURS) | {"current-context": "east"}
    assert without(found, OURS)["current-context"] == ""


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        pytest.param({}, (), id="an empty file"),
        pytest.param(MINE, (), id="other names"),
        pytest.param(config("east"), ("cluster east", "user east", "context east"), id="a user's own"),
        pytest.param(
            merged({}, config("east"), OTHERS),
            ("cluster east", "user east", "context east"),
            id="another environment's",
        ),
        pytest.param(merged({}, config("east"), OURS), (), id="our own"),
        pytest.param({"users": [{"name": "east", "user": {}}]}, ("user east",), id="a user alone"),
    ],
)
def test_names_that_are_taken(there: dict[str, Any], taken: tuple[str, ...]) -> None:
    assert clashes(there, config("east"), OURS) == taken


def test_one_document_of_several() -> None:
    found = together([config("east"), config("west")])
    assert names(found) == ["east", "west"]
    assert found["current-context"] == "east"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["clusters", "users", "contexts", "current-context", "x"]), JUNK))
def test_whatever_the_file_holds_ours_come_and_go(document: dict[str, Any]) -> None:
    if clashes(document, config("east"), OURS):
        return
    found = merged(document, config("east"), OURS)
    assert "east" in names(found)
    gone = without(found, OURS)
    assert not [n for n in gone["clusters"] if n.get("name") == "east" and "server" in n.get("cluster", {})]
    assert without(gone, OURS) == gone


def test_what_is_empty() -> None:
    assert is_empty({})
    assert is_empty({"clusters": [], "current-context": ""})
    assert not is_empty(MINE)
