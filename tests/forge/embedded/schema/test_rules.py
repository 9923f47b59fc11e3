"""Rules (CEL) are compiled with the definition and judge every write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.schema.structural import SchemaInvalid, parse, read_root
from forge.embedded.api.schema.validate import validate

FIELDS: dict[str, Any] = {
    "size": {"type": "integer"},
    "ratio": {"type": "number"},
    "name": {"type": "string"},
    "on": {"type": "boolean"},
    "at": {"type": "string", "format": "date-time"},
    "day": {"type": "string", "format": "date"},
    "wait": {"type": "string", "format": "duration"},
    "blob": {"type": "string", "format": "byte"},
    "any": {"x-kubernetes-int-or-string": True},
    "note": {"type": "string", "nullable": True},
    "list": {"type": "array", "items": {"type": "integer"}},
    "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
    "a-b": {"type": "integer"},
    "in": {"type": "string"},
    "inner": {"type": "object", "properties": {"x": {"type": "integer"}}},
}
AT = "spec.validation.openAPIV3Schema.properties[spec]"


def schema(*rules: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": list(rules)}
    return {"type": "object", "properties": {"spec": spec}}


def judged(rule: dict[str, Any], spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    found = validate({"spec": spec}, parse(schema(rule)), None if old is None else {"spec": old})
    return [c.message for c in found]


HOLDS = [
    ("self.size > 1", {"size": 2}),
    ("!has(self.size) || self.size > 1", {}),
    ("self.ratio < 1.5", {"ratio": 1}),
    ("self.list.all(i, i > 0) && self.list.isSorted() && self.list.sum() == 6", {"list": [1, 2, 3]}),
    ("self.list.max() == 3 && self.list.min() == 1", {"list": [1, 3]}),
    ("self.env.exists(k, k == 'a') && self.env['a'] == 'b'", {"env": {"a": "b"}}),
    ("self.at > timestamp('2020-01-01T00:00:00Z')", {"at": "2024-01-01T00:00:00Z"}),
    ("self.at.getFullYear() == 2024", {"at": "2024-01-01T00:00:00Z"}),
    ("self.day < timestamp('2020-02-01T00:00:00Z')", {"day": "2020-01-31"}),
    ("self.wait <= duration('2h')", {"wait": "1h30m"}),
    ("self.times.all(t, t < timestamp('2030-01-01T00:00:00Z'))", {"times": ["2024-01-01T00:00:00Z"]}),
    ("self.times[0] < timestamp('2030-01-01T00:00:00Z')", {"times": ["2024-01-01T00:00:00Z"]}),
    ("has(self.at)", {"at": "2024-01-01T00:00:00Z"}),
    ("self.blob == b'hi'", {"blob": "aGk="}),
    ("type(self.any) == int ? self.any > 1 : self.any == 'x'", {"any": 2}),
    ("type(self.any) == int ? self.any > 1 : self.any == 'x'", {"any": "x"}),
    ("self.a__dash__b == 1 && self.__in__ == 'y'", {"a-b": 1, "in": "y"}),
    ("self.?inner.?x.orValue(7) == 7", {}),
    ("quantity(self.name).isLessThan(quantity('1Gi'))", {"name": "500Mi"}),
    ("isQuantity(self.name) && quantity(self.name).add(quantity('1')).asInteger() == 3", {"name": "2"}),
    (
        "url(self.name).getHost() == 'a.b:80' && url(self.name).getPort() == '80'",
        {"name": "http://a.b:80/c?d=e"},
    ),
    (
        "isIP(self.name) && ip(self.name).family() == 4 && cidr('10.0.0.0/8').containsIP(self.name)",
        {"name": "10.1.2.3"},
    ),
    ("isCIDR(self.name) && cidr(self.name).prefixLength() == 24", {"name": "10.1.2.0/24"}),
    ("self.name.find('[0-9]+') == '12' && self.name.findAll('[a-z]') == ['a', 'b']", {"name": "a12b"}),
    ("self.name.lowerAscii() == 'ab' && self.name.split('')[0] == 'A'", {"name": "AB"}),
    ("'%s-%d'.format([self.name, self.size]) == 'a-1'", {"name": "a", "size": 1}),
    ("cel.bind(n, self.size, n + n == 4)", {"size": 2}),
    ("sets.contains(self.list, [1]) && sets.equivalent(self.list, [2, 1])", {"list": [1, 2]}),
    ("ip.isCanonical(self.name)", {"name": "10.1.2.3"}),
    ("self.note == null", {"note": None}),
]


@pytest.mark.parametrize(("rule", "spec"), HOLDS, ids=[rule for rule, _ in HOLDS])
def test_a_rule_that_holds(rule: str, spec: dict[str, Any]) -> None:
    assert judged({"rule": rule}, spec) == []
    (told,) = judged({"rule": f"!({rule})", "message": "no"}, spec)
    assert told == 'Invalid value: "object": no'


REFUSED = [
    ("self.zz > 1", "compilation failed: ERROR: <input>:1:5: undefined field 'zz'\n | self.zz > 1\n | ....^"),
    (
        "self.inner.q == 1",
        "compilation failed: ERROR: <input>:1:11: undefined field 'q'\n | self.inner.q == 1\n | ..........^",
    ),
    (
        "self.list.all(i, i.x > 1)",
        (
            "compilation failed: ERROR: <input>:1:19: type 'int' does not support field selection\n"
            " | self.list.all(i, i.x > 1)\n | ..................^"
        ),
    ),
    (
        "self.name > 1",
        (
            "compilation failed: ERROR: <input>:1:11: found no matching overload for '_>_' applied to '(string, int)'\n"
            " | self.name > 1\n | ..........^"
        ),
    ),
    (
        "self.at == 'x'",
        (
            "compilation failed: ERROR: <input>:1:9: found no matching overload for '_==_' applied to '(timestamp, string)'\n"
            " | self.at == 'x'\n | ........^"
        ),
    ),
    ("self.size", "cel expression must evaluate to a bool"),
    ("self.size + 1", "cel expression must evaluate to a bool"),
    (
        "nope(self)",
        "compilation failed: ERROR: <input>:1:5: undeclared reference to 'nope' (in container '')\n | nope(self)\n | ....^",
    ),
]


@pytest.mark.parametrize(("rule", "told"), REFUSED, ids=[rule for rule, _ in REFUSED])
def test_a_rule_that_cannot_be_compiled_refuses_the_definition(rule: str, told: str) -> None:
    with pytest.raises(SchemaInvalid) as refused:
        parse(schema({"rule": rule}))
    (cause,) = refused.value.causes
    assert cause.field == f"{AT}.x-kubernetes-validations[0].rule"
    assert cause.message.endswith(f"OptionalOldSelf:(*bool)(nil)}}: {told}")


def test_a_transition_rule_on_items_nobody_can_follow_refuses_the_definition() -> None:
    rule = {"rule": "self == oldSelf"}
    items = {"type": "integer", "x-kubernetes-validations": [rule]}
    openapi = {"type": "object", "properties": {"a": {"type": "array", "items": items}}}
    with pytest.raises(SchemaInvalid) as refused:
        parse(openapi)
    (cause,) = refused.value.causes
    at = "spec.validation.openAPIV3Schema.properties[a]"
    assert cause.field == f"{at}.items.x-kubernetes-validations[0].rule"
    assert cause.message == (
        f'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within {at}'
    )


def test_a_transition_rule_runs_where_there_was_a_value() -> None:
    rule = {"rule": "self.size >= oldSelf.size", "message": "shrinks"}
    assert judged(rule, {"size": 1}) == []
    assert judged(rule, {"size": 1}, {"size": 2}) == ['Invalid value: "object": shrinks']
    assert judged(rule, {"size": 3}, {"size": 2}) == []


def test_an_optional_old_value_is_an_optional() -> None:
    rule = {
        "rule": "oldSelf.hasValue() ? self.size > oldSelf.value().size : self.size == 1",
        "optionalOldSelf": True,
    }
    assert judged(rule, {"size": 1}) == []
    assert judged(rule, {"size": 2}) == [f'Invalid value: "object": failed rule: {rule["rule"]}']
    assert judged(rule, {"size": 2}, {"size": 1}) == []
    other = {"rule": "oldSelf.?size.orValue(0) < self.size", "optionalOldSelf": True}
    assert judged(other, {"size": 1}) == []


def test_what_an_update_leaves_alone_is_not_judged_again() -> None:
    rule = {"rule": "self.size > 5", "message": "small"}
    assert judged(rule, {"size": 1}, {"size": 1}) == []
    assert judged(rule, {"size": 1, "name": "x"}, {"size": 1}) == ['Invalid value: "object": small']


def test_a_message_may_be_computed_and_falls_back() -> None:
    rule = {
        "rule": "self.size > 5",
        "message": "small",
        "messageExpression": "'size is ' + string(self.size)",
    }
    assert judged(rule, {"size": 1}) == ['Invalid value: "object": size is 1']
    assert judged({**rule, "messageExpression": "self.name"}, {"size": 1}) == [
        'Invalid value: "object": small'
    ]


def test_a_stored_rule_that_does_not_compile_lets_nothing_through() -> None:
    stored = read_root(schema({"rule": "self.zz > 1", "message": "never"}))
    (cause,) = validate({"spec": {}}, stored)
    assert cause.message.endswith("evaluating rule: never")


def test_numbers_out_of_range_are_violations_or_infinite() -> None:
    assert judged({"rule": "self.ratio > 1.0"}, {"ratio": 2**2000}) == []
    (told,) = judged({"rule": "self.size > 1"}, {"size": 2**70})
    assert "out of range" in told


def test_a_rule_that_fails_to_run_is_a_violation() -> None:
    assert judged({"rule": "self.name == 'x'"}, {}) == [
        "Invalid value: \"object\": no such key: name evaluating rule: self.name == 'x'"
    ]


TERMS = st.sampled_from(
    (
        "self", "oldSelf", "self.size", "self.at", "self.list", "self.env", "self.inner.x", "self.zz", "1", "'a'",
        "1.5", "null", "true", "[1]", "{'a': 1}", "self.list[0]", "self.times[0]", "has(self.at)",
        "size(self.env)",
    )
)  # fmt: skip
EXPRESSIONS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["==", "<", "+", "&&", "in", "||", "-"]), inner).map(" ".join),
        inner.map(lambda e: f"({e}).all(i, i == {e})"),
        inner.map(lambda e: f"!({e})"),
        inner.map(lambda e: f"string({e})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
    ),
    max_leaves=5,
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(),
        "at": st.just("2024-01-01T00:00:00Z"),
        "list": st.lists(st.integers(-3, 3), max_size=2),
        "env": st.dictionaries(st.sampled_from("ab"), st.text(max_size=2), max_size=2),
        "inner": st.fixed_dictionaries({}, optional={"x": st.integers(0, 1)}),
    },
)


@given(EXPRESSIONS | st.text(alphabet="self.a()[]'!=<&|?: 1", max_size=20), SPECS, SPECS, st.booleans())
def test_any_rule_is_refused_or_judges(
    rule: str, spec: dict[str, Any], old: dict[str, Any], optional: bool
) -> None:
    try:
        made = parse(schema({"rule": rule, "optionalOldSelf": optional}))
    except SchemaInvalid as refused:
        told = refused.causes
    else:
        told = validate({"spec": spec}, made) + validate({"spec": spec}, made, {"spec": old})
    assert all(cause.message for cause in told)


def test_reason_and_field_of_a_violation() -> None:
    rule = {
        "rule": "has(self.name)",
        "message": "needed",
        "reason": "FieldValueRequired",
        "fieldPath": ".name",
    }
    (cause,) = validate({"spec": {}}, parse(schema(rule)))
    assert (cause.field, cause.reason, cause.message) == (
        "spec.name",
        "FieldValueRequired",
        "Required value: needed",
    )
