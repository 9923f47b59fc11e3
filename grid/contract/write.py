"""An Overlay to the v1alpha2 document its readers accept. Same overlay, same bytes.

Each candidate is one line, and that line without its score is the canonical text the digest is taken over. So
the two cannot disagree, and a thousand candidates are laid out once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from json.encoder import encode_basestring as quoted

from grid.contract.canonical import canonical
from grid.contract.digest import sha256
from grid.contract.instants import write_instant
from grid.contract.names import OVERLAY_V1ALPHA2
from grid.contract.overlay import Candidate, Credential, Overlay

# Four digits tell two scores apart to a person; more would only churn the document's bytes.
_SCORE_DIGITS = 4


def routed_text(candidate: Candidate) -> str:
    """RFC 8785 text of a candidate without its score; what is None is left out."""
    credential = "" if candidate.credential is None else f'"credential":{_credential(candidate.credential)},'
    tier = "" if candidate.tier is None else f'"selection_tier":"{candidate.tier}",'
    return (
        f'{{"admission_state":"{candidate.admission}","cluster":{quoted(candidate.cluster)},{credential}'
        f'"fresh":{"true" if candidate.fresh else "false"},"kind":{quoted(candidate.kind)},'
        f'"name":{quoted(candidate.name)},"rank":{candidate.rank},{tier}'
        f'"site":{quoted(candidate.site)},"stable_id":{quoted(candidate.stable_id)}}}'
    )


def digest_of(grid_id: str, network: str, gateway: str, site: str, texts: Iterable[str]) -> str:
    """The digest of a document that holds candidates of these routed texts, in this order."""
    scope = {"consumer": {"gateway": gateway, "site": site}, "grid_id": grid_id, "network": network}
    # "candidates" sorts before them all.
    return sha256(f'{{"candidates":[{",".join(texts)}],{canonical(scope).decode()[1:]}'.encode())


def write(overlay: Overlay, texts: Iterable[str] | None = None) -> bytes:
    """The v1alpha2 document, one candidate a line, so that two revisions can be told apart with `diff`.

    Needs revision and both instants. The digest is taken from the overlay: make it with `digest_of`.
    texts: the candidates' routed texts, where they have been laid out already.
    """
    if overlay.revision is None or overlay.generated_at is None or overlay.valid_until is None:
        raise ValueError("an overlay is written with its revision and both instants")
    head = {
        "api_version": OVERLAY_V1ALPHA2,
        "grid_id": overlay.grid_id,
        "network": overlay.network,
        "consumer": {"gateway": overlay.gateway, "site": overlay.site},
        "revision": overlay.revision,
        "content_digest": overlay.digest,
        "generated_at": write_instant(overlay.generated_at),
        "valid_until": write_instant(overlay.valid_until),
    }
    lines = [f"  {_json(name)}: {_json(value)},\n" for name, value in head.items()]
    texts = map(routed_text, overlay.candidates) if texts is None else texts
    scored = map(_with_score, texts, overlay.candidates)
    candidates = ",\n".join([f"    {line}" for line in scored])
    body = f"[\n{candidates}\n  ]" if candidates else "[]"
    return f'{{\n{"".join(lines)}  "candidates": {body}\n}}\n'.encode()


def _with_score(text: str, candidate: Candidate) -> str:
    return (
        text if candidate.score is None else f'{text[:-1]},"score":{round(candidate.score, _SCORE_DIGITS)}}}'
    )


def _credential(credential: Credential) -> str:
    reference = {"namespace": credential.namespace, "name": credential.name, "key": credential.key}
    return canonical({"strategy": credential.strategy, "secretRef": reference}).decode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
