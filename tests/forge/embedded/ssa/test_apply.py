"""Who applies what owns it; who drops it loses it; two who differ conflict."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.openapi.builtin import builtin
from forge.embedded.api.schema.structural import parse
from forge.embedded.api.ssa.apply import Applied, ApplyRejected, Conflicts, Write, apply, track_update
from forge.embedded.api.ssa.reset import reset_fields

SCHEMA = parse(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "color": {"type": "string"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "order": {"type": "array", "items": {"type": "string"}},
                    "sel": {
                        "type": "object",
                        "additionalProperties": {"type": "string"},
                        "x-kubernetes-map-type": "atomic",
                    },
                    "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
)
NOW, LATER = "2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z"
Spec = dict[str, Any]


def obj(spec: Spec, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "x.y/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec, **more}


def by(manager: str, now: str = NOW, subresource: str = "", has_status: bool = False) -> Write:
    return Write(
        manager, SCHEMA, "x.y/v1", now, subresource, reset_fields(subresource, has_status=has_status)
    )


def applied(
    live: dict[str, Any] | None, spec: Spec, manager: str = "m1", *, force: bool = False, now: str = NOW
) -> Any:
    outcome = apply(live, obj(spec), by(manager, now), force=force)
    assert isinstance(outcome, Applied), outcome
    return outcome.object


def owned(live: dict[str, Any]) -> dict[str, Any]:
    return {e["manager"]: e["fieldsV1"] for e in live["metadata"].get("managedFields", [])}


def test_what_is_applied_is_owned() -> None:
    live = applied(None, {"size": 1, "ports": [{"name": "h", "port": 1}], "tags": ["x"], "env": {"k": "v"}})
    assert live["metadata"]["managedFields"] == [
        {
            "manager": "m1",
            "operation": "Apply",
            "apiVersion": "x.y/v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:size": {},
                    "f:ports": {'k:{"name":"h"}': {".": {}, "f:name": {}, "f:port": {}}},
                    "f:tags": {'v:"x"': {}},
                    "f:env": {"f:k": {}},
                }
            },
        }
    ]


def test_what_is_dropped_goes_unless_another_owns_it() -> None:
    live = applied(
        applied(None, {"size": 1, "color": "red", "tags": ["x", "y"]}), {"size": 1, "tags": ["x"]}, "m2"
    )
    assert applied(live, {})["spec"] == {"size": 1, "tags": ["x"]}


def test_another_value_is_a_conflict_that_names_manager_and_field() -> None:
    live = applied(None, {"size": 1, "ports": [{"name": "h", "port": 1}]})
    outcome = apply(live, obj({"size": 2, "ports": [{"name": "h", "port": 2}]}), by("m2"))
    assert isinstance(outcome, Conflicts)
    assert (
        outcome.message
        == 'Apply failed with 2 conflicts: conflicts with "m1":\n- .spec.size\n- .spec.ports[name="h"].port'
    )
    assert [(c.field, c.reason, c.message) for c in outcome.causes] == [
        (".spec.size", "FieldManagerConflict", 'conflict with "m1"'),
        ('.spec.ports[name="h"].port', "FieldManagerConflict", 'conflict with "m1"'),
    ]


def test_one_conflict_with_an_update_names_its_version() -> None:
    live = obj({"size": 1})
    live["metadata"]["managedFields"] = track_update(None, live, by("edit"))
    outcome = apply(live, obj({"size": 2}), by("m1"))
    assert isinstance(outcome, Conflicts)
    assert outcome.message == 'Apply failed with 1 conflict: conflict with "edit" using x.y/v1: .spec.size'


def test_force_takes_the_field_over() -> None:
    live = applied(applied(None, {"size": 1}), {"size": 2}, "m2", force=True)
    assert (live["spec"], owned(live)) == ({"size": 2}, {"m2": {"f:spec": {"f:size": {}}}})


def test_the_same_value_is_shared() -> None:
    live = applied(applied(None, {"size": 1}), {"size": 1}, "m2")
    assert owned(live) == {"m1": {"f:spec": {"f:size": {}}}, "m2": {"f:spec": {"f:size": {}}}}
    assert "time" not in live["metadata"]["managedFields"][0]


@pytest.mark.parametrize("field", [{"order": ["a"]}, {"sel": {"a": "1"}}], ids=["list", "map"])
def test_an_atomic_field_is_owned_as_a_whole(field: Spec) -> None:
    (name, value) = next(iter(field.items()))
    live = applied(None, field)
    other = [*value, "b"] if isinstance(value, list) else {**value, "b": "2"}
    outcome = apply(live, obj({name: other}), by("m2"))
    assert isinstance(outcome, Conflicts)
    assert [c.field for c in outcome.causes] == [f".spec.{name}"]


def test_shared_items_follow_the_applied_order_and_others_keep_their_place() -> None:
    live = applied(None, {"ports": [{"name": "b"}, {"name": "a"}]})
    live = applied(live, {"ports": [{"name": "z"}]}, "m2")
    live = applied(live, {"ports": [{"name": "c"}, {"name": "a"}, {"name": "b"}]})
    assert [p["name"] for p in live["spec"]["ports"]] == ["c", "a", "z", "b"]


def test_live_items_without_their_key_stay_where_they_are() -> None:
    live = obj({"ports": [{"port": 7}, {"name": "b"}]})
    assert applied(live, {"ports": [{"name": "a"}]})["spec"]["ports"] == [
        {"port": 7},
        {"name": "b"},
        {"name": "a"},
    ]


REJECTED = [
    pytest.param(
        {"size": "x"}, ".spec.size: expected numeric (int or float), got string", id="a string for a number"
    ),
    pytest.param({"nope": 1}, ".spec.nope: field not declared in schema", id="an unknown field"),
    pytest.param(
        {"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]', id="a double set item"
    ),
    pytest.param({"tags": "a"}, ".spec.tags: expected list, got &{a}", id="a string for a list"),
    pytest.param({"env": [1]}, ".spec.env: expected map, got &{[1]}", id="a list for a map"),
    pytest.param(
        {"ports": [{"port": 1}]},
        '.spec.ports: element 0: associative list with keys has an element that omits key field "name"'
        " (and doesn't have default value)",
        id="an item without its key",
    ),
    pytest.param(
        {"size": "x", "color": 1},
        "errors:\n  .spec.color: expected string, got int64\n  .spec.size: expected numeric (int or float), got string",
        id="two errors",
    ),
]


@pytest.mark.parametrize(("spec", "told"), REJECTED)
def test_an_object_of_another_type_is_rejected(spec: Spec, told: str) -> None:
    with pytest.raises(ApplyRejected) as rejected:
        apply(None, obj(spec), by("m1"))
    assert rejected.value.message == f"failed to create typed patch object (/a; x.y/v1, Kind=Thing): {told}"
    assert rejected.value.code == 500


def test_an_object_nested_too_deeply_is_rejected() -> None:
    deep: Spec = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ApplyRejected, match="exceeded max depth") as rejected:
        apply(None, obj({"raw": deep}), by("m1"))
    assert rejected.value.code == 400
    assert track_update(None, obj({"raw": deep}), by("m1")) == []


def test_updates_own_what_they_change() -> None:
    live = applied(None, {"size": 1, "color": "red"})
    new = {**live, "spec": {"size": 2, "color": "red", "env": {"a": "b"}}}
    entries = track_update(live, new, by("edit", LATER))
    assert {e["manager"]: e["fieldsV1"] for e in entries} == {
        "m1": {"f:spec": {"f:color": {}}},
        "edit": {"f:spec": {"f:env": {".": {}, "f:a": {}}, "f:size": {}}},
    }


def test_the_status_is_nobodys_on_the_main_resource() -> None:
    new = obj({"size": 1}, status={"phase": "Up"})
    entries = track_update(None, new, by("edit", has_status=True))
    assert entries[0]["fieldsV1"] == {"f:spec": {".": {}, "f:size": {}}}
    changed = {**new, "spec": {"size": 2}, "status": {"phase": "Down"}}
    new["metadata"]["managedFields"] = entries
    after = track_update(new, changed, by("ctl", subresource="status", has_status=True))
    assert {e["manager"]: e["fieldsV1"] for e in after} == {
        "edit": {"f:spec": {".": {}, "f:size": {}}},
        "ctl": {"f:status": {"f:phase": {}}},
    }


def test_applies_come_before_updates_then_by_time_then_by_name() -> None:
    live = applied(None, {"size": 1}, "zz", now=LATER)
    live["metadata"]["managedFields"] = track_update(
        live, {**live, "spec": {"size": 1, "color": "x"}}, by("aa", NOW)
    )
    live = applied({**live, "spec": {"size": 1, "color": "x"}}, {"env": {"a": "b"}}, "bb", now=NOW)
    assert [e["manager"] for e in live["metadata"]["managedFields"]] == ["bb", "zz", "aa"]


def test_one_empty_entry_switches_tracking_off_until_the_next_apply() -> None:
    live = applied(None, {"size": 1})
    off = {**live, "metadata": {**live["metadata"], "managedFields": [{}]}}
    assert track_update(live, off, by("edit")) == []
    untracked = obj({"size": 1})
    assert track_update(untracked, obj({"size": 2}), by("edit")) == []
    assert set(owned(applied(untracked, {"color": "red"}))) == {"before-first-apply", "m1"}


def test_fields_that_do_not_parse_are_ignored() -> None:
    live = applied(None, {"size": 1})
    bad = [{"manager": "x", "operation": "Frob", "apiVersion": "x.y/v1", "fieldsV1": {"size": 1}}]
    new = {**live, "metadata": {**live["metadata"], "managedFields": bad}}
    assert track_update(live, new, by("edit")) == live["metadata"]["managedFields"]


def test_more_than_ten_updaters_share_a_bucket() -> None:
    live: dict[str, Any] = obj({})
    live["metadata"]["managedFields"] = track_update(None, live, by("u00", "2024-01-01T00:00:00Z"))
    for n in range(1, 13):
        new = {**live, "spec": {"env": {**live["spec"].get("env", {}), f"k{n}": "1"}}}
        entries = track_update(live, new, by(f"u{n:02}", f"2024-01-01T00:00:{n:02}Z"))
        live = {**new, "metadata": {"name": "a", "managedFields": entries}}
    managers = [e["manager"] for e in live["metadata"]["managedFields"]]
    assert managers == ["ancient-changes", *(f"u{n:02}" for n in range(4, 13))]


def test_kubectl_takes_over_its_own_client_side_apply() -> None:
    annotation = '{"apiVersion":"x.y/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1}}\n'
    live = obj({"size": 1})
    live["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": annotation}
    live["metadata"]["managedFields"] = track_update(None, live, by("kubectl-client-side-apply"))
    after = applied(live, {"size": 2}, "kubectl")
    assert after["spec"] == {"size": 2}
    assert after["metadata"]["annotations"][
        "kubectl.kubernetes.io/last-applied-configuration"
    ] == annotation.replace('"size":1', '"size":2')
    assert isinstance(apply(live, obj({"size": 2}), by("m1")), Conflicts)


def test_what_has_become_atomic_is_owned_as_a_whole() -> None:
    live = obj({"sel": {"a": "1"}})
    fields: Spec = {"f:spec": {"f:sel": {".": {}, "f:a": {}}}}
    live["metadata"]["managedFields"] = [
        {
            "manager": "m0",
            "operation": "Apply",
            "apiVersion": "x.y/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]
    outcome = apply(live, obj({"sel": {"a": "2"}}), by("m1"))
    assert isinstance(outcome, Conflicts)
    assert [c.field for c in outcome.causes] == [".spec.sel"]


def test_builtin_lists_are_owned_by_their_keys() -> None:
    schema = builtin("", "v1", "Service")
    assert schema is not None
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    }
    outcome = apply(None, service, Write("m", schema, "v1", NOW))
    assert isinstance(outcome, Applied)
    assert owned(outcome.object)["m"] == {
        "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}, "f:selector": {}}
    }


NAMES = st.sampled_from("abc")
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 2),
        "color": st.sampled_from(["red", "blue"]),
        "env": st.dictionaries(NAMES, NAMES, max_size=3),
        "tags": st.lists(NAMES, unique=True, max_size=3),
        "order": st.lists(NAMES, max_size=2),
        "sel": st.dictionaries(NAMES, NAMES, max_size=2),
        "raw": st.recursive(
            st.integers(0, 2), lambda v: st.dictionaries(NAMES, v, max_size=2), max_leaves=4
        ).filter(lambda v: isinstance(v, dict)),
        "ports": st.lists(
            st.fixed_dictionaries({"name": NAMES}, optional={"port": st.integers(0, 2)}),
            unique_by=lambda p: p["name"],
            max_size=3,
        ),
    },
)


@given(SPECS, SPECS)
def test_applying_twice_is_a_no_op(first: Spec, second: Spec) -> None:
    live = applied(None, first, "m0")
    once = applied(live, second, "m1", force=True)
    assert applied(once, second, "m1", now=LATER) == once


@given(SPECS, SPECS)
def test_an_empty_apply_takes_what_only_this_manager_owned(first: Spec, second: Spec) -> None:
    live = applied(applied(None, first, "m0"), second, "m1", force=True)
    after = applied(live, {}, "m1")
    assert "m1" not in owned(after) or owned(after)["m1"] == {"f:spec": {}}
    assert set(after.get("spec", {})) <= set(first) | {k for k, v in second.items() if v in ({}, [])}


@given(SPECS, SPECS)
def test_what_was_applied_stands_in_the_object(first: Spec, second: Spec) -> None:
    after = applied(applied(None, first, "m0"), second, "m1", force=True)["spec"]
    for key, value in second.items():
        match value:
            case dict() if key in ("env", "raw"):
                assert set(value) <= set(after[key])
            case list() if key == "ports":
                assert {p["name"] for p in value} <= {p["name"] for p in after[key]}
            case list() if key == "tags":
                assert set(value) <= set(after[key])
            case _:
                assert after[key] == value


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(
            st.sampled_from(["size", "ports", "name", "tags", "raw", "env", "x"]), v, max_size=3
        )
    ),
    max_leaves=10,
)


@given(JSON_VALUES, JSON_VALUES, JSON_VALUES)
def test_anything_is_applied_rejected_or_conflicts(live: Any, spec: Any, entries: Any) -> None:
    stored: dict[str, Any] = {**obj({}), "spec": live}
    stored["metadata"]["managedFields"] = entries
    wanted: dict[str, Any] = {**obj({}), "spec": spec}
    kept = copy.deepcopy((stored, wanted))
    with suppress(ApplyRejected):
        assert isinstance(apply(stored, wanted, by("m1")), (Applied, Conflicts))
    assert isinstance(track_update(stored, wanted, by("m2")), list)
    assert (stored, wanted) == kept
