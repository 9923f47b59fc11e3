"""What the gateway says of itself is the contract's schema, and the grid's operator reads it over TLS."""

from __future__ import annotations

import hashlib
import ssl
import time
from pathlib import Path

import httpx
import pytest

from grid.contract.reasons import RejectReason
from grid.contract.status import GatewayStatus, NotReady, read_status
from grid.crd.network import read_network
from grid.crd.site import read_site
from grid.reconcile.identity import Identity
from grid.reconcile.reach import ask, doors
from grid.reconcile.world import Trust
from tests.kit.certs import Authority, Leaf, client_context
from tests.kit.edges import Edge, edge
from tests.kit.operators import identity
from tests.kit.overlays import candidate, current, put
from tests.kit.resources import gateway, network, site

TEXT = """
admin:
  address: "127.0.0.1:0"
  {status}
listeners:
  - {{name: main, address: "127.0.0.1:0", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: grid_route
        overlay_file: grid-config.json
        start_unready: true
        expected_overlay_scope: {{network: production, gateway: edge-us-east, local_site: edge-us-east}}
        overlay_age: {{hard_expiry: reject}}
      - {{filter: load_balancer}}
clusters:
  - {{name: gateway-east, endpoints: ["127.0.0.1:9"]}}
"""
STATUS = """status:
    address: "127.0.0.1:0"
    tls:
      certificates: [{{cert_path: certs/tls.crt, key_path: certs/tls.key}}]
      client_ca: {{ca_path: certs/ca.crt}}
      client_cert_mode: require
"""
WORLD = [
    candidate("east"),
    candidate("north", rank=1),
    candidate("east", name="closed", admission_state="none"),
]
PLAIN = TEXT.format(status="")


async def told(made: Edge) -> GatewayStatus:
    async with httpx.AsyncClient(timeout=20) as client:
        reply = await client.get(f"http://127.0.0.1:{made.admin_port}/status")
    assert reply.headers["content-type"] == "application/json"
    return read_status(reply.content)


def look(made: Edge) -> None:
    """The follower's work, at a moment of the test's choosing."""
    assert made.readiness is not None
    for route in made.readiness.routes():
        assert route.file is not None
        route.file.look(time.time())


async def test_before_the_first_overlay(tmp_path: Path) -> None:
    async with edge(tmp_path, PLAIN) as made:
        found = await told(made)
    assert (found.network, found.gateway, found.site) == ("production", "edge-us-east", "edge-us-east")
    assert (found.ready, found.not_ready) == (False, (NotReady.NO_OVERLAY,))
    assert (found.accepted, found.serving, found.age_s) == (None, None, None)
    assert found.last_rejection is not None
    assert found.last_rejection.reason is RejectReason.MISSING_KEY


async def test_what_is_accepted_serves(tmp_path: Path) -> None:
    put(tmp_path / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path, PLAIN) as made:
        found = await told(made)
    assert found.ready
    assert found.accepted == found.serving
    assert found.accepted is not None
    assert (found.accepted.revision, found.accepted.label, found.accepted.candidates) == (7, "7", 3)
    assert found.age_s is not None
    assert 0 <= found.age_s < 60
    assert [(each.name, each.candidates, each.open) for each in found.covered] == [
        ("shared-model", 1, 1),
        ("closed", 1, 0),
    ]
    assert (found.coverage.routes, found.coverage.open, found.bindings) == (2, 1, 0)


async def test_a_rejection_is_told_and_what_serves_stays(tmp_path: Path) -> None:
    put(tmp_path / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path, PLAIN) as made:
        before = await told(made)
        put(tmp_path / "grid-config.json", current(WORLD[:1], 6, generated_at="2026-01-01T00:00:00Z"))
        look(made)
        found = await told(made)
    assert (found.ready, found.serving) == (True, before.serving)
    assert found.rejections == before.rejections + 1
    assert found.last_rejection is not None
    assert found.last_rejection.reason is RejectReason.REVISION_ROLLBACK


async def test_a_draining_gateway_has_accepted_and_does_not_serve(tmp_path: Path) -> None:
    put(tmp_path / "grid-config.json", current(WORLD))
    async with edge(tmp_path, PLAIN) as made:
        made.server.draining = True
        found = await told(made)
    assert (found.draining, found.not_ready) == (True, (NotReady.DRAINING,))
    assert found.accepted is not None
    assert found.serving is None


