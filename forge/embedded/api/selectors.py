"""Label and field selectors: what a list or watch is asked to show.

Labels are set-based (`app in (a,b),!old,tier>1`), read by the real server's own little grammar so that
a mistake gets its words. Fields know equality only; which fields a kind has is the caller's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from forge.embedded.api import names

Operator = Literal["in", "notin", "exists", "!", "gt", "lt"]
SPECIAL: Final = "=!(),><"
SYMBOLS: Final = {")", ",", "!", "==", "=", ">", "<", "!=", "("}
BINARY: Final[dict[str, Operator]] = {
    "in": "in", "notin": "notin", "=": "in", "==": "in", "!=": "notin", ">": "gt", "<": "lt",
}  # fmt: skip
OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"
EXPRESSIONS: Final[dict[str, Operator]] = {
    "In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!",
}  # fmt: skip
INTEGER: Final = re.compile(r"[+-]?[0-9]+$")


class BadSelector(ValueError):
    """The selector cannot be read; the text is the server's."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. values: sorted, none for exists and !."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether *labels* satisfy it; a missing label satisfies notin and !."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "gt" | "lt":
                return _ordered(value, self.values[0], self.operator)


@dataclass(frozen=True, slots=True)
class Labels:
    """A label selector: all requirements must hold; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        found = labels or {}
        return all(r.holds(found) for r in self.requirements)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition on one field. equal: whether the value must be equal, or must not."""

    field: str
    value: str
    equal: bool = True


def _ordered(value: str | None, bound: str, operator: str) -> bool:
    if value is None or not INTEGER.match(value):
        return False
    return int(value) > int(bound) if operator == "gt" else int(value) < int(bound)


def parse_labels(text: str) -> Labels:
    """The selector of a `labelSelector` parameter. Raises BadSelector."""
    return Labels(tuple(_Reader(text).requirements()))


def label_selector(spec: Mapping[str, Any] | None) -> Labels:
    """The selector of a LabelSelector object; one without conditions selects everything.

    Raises BadSelector for an operator that is none.
    """
    given = spec or {}
    found = [Requirement(k, "in", (v,)) for k, v in sorted((given.get("matchLabels") or {}).items())]
    for entry in given.get("matchExpressions") or ():
        operator = EXPRESSIONS.get(entry.get("operator", ""))
        if operator is None:
            raise BadSelector(f'"{entry.get("operator", "")}" is not a valid label selector operator')
        found.append(Requirement(entry.get("key", ""), operator, tuple(sorted(entry.get("values") or ()))))
    return Labels(tuple(found))


def tokens(text: str) -> Iterator[str]:
    """Symbols, words, and "" at the end. Raises BadSelector on symbols that make no operator."""
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t\r\n":
            at += 1
        elif char in SPECIAL:
            symbol = _symbol(text, at)
            yield symbol
            at += len(symbol)
        else:
            end = next((i for i in range(at, len(text)) if text[i] in SPECIAL + " \t\r\n"), len(text))
            yield text[at:end]
            at = end
    yield ""


def _symbol(text: str, at: int) -> str:
    return text[at : at + 2] if text[at : at + 2] in SYMBOLS else text[at]


