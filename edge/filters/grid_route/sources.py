"""What grid_route takes from outside while it is built: the overlay's file, static candidates, secrets."""

from __future__ import annotations

from pathlib import Path

from edge.filters.grid_route.options import AffinityOptions, Options, OverlayScope
from edge.overlay import OverlayFile, admit, heard
from edge.routing.accept import Accepted
from edge.routing.affinity import Secret
from edge.routing.snapshot import Snapshot, index
from edge.setup import Setup, Unusable
from grid.contract.digest import stable_id
from grid.contract.overlay import Candidate, Format, Overlay, Scope
from grid.contract.reasons import RejectReason

_MIN_SECRET = 16  # bytes; a shorter one can be searched through


def secrets(affinity: AffinityOptions | None, setup: Setup) -> tuple[Secret, ...]:
    """The current one first. Raises Unusable."""
    if affinity is None:
        return ()
    paths = {"secret_file": affinity.secret_file, "previous_secret_file": affinity.previous_secret_file}
    found = []
    for name, path in paths.items():
        if path is not None:
            material = setup.files.read(path, "affinity", name)
            if len(material) < _MIN_SECRET:
                raise Unusable(f"{path} must hold at least {_MIN_SECRET} bytes", "affinity", name)
            found.append(Secret(material))
    return tuple(found)


def overlay_file(options: Options, setup: Setup) -> OverlayFile | None:
    """The file, looked at once; the same one over reloads while path and scope stay. Raises Unusable."""
    if options.overlay_file is None:
        return None
    own = options.expected_overlay_scope or OverlayScope()
    scope = Scope(own.network, own.gateway, own.local_site)
    place = f"overlay:{options.overlay_file}:{scope}:{own.namespace}"
    path = Path(options.overlay_file)
    file = setup.kept.keep(place, OverlayFile, lambda: OverlayFile(path, Accepted(scope, own.namespace)))
    heard(setup.metrics, file, file.look(setup.wall()))
    rejection = file.accepted.last_rejection
    if file.accepted.overlay is None and rejection is not None and not options.start_unready:
        if rejection.reason is RejectReason.MISSING_KEY:
            raise Unusable(f"{path}: no such file", "overlay_file")
        raise Unusable(f"{path} holds no overlay to start with: {rejection.reason}", "overlay_file")
    return file


def static(options: Options, setup: Setup) -> Snapshot:
    """Candidates of the configuration as a snapshot of their own. Raises Unusable."""
    for at, given in enumerate(options.candidates):
        if given.cluster not in setup.clusters:
            raise Unusable(f"no cluster {given.cluster!r}", "candidates", at, "cluster")
    found = tuple(
        Candidate(
            given.kind,
            given.name,
            given.site,
            given.cluster,
            stable_id(given.kind, given.name, given.site, given.cluster),
            rank=rank,
            fresh=given.fresh,
        )
        for rank, given in enumerate(options.candidates)
    )
    overlay = Overlay(Format.FLAT, "", "", options.local_site, "static", found)
    admit(setup.metrics, overlay)
    return index(overlay, setup.clusters, setup.wall())
