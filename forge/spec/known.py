"""What could stand at a place of the file, as the models have it, and which known word was meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from typing import Any

from forge.spec.model import Environment
from forge.spec.nodes import Path


def nearest(word: str, options: Collection[str]) -> str:
    """The option that was probably meant; empty where none is near."""
    folded = {option.lower().replace("-", "").replace("_", ""): option for option in options}
    plain_word = word.lower().replace("-", "").replace("_", "")
    found = get_close_matches(plain_word, folded, 1, 0.6)
    found = found or [key for key in folded if len(key) > 2 and plain_word.startswith(key)]
    return folded[found[0]] if found else ""


def did_you_mean(word: str, options: Collection[str]) -> str:
    """The help line for a word that is none of *options*; it lists them while they are few."""
    near = nearest(word, options)
    if near:
        return f'did you mean "{near}"?'
    return f"known here: {', '.join(sorted(options))}" if 0 < len(options) <= 25 else ""


@cache
def _schema() -> dict[str, Any]:
    return Environment.model_json_schema()


def keys_at(path: Path, type_: str = "") -> list[str]:
    """The keys known in the mapping at *path*; type_ chooses among the types of a step."""
    known = [schema.get("properties", {}) for schema in _schemas(path)]
    of_type = [p for p in known if type_ and p.get("type", {}).get("const") == type_]
    return sorted({key for properties in of_type or known for key in properties})


def step_types() -> list[str]:
    """The types a step may have."""
    steps = _schemas(("spec", "stacks", "any", "steps", 0))
    return [schema["properties"]["type"]["const"] for schema in steps]


def description_at(path: Path) -> str:
    """What the key at *path* is for; empty where it is not known."""
    for schema in _schemas(path[:-1]):
        if path[-1] in schema.get("properties", {}):
            return str(schema["properties"][path[-1]].get("description", ""))
    return ""


def _schemas(path: Path) -> list[dict[str, Any]]:
    """The schemas a value at *path* may have."""
    at_hand = _alternatives(_schema())
    for step in path:
        inner: list[dict[str, Any]] = []
        for schema in at_hand:
            if isinstance(step, int):
                below = schema.get("items")
            else:
                below = schema.get("properties", {}).get(step) or _of_any_key(schema)
            if isinstance(below, dict):
                inner += _alternatives(below)
        at_hand = inner
    return at_hand


def _of_any_key(schema: dict[str, Any]) -> Any:
    return next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))


def _alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in schema:
        return _alternatives(_schema()["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    below = schema.get("anyOf") or schema.get("oneOf")
    return [found for part in below for found in _alternatives(part)] if below else [schema]