class _Reader:
    """Reads requirements off the tokens, one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self.tokens = list(tokens(text))
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def requirements(self) -> Iterator[Requirement]:
        while self.peek():
            if _is_symbol(self.peek()) and self.peek() != "!":
                raise BadSelector(f"found '{self.peek()}', expected: !, identifier, or 'end of string'")
            try:
                yield self.requirement()
            except BadSelector as wrong:
                raise BadSelector(f"unable to parse requirement: {wrong}") from None
            if not (then := self.take()):
                return
            if then != ",":
                raise BadSelector(f"found '{then}', expected: ',' or 'end of string'")
            if not self.peek() or (_is_symbol(self.peek()) and self.peek() != "!"):
                raise BadSelector(f"found '{self.peek()}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        absent = self.peek() == "!"
        if absent:
            self.take()
        key = self.identifier()
        if wrong := names.qualified(key):
            raise BadSelector(f'<nil>: Invalid value: "{key}": {"; ".join(wrong)}')
        if absent or self.peek() in ("", ","):
            return Requirement(key, "!" if absent else "exists")
        found = self.take()
        operator = BINARY.get(found)
        if operator is None:
            raise BadSelector(f"found '{found}', expected: {OPERATORS}")
        values = self.values() if found in ("in", "notin") else (self.value(),)
        return _checked(key, operator, values)

    def identifier(self) -> str:
        token = self.take()
        if not token or _is_symbol(token):
            raise BadSelector(f"found '{token}', expected: identifier")
        return token

    def value(self) -> str:
        return "" if self.peek() in ("", ",") else self.identifier()

    def values(self) -> tuple[str, ...]:
        opened = self.take()
        if opened != "(":
            raise BadSelector(f"found '{opened}' expected: '('")
        if self.peek() == ")":
            self.take()
            return ("",)
        if not self.peek() or (_is_symbol(self.peek()) and self.peek() != ","):
            raise BadSelector(f"found '{self.peek()}', expected: ',', ')' or identifier")
        return tuple(sorted(self.listed()))

    def listed(self) -> set[str]:
        """The values up to the closing parenthesis; nothing between two commas is "" too."""
        found: set[str] = set()
        while True:
            part = self.take()
            if part == ",":
                found |= {""} if not found or self.peek() in (",", ")") else set()
            elif part and not _is_symbol(part):
                found.add(part)
                if self.peek() not in (",", ")"):
                    raise BadSelector(f"found '{self.peek()}', expected: ',' or ')'")
            else:
                raise BadSelector(f"found '{part}', expected: ',', or identifier")
            if self.peek() == ")":
                self.take()
                return found


def _is_symbol(token: str) -> bool:
    return token[:1] in SPECIAL and bool(token)


def _checked(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    for index, value in enumerate(values):
        if operator in ("gt", "lt") and not INTEGER.match(value):
            raise BadSelector(
                f"values[{index}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be"
                " an integer"
            )
        if wrong := names.label_value(value):
            raise BadSelector(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(wrong)}')
    return Requirement(key, operator, values)


def parse_fields(text: str) -> tuple[Term, ...]:
    """The terms of a `fieldSelector` parameter, in order. Raises BadSelector."""
    return tuple(_term(part, text) for part in _parts(text) if part)


def _parts(text: str) -> Iterator[str]:
    """*text* split at commas that no backslash escapes."""
    part, escaped = "", False
    for char in text:
        if char == "," and not escaped:
            yield part
            part = ""
            continue
        escaped = char == "\\" and not escaped
        part += char
    yield part


def _term(part: str, text: str) -> Term:
    at = next((i for i, char in enumerate(part) if char == "=" or part[i : i + 2] == "!="), -1)
    if at < 0:
        raise BadSelector(f"invalid selector: '{text}'; can't understand '{part}'")
    operator = next(o for o in ("!=", "==", "=") if part.startswith(o, at))
    return Term(part[:at], _unescaped(part[at + len(operator) :], text), operator != "!=")


def _unescaped(value: str, text: str) -> str:
    plain, escaped = "", False
    for char in value:
        if escaped and char not in "\\,=":
            raise BadSelector(f"invalid field selector: invalid escape sequence: \\{char}")
        if char in ",=" and not escaped:
            raise BadSelector(f"invalid selector: '{text}'; can't understand '{value}'")
        escaped = char == "\\" and not escaped
        plain += "" if escaped else char
    if escaped:
        raise BadSelector("invalid field selector: invalid escape sequence: \\")
    return plain


def match_fields(terms: tuple[Term, ...], value_of: Callable[[str], str]) -> bool:
    """Whether all *terms* hold; value_of gives a field's value as text, "" where it has none."""
    return all((value_of(term.field) == term.value) is term.equal for term in terms)
