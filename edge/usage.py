"""How many tokens an answer says it took: the `usage` object at the end of an OpenAI-shaped answer.

Event streams have it in their last event but `[DONE]`, when the client asked for it; other answers usually as
their last member. Only the end of an answer is looked at, and what is not there is not guessed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_new = tuple.__new__  # half the cost of the class's own
_NAME = b'"usage"'
_IN = re.compile(rb'"prompt_tokens"\s*:\s*([0-9]{1,9})')
_USUAL = re.compile(
    rb'"usage":\s?\{\s?"prompt_tokens":\s?([0-9]{1,9}),\s?"completion_tokens":\s?([0-9]{1,9})'
)
"""As most servers write it; one look instead of two searches."""
_OUT = re.compile(rb'"completion_tokens"\s*:\s*([0-9]{1,9})')


class Tokens(NamedTuple):
    """As the answer says. completion: 0 where there is none, as for embeddings."""

    prompt: int
    completion: int


def tokens(tail: bytes) -> Tokens | None:
    """Of an answer that ends with *tail*; None when it does not say."""
    at = tail.rfind(_NAME)
    if at < 0:
        return None
    usual = _USUAL.match(tail, at)
    if usual is not None:
        return _new(Tokens, (int(usual[1]), int(usual[2])))
    found = _IN.search(tail, at)
    if found is None:
        return None
    out = _OUT.search(tail, at)
    return Tokens(int(found[1]), 0 if out is None else int(out[1]))
