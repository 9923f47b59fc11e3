"""Patterns mean what RE2 means by them, and what RE2 refuses is refused in its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.embedded.api.schema.patterns import compiled, complaint

FOUND = [
    ("^a$", "a", True),
    ("^a$", "a\n", False),
    (r"a\z", "ba", True),
    ("[$]", "$", True),
    (r"\$", "$", True),
    (r"^\d+$", "\u0661", False),
    ("b", "abc", True),
    (r"^[a-z\]]$", "]", True),
    ("^[[:alpha:]_]+$", "aZ_", True),
    ("^[[:digit:]]$", "x", False),
    ("^[[a]$", "[", True),
    ("^[a&&b]+$", "a&b", True),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), FOUND)
def test_what_is_found(pattern: str, text: str, expected: bool) -> None:
    regex = compiled(pattern)
    assert regex is not None
    assert bool(regex.search(text)) is expected


WRONG = [
    ("([", "error parsing regexp: missing closing ]: `[`"),
    ("(a", "error parsing regexp: missing closing ): `(a`"),
    ("a)", "error parsing regexp: unexpected ): `a)`"),
    ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
    ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
    ("a++", "error parsing regexp: invalid nested repetition operator: `++`"),
    ("[[:nope:]]", "error parsing regexp: invalid character class range: `[:nope:]`"),
    ("a(?!b)", "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
    (r"(a)\1", r"error parsing regexp: invalid escape sequence: `\1`"),
    ("a\\", "error parsing regexp: invalid escape sequence: `\\`"),
]


@pytest.mark.parametrize(("pattern", "told"), WRONG)
def test_what_is_refused(pattern: str, told: str) -> None:
    assert complaint(pattern) == told


@given(st.text(alphabet="ab[](){}*+?|^$.\\1dzQ-,", max_size=12))
def test_a_pattern_without_a_complaint_compiles(pattern: str) -> None:
    assert (compiled(pattern) is None) <= bool(complaint(pattern))
