"""Time to parse a valid document of 1,024 candidates, as overlay-sync and the gateway do. Goal: 50 ms.

The document is made as the operator makes it; its score digits, credentials and long names make it a large one.
"""

from __future__ import annotations

import statistics
import time

from grid.contract.digest import stable_id
from grid.contract.overlay import MAX_CANDIDATES, Candidate, Credential, Format, Overlay, Tier
from grid.contract.parse import parse
from grid.contract.write import digest_of, routed_text, write

CREDENTIAL = Credential("bearer_token", "grid-system", "provider-credential", "token")


def full() -> bytes:
    """1,024 candidates of a hundred models, each with a credential: about 450 KiB."""
    candidates = tuple(_candidate(number) for number in range(MAX_CANDIDATES))
    texts = [routed_text(candidate) for candidate in candidates]
    overlay = Overlay(
        format=Format.V1ALPHA2,
        grid_id="grid-1",
        network="production",
        gateway="public-edge",
        site="edge-us-east",
        digest=digest_of("grid-1", "production", "public-edge", "edge-us-east", texts),
        candidates=candidates,
        revision=1,
        generated_at=1e9,
        valid_until=1e9 + 300,
    )
    return write(overlay, texts)


def _candidate(number: int) -> Candidate:
    identity = (
        "inference_model",
        f"organisation/model-{number % 100}",
        f"provider-{number}",
        f"gateway-{number}",
    )
    return Candidate(
        *identity,
        stable_id=stable_id(*identity),
        tier=Tier.SAME_REGION,
        rank=number,
        score=9.1234 + number / 7,
        credential=CREDENTIAL,
    )


def main() -> None:
    """Prints the median and the worst of 21 rounds: of CPU, and by the wall, which a busy machine stretches."""
    document, found, cpu = full(), [], []
    for _ in range(21):
        began, spent = time.perf_counter(), time.process_time()
        parse(document, now=1e9)
        cpu.append((time.process_time() - spent) * 1000)
        found.append((time.perf_counter() - began) * 1000)
    print(
        f"parse {len(document) / 1024:.0f} KiB, {MAX_CANDIDATES} candidates: "
        f"CPU median {statistics.median(cpu):.1f} ms, worst {max(cpu):.1f} ms; "
        f"wall median {statistics.median(found):.1f} ms (goal 50 ms)"
    )


if __name__ == "__main__":
    main()
