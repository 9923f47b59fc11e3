"""x-kubernetes-validations: compiled with the definition, run on every write.

A rule sees its value as `self`, and as `oldSelf` what was there before; a rule that names oldSelf runs
on updates only. What a value that an update leaves alone has against a rule is let through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from forge.embedded.api.schema.causes import duplicate, forbidden, invalid, required
from forge.embedded.api.schema.cel import CelError
from forge.embedded.api.schema.cel_names import visible
from forge.embedded.api.schema.cel_rule import Runnable, runnable
from forge.embedded.api.schema.model import ABSENT, JSON, Cause, Rule, Schema
from forge.embedded.api.schema.place import Place
from forge.embedded.api.ssa.shapes import same

FIELD_PATH: Final = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^']*)'\]|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Seen:
    """A value and what it was, as rules see them. existed: whether it was there before."""

    this: Any
    old: Any
    existed: bool


def run_rules(obj: JSON, schema: Schema, old: JSON | None) -> Iterator[Cause]:
    """What the rules have against *obj*, outermost first. old: None on creation."""
    yield from _run(obj, schema, Place(), ABSENT if old is None else old, root=True)


def _run(value: Any, schema: Schema, place: Place, old: Any, *, root: bool = False) -> Iterator[Cause]:
    if value is None:
        return
    if schema.rules:
        yield from _at(value, schema, place, old, root=root)
    if isinstance(value, list) and schema.items is not None:
        before = _before(value, schema, old)
        for index, item in enumerate(value):
            yield from _run(item, schema.items, place.index(index), before[index])
    if isinstance(value, dict):
        past = old if isinstance(old, dict) else {}
        for key in sorted(value):
            below = schema.child(key)
            if below is not None and not (key == "metadata" and (root or schema.embedded)):
                yield from _run(value[key], below, place.key(key), past.get(key, ABSENT))


def _before(value: list[Any], schema: Schema, old: Any) -> list[Any]:
    if schema.list_type != "map" or not isinstance(old, list):
        return [ABSENT] * len(value)

    def name(item: Any) -> str:
        return repr([item.get(k) for k in schema.list_keys]) if isinstance(item, dict) else ""

    past = {name(item): item for item in old}
    return [past.get(name(item), ABSENT) for item in value]


def _at(value: Any, schema: Schema, place: Place, old: Any, *, root: bool) -> Iterator[Cause]:
    seen = Seen(
        visible(value, schema, root=root),
        None if old is ABSENT else visible(old, schema, root=root),
        existed=old is not ABSENT and old is not None,
    )
    unchanged = old is not ABSENT and same(value, old)
    for rule in schema.rules:
        try:
            program = runnable(rule.rule, schema, rule.optional_old)
        except CelError as error:
            # A definition stored by another release may hold what this one cannot compile.
            yield invalid(place.field, schema.type, _failed(str(error), rule))
            continue
        if program.transition and not seen.existed and not rule.optional_old:
            continue
        if unchanged and not program.transition:
            continue
        if told := _judge(rule, program, seen, schema):
            yield _cause(rule.reason, _pointed(place, rule.field_path), schema.type, told)


def _cause(reason: str, field: str, kind: str, told: str) -> Cause:
    if reason == "FieldValueRequired":
        return required(field, told)
    if reason == "FieldValueForbidden":
        return forbidden(field, told)
    return duplicate(field, kind) if reason == "FieldValueDuplicate" else invalid(field, kind, told)


def _judge(rule: Rule, program: Runnable, seen: Seen, schema: Schema) -> str:
    """Why the rule does not hold, "" where it does."""
    try:
        if program.evaluate(seen.this, seen.old, existed=seen.existed) is True:
            return ""
    except CelError as error:
        return _failed(str(error), rule)
    return _expressed(rule, seen, schema) or _message(rule)


def _expressed(rule: Rule, seen: Seen, schema: Schema) -> str:
    """What messageExpression gives, "" where there is none or it gives nothing fit to print."""
    if not rule.message_expression:
        return ""
    try:
        expression = runnable(rule.message_expression, schema, rule.optional_old)
        told = expression.evaluate(seen.this, seen.old, existed=seen.existed)
    except CelError:
        return ""
    text = told.strip() if isinstance(told, str) else ""
    return "" if "\n" in text else text


def _failed(error: str, rule: Rule) -> str:
    if error == "no such overload":
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro signature"
            f" for rule: {rule.message or rule.rule.strip()}"
        )
    return f"{error} evaluating rule: {rule.message or rule.rule.strip()}"


def _message(rule: Rule) -> str:
    return rule.message.strip() or f"failed rule: {rule.rule.strip()}"


def _pointed(place: Place, path: str) -> str:
    for name, quoted, index in FIELD_PATH.findall(path):
        place = place.index(int(index)) if index else place.key(name or quoted)
    return place.field


def rule_complaints(schema: Schema, path: str, within: str = "") -> Iterator[Cause]:
    """What is wrong with the rules at *path* in a definition: they must compile, to a bool.

    within: the list whose items cannot be told from those before an update; "" where all can.
    """
    for index, rule in enumerate(schema.rules):
        where = f"{path}.x-kubernetes-validations[{index}]"
        yield from _text_complaints(rule, where)
        if told := _uncompiled(rule, rule.rule, "bool", schema):
            yield Cause(f"{where}.rule", "FieldValueInvalid", f"Invalid value: {_in_go(rule)}: {told}")
        elif within and runnable(rule.rule, schema, rule.optional_old).transition:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
            yield invalid(f"{where}.rule", rule.rule, detail)
        if rule.message_expression and (told := _uncompiled(rule, rule.message_expression, "string", schema)):
            field = f"{where}.messageExpression"
            yield Cause(field, "FieldValueInvalid", f"Invalid value: {_in_go(rule)}: {told}")


def _text_complaints(rule: Rule, where: str) -> Iterator[Cause]:
    if not rule.rule.strip():
        yield required(f"{where}.rule", "rule is not specified")
    if rule.message and not rule.message.strip():
        yield invalid(f"{where}.message", rule.message, "message must be non-empty if specified")
    elif "\n" in rule.message.strip():
        yield invalid(f"{where}.message", rule.message, "message must not contain line breaks")


def _uncompiled(rule: Rule, expression: str, result: str, schema: Schema) -> str:
    if not expression.strip():
        return ""
    try:
        found = runnable(expression, schema, rule.optional_old).result
    except CelError as error:
        return str(error)
    if found not in (result, "dyn"):
        subject = "cel expression" if result == "bool" else "messageExpression"
        return f"{subject} must evaluate to a {result}"
    return ""


def _in_go(rule: Rule) -> str:
    """The rule as Go prints the struct it is read into."""

    def text(value: str) -> str:
        import json

        return json.dumps(value, ensure_ascii=False)

    reason = "(*apiextensions.FieldValueErrorReason)(nil)"
    if rule.reason != "FieldValueInvalid":
        reason = "(*apiextensions.FieldValueErrorReason)(0xc000a1b2c0)"
    optional = "(*bool)(0xc000a1b2c0)" if rule.optional_old else "(*bool)(nil)"
    return (
        f"apiextensions.ValidationRule{{Rule:{text(rule.rule)}, Message:{text(rule.message)},"
        f" MessageExpression:{text(rule.message_expression)}, Reason:{reason},"
        f" FieldPath:{text(rule.field_path)}, OptionalOldSelf:{optional}}}"
    )
