"""Whatever is written in its place, the last good overlay stays in use, and the right one comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from e2e import actions, checks
from e2e.lab import CONTROL, EAST, US, Lab
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Step, eventually
from grid.contract.digest import content_digest
from grid.contract.reasons import RejectReason

RESTORED_S = 20.0
"""overlay-sync checks its own output on every event and each ten seconds."""


def _document(lab: Lab) -> dict[str, Any]:
    found = lab.kube(CONTROL).get(lab.overlay_path())
    if found is None:
        raise Broken("there is no overlay to spoil")
    document: dict[str, Any] = json.loads(found["data"]["grid-config.json"])
    return document


def _changed(lab: Lab, **fields: Any) -> str:
    """The overlay in force with other fields, and a digest that fits them: nothing else is wrong with it."""
    document = {**_document(lab), **fields}
    return json.dumps({**document, "content_digest": content_digest(document)})


SPOILED: dict[str, tuple[RejectReason, Callable[[Lab], str]]] = {
    "nothing at all": (RejectReason.EMPTY, lambda _: ""),
    "half of a document": (
        RejectReason.MALFORMED_JSON,
        lambda lab: json.dumps(_document(lab))[: len(json.dumps(_document(lab))) // 2],
    ),
    "no JSON": (RejectReason.MALFORMED_JSON, lambda _: "candidates: []"),
    "another network's": (
        RejectReason.SCOPE_MISMATCH,
        lambda lab: _changed(lab, network="somebody-elses"),
    ),
    "another gateway's": (
        RejectReason.REVISION_CONFLICT,
        lambda lab: _changed(lab, consumer={"gateway": "another", "site": f"edge-{US}"}),
    ),
    "a digest that does not fit": (RejectReason.DIGEST_MISMATCH, actions.tampered),
    "an older revision": (
        RejectReason.REVISION_ROLLBACK,
        lambda lab: _changed(lab, revision=1, generated_at="2020-01-01T00:00:00Z"),
    ),
    "a candidate twice": (
        RejectReason.DUPLICATE_CANDIDATE,
        lambda lab: _changed(lab, candidates=_document(lab)["candidates"] * 2),
    ),
    "a format nobody knows": (
        RejectReason.UNSUPPORTED_SCHEMA_VERSION,
        lambda lab: _changed(lab, api_version="grid.praxis.fast/v9"),
    ),
}
"""What is wrong -> why it must be refused, and a text that has it."""


def _spoil(what: str) -> Step:
    reason, text = SPOILED[what]

    def spoil(run: Run) -> None:
        actions.replace_overlay_file(text(run.lab))(run)

    return Step(
        f"The edge's file becomes {what}: it is refused, and the edge goes on as before.",
        act=actions.both(actions.remember_state(), spoil),
        shows=(
            eventually(checks.edge_rejected(reason=reason, again=spoil), 20),
            checks.still_serves("revision_before"),
            lambda run: (actions.ask("answer")(run), checks.answered("answer")(run))[1],
            eventually(_file_is_right, RESTORED_S),
        ),
    )


def _file_is_right(run: Run) -> Evidence:
    """overlay-sync has put back what edge-control rendered."""
    rendered = run.lab.rendered()
    text = run.lab.overlay_file().read_bytes()
    try:
        document = json.loads(text)
    except ValueError as fault:
        raise NotYet("the file is still spoiled") from fault
    if document.get("content_digest") != rendered.digest or document.get("network") != rendered.network:
        raise NotYet("the file is still another one")
    return Evidence("overlay-sync put the right overlay back", f"revision {rendered.revision}")


def _edit(run: Run) -> None:
    actions.remember_state()(run)
    actions.patch_overlay(actions.tampered(run.lab))(run)


def _restored(run: Run) -> Evidence:
    document = _document(run.lab)
    if document["content_digest"] == "sha256:" + "0" * 64:
        raise NotYet("the ConfigMap is still as the hand left it")
    return Evidence("the operator restored its ConfigMap", f"revision {document['revision']}")


SCENARIO = Scenario(
    "last_good",
    "No document, however broken, takes the last good overlay away from the edge.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        *(_spoil(what) for what in SPOILED),
        Step(
            "The overlay's ConfigMap is edited by hand: the operator restores it, the edge goes on.",
            act=_edit,
            shows=(
                eventually(_restored, RESTORED_S),
                eventually(checks.still_serves("revision_before"), 10),
                lambda run: (actions.ask("last")(run), checks.answered("last")(run))[1],
                eventually(checks.handled_by("last", EAST), 10),
            ),
        ),
        Step(
            "Nothing was restarted for any of it.",
            (checks.nothing_restarted(("grid-edge-us-east", "grid-overlay-sync-us-east")),),
        ),
    ),
)
