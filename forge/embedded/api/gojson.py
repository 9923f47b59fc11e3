"""What Go's JSON decoder says about a text it cannot read, for answers that quote it."""

from __future__ import annotations

import json
from typing import Any

from forge.embedded.api import depth

_AFTER = {
    "Expecting value": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
}


class Doubled(dict[str, Any]):
    """A JSON object in whose text some keys stood more than once. keys_twice: those, in order."""

    keys_twice: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = [k for k, _ in pairs if k in seen or seen.add(k)]  # type: ignore[func-returns-value]
    doubled = Doubled(found)
    doubled.keys_twice = tuple(dict.fromkeys(twice))
    return doubled


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse_constant)


def parse(text: str) -> Any:
    """The value of *text*; raises GoError in Go's words. Objects with repeated keys are Doubled."""
    try:
        value = _decoder.decode(text)
    except RecursionError:
        raise GoError(depth.SAID) from None
    except json.JSONDecodeError as error:
        raise GoError(_say(error, text)) from None
    except ValueError as error:
        raise GoError(f"invalid character {str(error)[:1]!r} looking for beginning of value") from None
    if depth.may_be_exceeded(text) and depth.is_exceeded(value):
        raise GoError(depth.SAID)
    return value


class GoError(ValueError):
    """A text that is no JSON; the message is Go's."""


def _say(error: json.JSONDecodeError, text: str) -> str:
    place = error.pos
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    if place >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    where = _AFTER.get(error.msg.removesuffix(" at"), "")
    if error.msg == "Expecting ',' delimiter":
        where = "after object key:value pair" if _in_object(text, place) else "after array element"
    elif error.msg == "Expecting value":
        place, where = _literal(text, place, where)
        if place >= len(text):
            return "unexpected end of JSON input"
    return f"invalid character {_letter(text[place])} {where}".rstrip()


def _literal(text: str, place: int, where: str) -> tuple[int, str]:
    """Go reads `nope` as a literal null that goes wrong at its second letter."""
    for word in ("null", "true", "false"):
        if text[place] == word[0]:
            for offset, letter in enumerate(word):
                if text[place + offset : place + offset + 1] != letter:
                    return place + offset, f"in literal {word} (expecting '{letter}')"
    return place, where


def _letter(letter: str) -> str:
    escaped = {"'": "'\\''", '"': "'\"'"}.get(letter)
    return escaped or "'" + json.dumps(letter, ensure_ascii=False)[1:-1] + "'"


def _in_object(text: str, end: int) -> bool:
    stack: list[str] = []
    quoted = escaped = False
    for letter in text[:end]:
        if quoted:
            quoted = escaped or letter != '"'
            escaped = not escaped and letter == "\\"
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            stack.append(letter)
        elif letter in "}]" and stack:
            stack.pop()
    return bool(stack) and stack[-1] == "{"


def doubled_paths(value: Any, path: str = "") -> list[str]:
    """Dotted paths of keys that stood twice anywhere in *value*, outermost first."""
    found: list[str] = []
    if isinstance(value, dict):
        if isinstance(value, Doubled):
            found += [f"{path}.{key}" if path else key for key in value.keys_twice]
        for key, item in value.items():
            found += doubled_paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += doubled_paths(item, f"{path}[{index}]")
    return found
