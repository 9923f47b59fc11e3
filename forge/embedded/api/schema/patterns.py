"""Regular expressions as the real server reads them (Go's RE2), on Python's engine.

RE2 never backtracks and knows no look-around; Python does both. So a pattern is checked for what RE2
refuses before it is compiled, and the few spellings that differ are translated.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

REFUSED: Final = re.compile(r"(?<!\\)\(\?(?:=|!|<=|<!|>)")
POSIX: Final = re.compile(r"\[:(\w+):\]")
CLASSES: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ", "digit": "0-9",
    "cntrl": "\\x00-\\x1f\\x7f", "graph": "!-~", "lower": "a-z", "print": " -~", "space": "\\t-\\r ",
    "punct": "!-/:-@\\[-`{-~", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
BACKREFERENCE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9]")


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern, to be searched; None where neither RE2 nor Python takes it."""
    try:
        return re.compile(_translated(pattern), re.ASCII)
    except (re.error, KeyError, OverflowError, RecursionError):
        return None


def complaint(pattern: str) -> str:
    """What Go says against *pattern*, or "" where it compiles."""
    if found := REFUSED.search(pattern):
        return f"error parsing regexp: invalid or unsupported Perl syntax: `{found.group()}`"
    if found := BACKREFERENCE.search(pattern):
        return f"error parsing regexp: invalid escape sequence: `{found.group()[-2:]}`"
    try:
        re.compile(_translated(pattern), re.ASCII)
    except KeyError as unknown:
        return f"error parsing regexp: invalid character class range: `[:{unknown.args[0]}:]`"
    except (OverflowError, RecursionError):
        return "error parsing regexp: expression too large"
    except re.error as error:
        return _in_go(error, pattern)
    return ""


def _translated(pattern: str) -> str:
    """*pattern* in Python's spelling. Raises re.error for what only Python would take.

    Go's \\z is Python's \\Z; Go's $ without (?m) matches at the very end only; inside brackets Go knows
    [:alpha:] and no set operations.
    """
    out: list[str] = []
    at, before, in_class = 0, "", False
    while at < len(pattern):
        piece = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if in_class and (named := POSIX.match(pattern, at)):
            piece = named.group()
            out.append(CLASSES[named[1]])
        elif in_class:
            out.append(_in_brackets(piece, before))
            in_class = piece != "]"
        else:
            if piece == "+" and before in ("*", "+", "?", "}"):
                raise re.error("multiple repeat", pattern, at)
            out.append({"\\z": "\\Z", "$": "\\Z"}.get(piece, piece))
            in_class = piece == "["
        at += len(piece)
        before = piece
    return "".join(out)


def _in_brackets(piece: str, before: str) -> str:
    """One piece of a set: what Python reserves for set operations is escaped."""
    return f"\\{piece}" if piece == "[" or (piece == before and piece in "&~|-") else piece


def _in_go(error: re.error, pattern: str) -> str:
    at = error.pos or 0
    words = {
        "unterminated character set": f"missing closing ]: `{pattern[at:]}`",
        "missing ), unterminated subpattern": f"missing closing ): `{pattern}`",
        "unbalanced parenthesis": f"unexpected ): `{pattern}`",
        "nothing to repeat": f"missing argument to repetition operator: `{pattern[at : at + 1]}`",
        "multiple repeat": f"invalid nested repetition operator: `{pattern[at - 1 : at + 1]}`",
    }
    return "error parsing regexp: " + words.get(
        error.msg, f"invalid escape sequence: `{pattern[at : at + 2]}`"
    )
