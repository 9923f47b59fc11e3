"""A state survives its JSON; other versions and other programs' files are refused or migrated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import ForgeError
from forge.plan.values import Allocation, Key, Owner, Recorded, RecordPhase
from forge.state.model import API_VERSION, Operation, State, from_json, to_json

text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
keys = st.builds(Key, st.sampled_from(["network", "image", "service"]), text)
subnets = st.sampled_from(["10.4.0.0/16", "127.9.0.0/16", "fd00::/64"])
records = st.builds(
    Recorded,
    keys,
    st.sampled_from(RecordPhase),
    text,
    text,
    text,
    st.floats(0, 1e10),
    st.booleans(),
    st.booleans(),
)
states = st.builds(
    State,
    st.builds(Owner, text, text),
    st.integers(0, 10**9),
    text,
    st.builds(
        Allocation,
        st.none() | subnets,
        st.dictionaries(text, st.ip_addresses().map(str), max_size=3),
        st.dictionaries(text, st.just("10.0.0.4-10.0.0.9"), max_size=2),
        st.dictionaries(text, subnets, max_size=2),
    ),
    st.lists(records, max_size=4).map(lambda rs: {r.key: r for r in rs}),
    st.none() | st.builds(Operation, text, st.floats(0, 1e10), text),
    st.lists(text, max_size=3).map(tuple),
)


@given(states)
def test_a_state_survives_its_json(state: State) -> None:
    assert from_json(json.loads(json.dumps(to_json(state))), "state.json") == state


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"version": 3}, "of version 3, this Forge reads up to 2", id="newer"),
        pytest.param(
            {"apiVersion": "forge.praxis.dev/state/v2"},
            "apiVersion is 'forge.praxis.dev/state/v2'",
            id="newer API",
        ),
        pytest.param({"version": None}, "another program wrote it", id="the same API without a version"),
    ],
)
def test_what_is_not_for_us_is_refused(change: dict[str, Any], why: str) -> None:
    document = to_json(State(Owner("lab", "1"))) | change
    with pytest.raises(ForgeError) as raised:
        from_json(document, "x/state.json")
    assert raised.value.code == "FG0202"
    assert why in raised.value.why
    assert "x/state.json" in raised.value.what


def test_an_older_document_is_brought_up_to_date_step_by_step() -> None:
    document = to_json(State(Owner("lab", "1"))) | {"version": 1}
    del document["runtime"]
    migrations = {
        1: lambda d: d | {"engine": "docker"},
        2: lambda d: {k: v for k, v in d.items() if k != "engine"} | {"runtime": d["engine"]},
    }
    assert from_json(document, "state.json", version=3, migrations=migrations).runtime == "docker"


def test_the_document_names_its_version() -> None:
    assert to_json(State(Owner("lab", "1")))["apiVersion"] == API_VERSION


@pytest.mark.parametrize(
    "network",
    [
        pytest.param({"subnet": "../../etc", "addresses": {}}, id="a path for a subnet"),
        pytest.param({"subnet": None, "addresses": {"web": "10.0.0.999"}}, id="an address out of range"),
        pytest.param(
            {"subnet": None, "addresses": {}, "pools": {"a": "10.0.0.1-x"}}, id="a pool without an end"
        ),
        pytest.param(
            {"subnet": None, "addresses": {}, "blocks": {"a": "10.0.0.1/16"}}, id="a block with host bits"
        ),
    ],
)
def test_what_is_no_address_is_no_state(network: dict[str, object]) -> None:
    document = to_json(State(Owner("lab", "id"))) | {"network": network}
    with pytest.raises(ValueError, match=r"."):
        from_json(document, "state.json")


@pytest.mark.parametrize("version", [0, -5, True, "2", None])
def test_a_version_that_is_none_is_another_programs(version: object) -> None:
    document = to_json(State(Owner("lab", "id"))) | {"version": version}
    with pytest.raises(ForgeError, match="FG0202"):
        from_json(document, "state.json")
