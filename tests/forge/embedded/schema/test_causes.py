"""Messages print values the way Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from forge.embedded.api.schema.causes import in_go, in_go_plain, shown

PRINTED: list[tuple[Any, str, str, str]] = [
    ('a"b', '"a\\"b"', '"a\\"b"', 'a"b'),
    (3, "3", "3", "3"),
    (1.5, "1.5", "1.5", "1.5"),
    (2.0, "2", "2", "2"),
    (True, "true", "true", "true"),
    (False, "false", "false", "false"),
    (None, '"null"', "interface {}(nil)", "<nil>"),
    (["a", 1], '[]interface {}{"a", 1}', '[]interface {}{"a", 1}', "[a 1]"),
    (
        {"b": 1, "a": "x"},
        'map[string]interface {}{"a":"x", "b":1}',
        'map[string]interface {}{"a":"x", "b":1}',
        "map[a:x b:1]",
    ),
    (1e300, "1e+300", "1e+300", "1e+300"),
]


@pytest.mark.parametrize(("value", "told", "go", "plain"), PRINTED)
def test_how_a_value_is_printed(value: Any, told: str, go: str, plain: str) -> None:
    assert (shown(value), in_go(value), in_go_plain(value)) == (told, go, plain)
