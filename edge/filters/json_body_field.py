"""Finds the model in a JSON body and says it in a header, so that routing is by what the backend will read.

The danger is that two readers see two models. So a client's own header goes first; the field must be one
string of sane size; and a body in which its key stands twice, also spelled with escapes, is refused: JSON
does not say which one counts (RFC 8259, 4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from edge.chain import Exchange, Response, Traits, refuse
from edge.filters.options.json_body_field import Options
from edge.setup import Setup

_MAX_VALUE = 256  # bytes; model names are an index key and a header here
_REMEMBERED = 1024
_LARGE = 8 * 1024  # bytes; below it, looking for the key twice is the cheaper way
_HUGE = 64 * 1024  # bytes; above it, finding the ends of long strings is cheaper than parsing them
_LONG = 1024  # bytes of a string that is left out; a key, however it is escaped, is shorter
_PER_QUOTE = 4096  # bytes a quote has to stand for; with more quotes the parser is faster
_MOST_BACKSLASHES = 64  # in a row
_UNSET = msgspec.UNSET
_BACKSLASH, _QUOTE = ord("\\"), ord('"')
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_STRING = msgspec.json.Decoder(str).decode
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BODILESS = frozenset((b"GET", b"HEAD", b"DELETE", b"OPTIONS"))


class Finder:
    """Reads one field out of a body without building the rest of it."""

    def __init__(self, name: str, header: str) -> None:
        self.name, self.header = name, header.lower().encode()
        member = ("value", str | msgspec.UnsetType, msgspec.UNSET)
        self._decode: Callable[[bytes | bytearray], Any] = msgspec.json.Decoder(
            msgspec.defstruct("Body", [member], rename={"value": name}, gc=False)
        ).decode
        self.sound: dict[str, bytes] = {}
        """Values that have been checked, as a header has them; a model is asked for again and again."""
        self._plain = json.dumps(name).encode()
        # Any of these may begin an escaped letter of the name. Encoders do not escape ASCII letters: a body
        # that has one is rare, and is looked at slowly.
        escapes = {b"\\u%03x" % (ord(letter) >> 4) for letter in name}
        self._escape = re.compile(b"|".join(map(re.escape, sorted(escapes)))).search

    def find(self, body: bytes | bytearray) -> str | None:
        """The field's value, None when it is not there. Raises ValueError: what is wrong with it, or the
        JSON."""
        try:
            if len(body) > _LARGE:
                value = self._in_large(body)
            else:
                if body.count(self._plain) > 1 or _BACKSLASH in body:
                    self._refuse_repeated(body)
                found = self._decode(body).value
                value = None if found is _UNSET else found
        except msgspec.ValidationError as error:
            if str(error).endswith(f"`$.{self.name}`"):
                raise ValueError(f"'{self.name}' must be a string") from None
            raise
        if value is not None and value not in self.sound:
            self._check(value)
        return value

    def _in_small(self, body: bytes | bytearray) -> str | None:
        self._refuse_repeated(body)
        found = self._decode(body).value
        return None if found is _UNSET else found

    def _in_large(self, body: bytes | bytearray) -> str | None:
        """What makes a body large is a few long strings, which cannot be the key."""
        skeleton = without_long_strings(body) if len(body) > _HUGE else None
        if skeleton is None or len(skeleton) > _LARGE:
            return self._in_many(body if skeleton is None else skeleton)
        return self._in_small(skeleton)

    def _in_many(self, body: bytes | bytearray) -> str | None:
        """Looking for the key in all of a long text costs more than parsing it. But a second member of one
        name writes over the first, so the text is longer than the members that are left by at least
        `,"model":0`: where it is not, nothing was written over."""
        members = _MEMBERS(body)
        shortest = 1 + sum(len(key.encode()) + 4 + memoryview(raw).nbytes for key, raw in members.items())
        if len(body) - shortest >= len(self._plain) + 3:
            self._refuse_repeated(body)
        raw = members.get(self.name)
        return None if raw is None else self._string(raw)

    def _string(self, raw: msgspec.Raw) -> str:
        try:
            return _STRING(raw)
        except msgspec.ValidationError:
            raise ValueError(f"'{self.name}' must be a string") from None

    def _refuse_repeated(self, body: bytes | bytearray) -> None:
        """Raises ValueError when the key stands twice in the outermost object, however it is spelled."""
        is_suspect = body.count(self._plain) > 1 or (_BACKSLASH in body and self._escape(body) is not None)
        if is_suspect and _times(body, self.name) > 1:
            raise ValueError(f"'{self.name}' stands twice")

    def _check(self, value: str) -> None:
        """Raises ValueError, or adds it to `sound`."""
        if not value or len(value.encode()) > _MAX_VALUE:
            raise ValueError(f"'{self.name}' must be 1 to {_MAX_VALUE} bytes long")
        if _CONTROL.search(value):
            raise ValueError(f"'{self.name}' must not hold control characters")
        if len(self.sound) >= _REMEMBERED:
            self.sound.clear()
        self.sound[value] = value.encode()


class _Kind:
    """What the catalog and the order check ask."""

    __slots__ = ()

    config: ClassVar[type[Options]] = Options


@dataclass(frozen=True, slots=True)
class JsonBodyField(_Kind):
    finders: tuple[Finder, ...]
    required: bool
    max_body_bytes: int
    traits: Traits

    @classmethod
    def build(cls, options: Options, _: Setup) -> JsonBodyField:
        finders = tuple(Finder(pair.field, pair.header) for pair in options.pairs)
        writes = frozenset({"model"} if any(f.name == "model" for f in finders) else ())
        return cls(finders, options.required, options.max_body_bytes, Traits(writes=writes))

    def on_body(self, exchange: Exchange) -> Response | None:
        request = exchange.request
        for finder in self.finders:
            request.fields.pop(finder.header, None)
        body = request.body
        if not body and request.method in _BODILESS:
            return None
        if len(body) > self.max_body_bytes:
            return refuse(exchange, 413, "request_too_large")
        for finder in self.finders:
            try:
                value = finder.find(body)
            except (ValueError, RecursionError) as error:
                return _refused(exchange, finder.name, error)
            if value is not None:
                request.fields[finder.header] = finder.sound[value]
                if finder.name == "model":
                    exchange.model = value
            elif self.required:
                return refuse(
                    exchange, 400, "model_required", f"'{finder.name}' is required.", param=finder.name
                )
        return None


def _refused(exchange: Exchange, name: str, error: Exception) -> Response:
    """msgspec's own words may quote the body; ours do not."""
    if isinstance(error, msgspec.DecodeError | UnicodeError | RecursionError):
        return refuse(exchange, 400, "invalid_body", "The body is not a JSON object that can be read.")
    return refuse(exchange, 400, "invalid_body", f"{error}.", param=name)


