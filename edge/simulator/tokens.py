"""Text to tokens and back, and answers that depend on the seed and the question alone.

A token is a word with the space after it, or 4 characters of a longer run: close enough to count by, and
joining the tokens of a text gives the text back, byte for byte.
"""

from __future__ import annotations

import hashlib
import random
import re
from itertools import pairwise

_TOKEN = re.compile(r"\s+|[^\s]{1,4}\s?")
_SENTENCE = (
    "the grid answers from a near site while far ones rest ; a stream moves on token by token , "
    "and no request is sent twice . capacity comes and goes , order stays"
)
_WORDS = _SENTENCE.split()


def split(text: str) -> list[str]:
    """Tokens of *text*, in order; `"".join` of them is *text*."""
    return _TOKEN.findall(text)


def rng(seed: int, *parts: str) -> random.Random:
    """A source of numbers fixed by the seed and *parts*: what else is in flight does not move it."""
    digest = hashlib.sha256("\x1f".join((str(seed), *parts)).encode(errors="surrogatepass")).digest()
    return random.Random(digest)  # noqa: S311  # a repeatable simulation, not a secret


def invent(seed: int, model: str, prompt: str, count: int) -> list[str]:
    """*count* tokens of an answer nobody asked for."""
    source = rng(seed, "text", model, prompt)
    return [f"{source.choice(_WORDS)} " for _ in range(count)]


def embed(seed: int, model: str, text: str, dimensions: int) -> list[float]:
    """A unit vector for *text*: the same text is at the same place, another one elsewhere."""
    source = rng(seed, "vector", model, text)
    raw = [source.gauss(0, 1) for _ in range(dimensions)]
    length = sum(x * x for x in raw) ** 0.5 or 1.0
    return [x / length for x in raw]


def blocks(tokens: list[str], size: int) -> list[int]:
    """Hash of each full block of *size* tokens together with all before it: equal prefixes, equal hashes."""
    edges = range(0, len(tokens) + 1, size)
    found, chain = [], 0
    for start, end in pairwise(edges):
        text = f"{chain}\x1f" + "".join(tokens[start:end])
        chain = int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:8])
        found.append(chain)
    return found
