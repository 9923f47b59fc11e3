"""Quantities such as `500m`, `1Gi`, `1e3`: read, and written in the server's canonical form.

Canonical: no fraction, the largest suffix that loses nothing, in the family (binary, decimal,
exponent) that was given. Finer than a billionth is rounded up.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from typing import Final

FORM: Final = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$")
NUMBER: Final = re.compile(r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$")
EXPONENT: Final = re.compile(r"^[eE]([-+]?[0-9]+)$")
DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
BAD_FORM: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
FINEST: Final = -9
LARGEST_EXPONENT: Final = 400  # beyond it nothing is a quantity, and powers get costly


class BadQuantity(ValueError):
    """The text is no quantity; the message is the server's."""


def parse(text: str) -> Fraction:
    """The exact value, finer than a billionth rounded up. Raises BadQuantity."""
    return _split(text)[0]


def canonical(text: str) -> str:
    """The form in which the server stores *text*. Raises BadQuantity."""
    value, family = _split(text)
    if value == 0:
        return "0"
    if family == "binary":
        if value.denominator == 1 and abs(value) >= 1024:
            return _binary(value)
        family = "decimal"
    return _decimal(value, exponent=family == "exponent")


def _split(text: str) -> tuple[Fraction, str]:
    if not text:
        raise BadQuantity(BAD_FORM)
    found = FORM.match(text)
    if not found:
        raise BadQuantity(BAD_FORM)
    number, suffix = found.groups()
    if not NUMBER.match(number):
        raise BadQuantity("unable to parse numeric part of quantity")
    factor, family = _factor(suffix)
    return _rounded(Fraction(number) * factor), family


def _factor(suffix: str) -> tuple[Fraction, str]:
    if suffix in BINARY:
        return Fraction(2 ** BINARY[suffix]), "binary"
    if suffix in DECIMAL:
        return _power(DECIMAL[suffix]), "decimal"
    if (found := EXPONENT.match(suffix)) and abs(int(found[1])) <= LARGEST_EXPONENT:
        return _power(int(found[1])), "exponent"
    raise BadQuantity("unable to parse quantity's suffix")


def _power(exponent: int) -> Fraction:
    return Fraction(10) ** exponent


def _rounded(value: Fraction) -> Fraction:
    """Up to the next billionth, away from zero."""
    scaled = abs(value) * 10**-FINEST
    up = Fraction(ceil(scaled), 10**-FINEST)
    return up if value >= 0 else -up


def _binary(value: Fraction) -> str:
    whole = int(value)
    fits = [s for s, power in BINARY.items() if whole % (1 << power) == 0]
    return f"{whole >> BINARY[fits[-1]]}{fits[-1]}" if fits else str(whole)


def _decimal(value: Fraction, *, exponent: bool) -> str:
    for suffix, power in reversed(DECIMAL.items()):
        scaled = value / _power(power)
        if scaled.denominator == 1:
            return f"{scaled.numerator}" + (f"e{power}" if exponent and power else "" if exponent else suffix)
    return str(value)