def _times(body: bytes | bytearray, name: str) -> int:
    """How often *name* is a key of the outermost object. Raises ValueError when it is no JSON."""

    def keys(pairs: list[tuple[str, Any]]) -> list[str]:
        return [key for key, _ in pairs]

    outermost = json.loads(body, object_pairs_hook=keys)
    return outermost.count(name) if isinstance(outermost, list) else 0


def without_long_strings(body: bytes | bytearray) -> bytes | None:
    """*body* with long strings made empty; None when it holds too many quotes for that to pay.

    Only where strings begin and end is looked at: at a quote with an even number of backslashes before it.
    What is inside the long ones is for the backend to judge.
    """
    kept: list[bytes | bytearray] = []
    left = len(body) // _PER_QUOTE
    taken = at = 0
    while (opening := body.find(_QUOTE, at)) >= 0:
        at = opening + 1
        while True:
            left -= 1
            closing = body.find(_QUOTE, at)
            if closing < 0 or left < 0:
                return None
            at = closing + 1
            if body[closing - 1] != _BACKSLASH:
                break
            backslashes = _backslashes(body, closing)
            if backslashes is None:
                return None
            if backslashes % 2 == 0:
                break
        if closing - opening > _LONG:
            kept.append(body[taken : opening + 1])
            taken = closing
    kept.append(body[taken:])
    return b"".join(kept)


def _backslashes(body: bytes | bytearray, end: int) -> int | None:
    """How many stand in a row before *end*; None for more than are worth counting."""
    before = body[max(0, end - _MOST_BACKSLASHES) : end]
    count = len(before) - len(before.rstrip(b"\\"))
    return None if count == _MOST_BACKSLASHES else count
