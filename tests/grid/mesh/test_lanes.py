"""What a site says in a lane is what others hold, removals included; what is bad is refused and harms nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.crdt.gcounter import GCounter
from grid.crdt.snapshot import Capability, Share
from grid.mesh.lanes import (
    Heard,
    Refused,
    SiteSaid,
    read_gateway,
    read_metadata,
    read_state,
    write_metadata,
    write_state,
)
from grid.swim.messages import FactHeard, Lane
from tests.kit.certs import Authority

EMPTY: Share[bytes] = Share()
CHAT = Capability("model", "chat")


def said(lane: Lane, payload: bytes, origin: str = "east") -> FactHeard:
    return FactHeard(lane, origin, 1, payload, changed=True)


def full() -> Share[bytes]:
    share = EMPTY.put("sim-a", b"{}", 3, "east").put("sim-b", None, 5, "east")
    return Share(share.providers, share.capabilities.add(CHAT, "east"), {"tenant": GCounter({"east": 7})})


def share_of(
    writes: list[tuple[str, bytes | None, int]], added: list[str], spend: dict[str, int]
) -> Share[bytes]:
    share = EMPTY
    for name, record, revision in writes:
        share = share.put(name, record, revision, "east")
    capabilities = share.capabilities
    for name in added:
        capabilities = capabilities.add(Capability("model", name), "east")
    for name in added[::2]:
        capabilities = capabilities.remove(Capability("model", name))
    return Share(share.providers, capabilities, {t: GCounter({"east": n}) for t, n in spend.items()})


names = st.text(min_size=1, max_size=12)
shares = st.builds(
    share_of,
    st.lists(st.tuples(names, st.none() | st.binary(max_size=20), st.integers(1, 9)), max_size=6),
    st.lists(names, max_size=5),
    st.dictionaries(names, st.integers(1, 2**63 - 1), max_size=4),
)


@given(shares)
def test_state_survives_the_wire(share: Share[bytes]) -> None:
    assert read_state(write_state(share, "east"), "east") == share


@given(st.binary(max_size=300))
def test_any_bytes_are_state_metadata_and_gateway_or_refused(payload: bytes) -> None:
    assert isinstance(read_state(payload, "east"), Share | Refused)
    assert isinstance(read_metadata(payload), SiteSaid | Refused)
    assert isinstance(read_gateway(payload), str)


def test_metadata_survives_the_wire() -> None:
    edge = SiteSaid("edge", "us-east", "us-east-1a", "us", "edge.grid.internal")
    assert read_metadata(write_metadata(edge)) == edge


def test_later_fields_are_ignored_and_another_version_is_refused() -> None:
    state = msgspec.msgpack.decode(write_state(full(), "east"))
    assert read_state(msgspec.msgpack.encode([*state, "later"]), "east") == full()
    assert read_state(msgspec.msgpack.encode([2, *state[1:]]), "east") is Refused.VERSION
    assert read_metadata(msgspec.msgpack.encode([2, {}])) is Refused.VERSION


def test_spend_is_counted_for_who_says_it() -> None:
    share: Share[bytes] = Share(spend={"tenant": GCounter({"east": 7, "west": 1000})})
    assert read_state(write_state(share, "east"), "east") == Share(spend={"tenant": GCounter({"east": 7})})


def test_a_removal_propagates_and_an_older_copy_does_not_undo_it() -> None:
    heard = Heard("production")
    old = write_state(EMPTY.put("sim-b", b"old", 4, "east"), "east")
    assert heard.hear(said(Lane.STATE, old))
    assert heard.providers("east") == {"sim-b": b"old"}
    assert heard.hear(said(Lane.STATE, write_state(full(), "east")))
    assert heard.providers("east") == {"sim-a": b"{}"}
    assert not heard.hear(said(Lane.STATE, old))
    assert heard.providers("east") == {"sim-a": b"{}"}


def test_a_refresh_is_no_change(tmp_path: Path) -> None:
    heard = Heard("production")
    facts = [
        said(Lane.STATE, write_state(full(), "east")),
        said(Lane.GATEWAY, b"10.0.0.1:8443"),
        said(Lane.METADATA, write_metadata(SiteSaid("edge"))),
        said(Lane.CERT, Authority(tmp_path).leaf("east").certificate.read_bytes()),
    ]
    assert [heard.hear(fact) for fact in facts] == [True] * 4
    assert [heard.hear(fact) for fact in facts] == [False] * 4
    heard.forget("east")
    assert (heard.snapshot.shares, heard.gateways, heard.sites, heard.certs) == ({}, {}, {}, {})


def test_a_certificate_with_a_key_beside_it_is_discarded(tmp_path: Path) -> None:
    leaf = Authority(tmp_path).leaf("east")
    heard = Heard("production")
    both = leaf.certificate.read_bytes() + leaf.key.read_bytes()
    assert not heard.hear(said(Lane.CERT, both))
    assert not heard.hear(said(Lane.CERT, b"no certificate"))
    assert heard.certs == {}
    assert heard.refused == {Refused.CERTIFICATE: 2}


@pytest.mark.parametrize(
    "payload",
    [b"10.0.0.1", b"\xff", b"a:1\n", b"a" * 400 + b":1"],
    ids=["no port", "no UTF-8", "a control character", "too long"],
)
def test_a_bad_gateway_address_leaves_the_one_before(payload: bytes) -> None:
    heard = Heard("production")
    heard.hear(said(Lane.GATEWAY, b"10.0.0.1:8443"))
    assert not heard.hear(said(Lane.GATEWAY, payload))
    assert heard.gateways == {"east": "10.0.0.1:8443"}
    assert heard.refused == {Refused.MALFORMED: 1}
