"""CoreDNS's configuration with a zone forwarded. Pure.

zone:53 {
    errors
    cache 30
    forward . 10.0.0.2 10.0.0.3:5353
}
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def forwarded(corefile: str, zone: str, upstreams: Sequence[str]) -> str:
    """The text with exactly one block for *zone*, at its end if it had none. Everything else stays as it
    is, to the byte."""
    block = f"{zone}:53 {{\n    errors\n    cache 30\n    forward . {' '.join(upstreams)}\n}}\n"
    found = _block(corefile, zone)
    if found is None:
        gap = "" if corefile.endswith("\n") or not corefile else "\n"
        return corefile + gap + block
    start, end = found
    return corefile[:start] + block + corefile[end:]


def _block(corefile: str, zone: str) -> tuple[int, int] | None:
    """Where the server block of the zone begins and ends; None where there is none."""
    depth, start = 0, -1
    for line in re.finditer(r"[^\n]*\n?", corefile):
        words = line[0].split("#")[0].split()
        if depth == 0 and words and words[-1] == "{" and words[:-1] in ([zone], [f"{zone}:53"]):
            start = line.start()
        depth += words.count("{") - words.count("}")
        if start >= 0 and depth == 0 and words:
            return start, line.end()
    return None
