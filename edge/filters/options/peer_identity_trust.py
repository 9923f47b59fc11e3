"""Options of `peer_identity_trust`, as in `edge.filters.peer_identity_trust`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from edge.config.strict import Strict


class Peer(Strict):
    """cert_digest: SHA-256 of the leaf's DER. spiffe_id: its URI SAN. dns_name: one of its DNS SANs, whole.
    serial_number: decimal or hex as `0x…`. name: what log lines call it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,128}$")] | None = None
    cert_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    spiffe_id: Annotated[str, Field(pattern=r"^spiffe://[^\s]{1,2000}$")] | None = None
    dns_name: Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}$")] | None = None
    organization: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    serial_number: Annotated[str, Field(pattern=r"^(0x[0-9a-fA-F]{1,40}|[0-9]{1,49})$")] | None = None

    @model_validator(mode="after")
    def _something(self) -> Peer:
        if not self.model_fields_set - {"name"}:
            raise ValueError("needs cert_digest, spiffe_id, dns_name, organization or serial_number")
        return self


class Options(Strict):
    trusted_peers: Annotated[list[Peer], Field(min_length=1, max_length=256)]
