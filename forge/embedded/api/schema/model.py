"""The one shape in which every part of the API knows a type: Schema.

A custom resource's comes out of its definition (structural.py), a built-in's out of the packaged
data (openapi/builtin.py). Pruning, defaults, validation, server-side apply and strategic merge all
read the same value, so a rule about lists is written once and holds for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JSON = dict[str, Any]


class _Absent:
    """The one value that no JSON document can hold."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of x-kubernetes-validations.

    rule, message, message_expression: the texts as given, "" where absent. reason: FieldValueInvalid
    unless said. field_path: relative to the value, "" for the value itself. optional_old: whether
    oldSelf is optional and the rule runs on creation too.
    """

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = "FieldValueInvalid"
    field_path: str = ""
    optional_old: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One type.

    type: object, array, string, integer, number, boolean, or "" for anything.
    properties: by name. additional: the values of a map's other keys; None where it has none.
    items: of an array. default: ABSENT where it has none.
    preserve: keeps unknown fields. int_or_string: either of both. embedded: a whole object inside.
    list_type: atomic, set or map, with list_keys. map_type: granular or atomic.
    merge: strategic merge of this list or map, with merge_key; retain: its $retainKeys.
    omit: leaves an empty value out, as Go's omitempty. go: the Go type, for messages; "" if custom.
    raw: the OpenAPI it was read from, for the validations that are only compared, never walked.
    """

    type: str = ""
    properties: Mapping[str, Schema] = field(default_factory=dict)
    additional: Schema | None = None
    items: Schema | None = None
    default: Any = ABSENT
    nullable: bool = False
    preserve: bool = False
    int_or_string: bool = False
    embedded: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    map_type: str = ""
    merge: bool = False
    merge_key: str = ""
    retain: bool = False
    omit: bool = True
    go: str = ""
    rules: tuple[Rule, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def list_atomic(self) -> bool:
        """Whether an array is replaced as a whole; a list that says nothing is."""
        return self.list_type not in ("set", "map")

    def child(self, key: str) -> Schema | None:
        """The type of *key*'s value, None where the schema knows no such key."""
        found = self.properties.get(key)
        return self.additional if found is None else found


@dataclass(frozen=True, slots=True)
class Cause:
    """One violation, as it stands in a Status. field: the path. reason: FieldValue..."""

    field: str
    reason: str
    message: str

    def as_json(self) -> JSON:
        """The entry of details.causes."""
        return {"reason": self.reason, "message": self.message, "field": self.field}
