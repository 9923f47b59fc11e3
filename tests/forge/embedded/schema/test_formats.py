"""Formats take what they name and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.schema.formats import FORMATS, fits

ROWS: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
    ("date", ("2024-02-29",), ("2023-02-29", "2024-1-1", "20240101", "")),
    ("date-time", ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5+02:00"), ("2024-01-01", "2024-01-01T25:00:00Z", "yesterday")),
    ("duration", ("0", "1h30m", "-5s", "1.5h", "3 days", "2w"), ("", "h", "soon", "1x")),
    ("ipv4", ("10.0.0.1",), ("300.1.1.1", "10.0.0", "::1")),
    ("ipv6", ("::1", "fe80::1"), ("10.0.0.1", "g::1")),
    ("cidr", ("10.0.0.0/8", "fe80::/10"), ("10.0.0.0", "10.0.0.0/255.0.0.0", "x/8")),
    ("mac", ("01:23:45:67:89:ab", "01-23-45-67-89-ab-cd-ef", "0123.4567.89ab"), ("01:23:45", "01:23:45:67:89:ab:cd")),
    ("uuid", ("123e4567-e89b-12d3-a456-426614174000",), ("x", "123e4567")),
    ("uuid4", ("123e4567-e89b-42d3-a456-426614174000",), ("123e4567-e89b-12d3-a456-426614174000",)),
    ("email", ("a@b.io", "a.b+c@d-e.org"), ("nobody", "a@", "@b")),
    ("uri", ("https://x.io/y?z", "/path", "urn:x"), ("not a uri", "x", "")),
    ("hostname", ("a.b-c.d", "localhost"), ("-a", "a..b", "")),
    ("byte", ("aGk=", ""), ("***", "a")),
    ("isbn10", ("0-306-40615-2",), ("0-306-40615-3", "x")),
    ("isbn13", ("978-0-306-40615-7",), ("978-0-306-40615-8", "1")),
    ("isbn", ("0306406152", "9780306406157"), ("12",)),
    ("creditcard", ("4111 1111 1111 1111",), ("4111 1111 1111 1112", "42")),
    ("ssn", ("123-45-6789",), ("123",)),
    ("hexcolor", ("#ff00aa", "fff"), ("#ff", "red")),
    ("rgbcolor", ("rgb(1, 2,3)",), ("rgb(1,2)",)),
    ("bsonobjectid", ("507f1f77bcf86cd799439011",), ("507f",)),
    ("anything else", ("x", ""), ()),
]  # fmt: skip
TAKEN = [
    pytest.param(name, text, True, id=f"{name} takes {text!r}") for name, good, _ in ROWS for text in good
]
REFUSED = [
    pytest.param(name, text, False, id=f"{name} refuses {text!r}") for name, _, bad in ROWS for text in bad
]


@pytest.mark.parametrize(("name", "text", "expected"), TAKEN + REFUSED)
def test_what_a_format_takes(name: str, text: str, expected: bool) -> None:
    assert fits(text, name) is expected


@given(st.text(max_size=20), st.sampled_from(sorted(FORMATS)))
def test_any_text_fits_or_does_not(text: str, name: str) -> None:
    assert fits(text, name) in (True, False)