async def test_an_expired_overlay_is_accepted_and_under_a_hard_policy_not_serving(tmp_path: Path) -> None:
    put(tmp_path / "grid-config.json", current(WORLD, generated_at="2026-01-01T00:00:00Z", valid_s=-60))
    async with edge(tmp_path, PLAIN) as made:
        found = await told(made)
    assert found.not_ready == (NotReady.OVERLAY_EXPIRED,)
    assert found.accepted is not None
    assert found.serving is None


async def test_a_gateway_outside_any_grid(tmp_path: Path) -> None:
    text = """
    admin: {address: "127.0.0.1:0"}
    listeners: [{name: main, address: "127.0.0.1:0", filter_chains: [main]}]
    filter_chains: [{name: main, filters: [{filter: static_response, status: 200}]}]
    """
    async with edge(tmp_path, text) as made:
        found = await told(made)
    assert (found.ready, found.network, found.accepted, found.covered) == (True, "", None, ())


class Grid:
    """The grid's CA, the operator's identity, and the edge's certificates in a folder as Forge lays them."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder, "grid-ca")
        self.operator = Identity(
            identity(folder / "ours", self.authority, self.authority.leaf("edge-control"))
        )
        self.certs = folder / "edge" / "certs"
        self.leaf = self.made("first")
        self.show(self.leaf)

    def made(self, file: str) -> Leaf:
        """A leaf of the edge, as the lab's certificates are."""
        names, organizations = ("edge-us-east.grid.internal",), ("praxis-grid",)
        return self.authority.leaf("edge-us-east", names=names, organizations=organizations, file=file)

    def show(self, leaf: Leaf) -> None:
        self.certs.mkdir(parents=True, exist_ok=True)
        (self.certs / "tls.crt").write_bytes(leaf.certificate.read_bytes())
        (self.certs / "tls.key").write_bytes(leaf.key.read_bytes())
        (self.certs / "ca.crt").write_bytes(self.authority.path.read_bytes())

    async def asks(self, made: Edge) -> tuple[Trust, GatewayStatus | None]:
        """As an operator would that knows the edge by its GridSite's pin and its gateway's statusEndpoint."""
        pin = hashlib.sha256(self.leaf.der).hexdigest()
        known = read_site(site("edge-us-east", role="edge", trust={"canonicalFingerprints": [pin]}))
        url = f"https://127.0.0.1:{made.ports.status}/status"
        grid = read_network(network("production", gateway("edge-us-east", statusEndpoint=url)))
        (door,) = doors([known], [grid], "edge-control").values()
        return await ask(door, self.operator)


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    return Grid(tmp_path)


async def test_the_operator_pins_the_leaf_and_reads_the_status(tmp_path: Path, grid: Grid) -> None:
    put(tmp_path / "edge" / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path / "edge", TEXT.format(status=STATUS.format())) as made:
        trust, found = await grid.asks(made)
        assert trust is Trust.VERIFIED
        assert found is not None
        assert found.accepted == (await told(made)).accepted


async def test_a_renewed_leaf_is_shown_without_a_restart(tmp_path: Path, grid: Grid) -> None:
    put(tmp_path / "edge" / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path / "edge", TEXT.format(status=STATUS.format())) as made:
        grid.leaf = grid.made("renewed")
        assert (await grid.asks(made))[0] is Trust.PIN_MISMATCH
        grid.show(grid.leaf)
        assert await made.reloader.reload()
        assert (await grid.asks(made))[0] is Trust.VERIFIED


async def test_strangers_are_told_nothing_and_nothing_else_is_there(tmp_path: Path, grid: Grid) -> None:
    put(tmp_path / "edge" / "grid-config.json", current(WORLD, 7))
    async with edge(tmp_path / "edge", TEXT.format(status=STATUS.format())) as made:
        url = f"https://edge-us-east:{made.ports.status}"
        shown = client_context(grid.authority, grid.authority.leaf("edge-control"))
        shown.check_hostname = False
        unknown = client_context(grid.authority)
        unknown.check_hostname = False
        address = url.replace("edge-us-east", "127.0.0.1")
        async with httpx.AsyncClient(verify=shown, timeout=20) as client:
            answers = [
                (await client.get(f"{address}{path}")).status_code
                for path in ("/status", "/config", "/drain")
            ]
        assert answers == [200, 404, 404]
        async with httpx.AsyncClient(verify=unknown, timeout=20) as client:
            with pytest.raises((httpx.TransportError, ssl.SSLError)):
                await client.get(f"{address}/status")
