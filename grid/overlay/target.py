"""For whom an overlay is rendered, and what a rendering leaves to say beside the document."""

from __future__ import annotations

from dataclasses import dataclass

from grid.contract.overlay import Overlay
from grid.scoring.offer import View

# How long a document stands without its writer; readers take it from the document.
DEFAULT_MAX_AGE_S = 300.0


@dataclass(frozen=True, slots=True)
class Target:
    """One gateway of one network.

    site: whose overlay it is called, also where no such site is known; then the view is from nowhere.
    max_age_s: valid_until - generated_at.
    """

    grid_id: str
    network: str
    gateway: str
    site: str
    view: View
    max_age_s: float = DEFAULT_MAX_AGE_S


@dataclass(frozen=True, slots=True)
class Rendered:
    """overlay: what the gateway should have. due: it is another than *previous*, or stamped anew.

    dropped: how many candidates are beyond the bounds.
    duplicates: names of providers left out because another is the same candidate.
    texts: the routed texts of its candidates; None if the overlay is *previous*, which has been written.
    """

    overlay: Overlay
    due: bool
    dropped: int = 0
    duplicates: tuple[str, ...] = ()
    texts: tuple[str, ...] | None = None
