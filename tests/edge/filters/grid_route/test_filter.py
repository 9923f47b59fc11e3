"""Requests go where the overlay says, sessions stick, claims of clients change nothing, and failures go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from edge.chain import Exchange, Response
from edge.filters.grid_route.filter import GridRoute
from edge.setup import Unusable
from edge.wire.faults import Cause, RemoteFault
from edge.wire.ports import Peer
from grid.contract.digest import stable_id
from tests.kit.filter_bench import Bench, field_of, status_of
from tests.kit.overlays import GENERATED_AT_S, candidate, document, encoded

REFUSED = RemoteFault(Cause.REFUSED, unsent=True)
CLUSTERS = ("gateway-near-a", "gateway-near-b", "gateway-far")
WORLD = [
    candidate("near-a", rank=0),
    candidate("near-b", rank=1),
    candidate("far", rank=2, selection_tier="cross_region"),
    candidate("near-a", name="closed", admission_state="none"),
]


class Lab:
    """An edge with an overlay file, over reloads of both."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench()
        self.bench.clock.at = GENERATED_AT_S - 1_000_000
        self.overlay, self.secret = folder / "grid-config.json", folder / "key"
        self.secret.write_bytes(bytes(range(32)))
        self.write()

    def write(self, candidates: list[Any] | None = None, **changes: object) -> None:
        self.overlay.write_bytes(encoded(document(WORLD if candidates is None else candidates, **changes)))

    def filter(self, **options: object) -> GridRoute:
        given = {
            "overlay_file": str(self.overlay),
            "provider_hop_clusters": ["gateway-near-a", "gateway-near-b"],
            "affinity": {"secret_file": str(self.secret)},
            **options,
        }
        setup = self.bench.setup("main/grid_route#1", CLUSTERS)
        return GridRoute.build(GridRoute.config.model_validate(given), setup)

    def ask(
        self, route: GridRoute, session: str | None = None, model: str | None = "shared-model", **more: Any
    ) -> tuple[Exchange, Response | None]:
        fields = {} if session is None else {"X-Praxis-Session-ID": session}
        exchange = self.bench.exchange(route, fields=fields | more.pop("fields", {}), **more)
        exchange.model, exchange.tenant, exchange.request_id = model, "tenant-42", "r-1"
        return exchange, route.on_body(exchange)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def code(response: Response | None) -> object:
    return None if response is None else json.loads(response.body)["error"]["code"]


def test_a_request_goes_to_grid_s_first_and_says_so_to_the_hop(lab: Lab) -> None:
    exchange, refusal = lab.ask(lab.filter())
    near_a = stable_id("inference_model", "shared-model", "near-a", "gateway-near-a")
    assert refusal is None
    assert (exchange.cluster, exchange.candidate, exchange.decision) == ("gateway-near-a", near_a, "rank")
    assert field_of(exchange, "x-ai-routing-candidate") == near_a
    assert field_of(exchange, "x-ai-routing-request-id") == "id-1"
    assert field_of(exchange, "x-ai-routing-revision") == "42"


def test_what_a_client_claims_changes_nothing_and_goes_no_further(lab: Lab) -> None:
    claims = {
        "x-ai-routing-candidate": "sha256:mine",
        "x-ai-routing-extra": "1",
        "x-grid-peer-selected-candidate": "mine",
        "authorization": "Bearer customer",
        "x-tenant-id": "other",
        "x-region": "eu-west",
    }
    route = lab.filter()
    plain, _ = lab.ask(route, "conversation-7")
    forged, _ = lab.ask(route, "conversation-7", fields=claims)
    assert (forged.candidate, forged.session) == (plain.candidate, plain.session)
    for name in ("x-ai-routing-extra", "x-grid-peer-selected-candidate", "authorization"):
        assert field_of(forged, name) is None
    assert field_of(forged, "x-ai-routing-candidate") == plain.candidate


def test_a_cluster_that_is_no_hop_is_told_nothing(lab: Lab) -> None:
    lab.write([candidate("far")])
    exchange, _ = lab.ask(lab.filter(), fields={"x-ai-routing-candidate": "mine"})
    assert exchange.cluster == "gateway-far"
    assert not [name for name in exchange.request.fields if name.startswith(b"x-ai-routing")]
    assert not exchange.trusts_unsent


def test_a_session_sticks_and_its_id_goes_no_further(lab: Lab) -> None:
    route = lab.filter()
    first, _ = lab.ask(route, "conversation-7")
    again, _ = lab.ask(route, "conversation-7")
    assert (first.decision, again.decision) == ("affinity", "bound")
    assert first.cluster == again.cluster
    assert field_of(first, "x-praxis-session-id") is None
    assert first.session is not None
    assert b"conversation" not in first.session
    clusters = {lab.ask(route, f"conversation-{n}")[0].cluster for n in range(40)}
    assert clusters == {"gateway-near-a", "gateway-near-b"}


@pytest.mark.parametrize("header", ["X-Tenant-ID", "X-Tenant", "X-Praxis-Tenant", "X-Forwarded-User"])
def test_a_client_supplied_tenant_header_cannot_alter_the_affinity_key(lab: Lab, header: str) -> None:
    route = lab.filter()
    plain, _ = lab.ask(route, "conversation-7")
    forged, _ = lab.ask(route, "conversation-7", fields={header: "tenant-1"})
    assert forged.session == plain.session is not None


def test_source_ip_is_not_part_of_the_affinity_key(lab: Lab) -> None:
    keys = set()
    for address in ("192.0.2.1", "198.51.100.7", "2001:db8::1"):
        exchange, _ = lab.ask(lab.filter(), "conversation-7", peer=Peer(address))
        keys.add((exchange.session, exchange.candidate))
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("session", "repeated"),
    [
        pytest.param("", False, id="empty"),
        pytest.param("s" * 129, False, id="oversized"),
        pytest.param("a, b", True, id="repeated"),
        pytest.param("a\tb", False, id="malformed"),
    ],
)
def test_malformed_oversized_or_repeated_session_header_returns_400(
    lab: Lab, session: str, repeated: bool
) -> None:
    route = lab.filter()
    exchange = lab.bench.exchange(route, fields={"X-Praxis-Session-ID": session})
    exchange.model = "shared-model"  # and no tenant: an invalid header is refused all the same
    if repeated:
        exchange.request.repeated = frozenset({b"x-praxis-session-id"})
    refusal = route.on_body(exchange)
    assert (status_of(refusal), code(refusal)) == (400, "invalid_session")


@pytest.mark.parametrize(
    ("model", "status", "expected"),
    [
        pytest.param("absent", 404, "model_not_found", id="Unknown model: bounded 404"),
        pytest.param("closed", 503, "no_eligible_provider", id="No eligible provider: 503, not random fallback"),
        pytest.param(None, 400, "model_required", id="missing model"),
    ],
)  # fmt: skip
def test_refusals(lab: Lab, model: str | None, status: int, expected: str) -> None:
    exchange, refusal = lab.ask(lab.filter(), model=model)
    assert (status_of(refusal), code(refusal), exchange.cluster) == (status, expected, None)
    assert refusal is not None
    assert (b"retry-after" in dict(refusal.fields)) == (status == 503)


def test_an_update_from_a_to_b_moves_new_requests_and_a_bad_one_moves_none(lab: Lab) -> None:
    lab.write([candidate("near-a")])
    route = lab.filter()
    assert lab.ask(route)[0].cluster == "gateway-near-a"
    lab.write([candidate("near-b")], revision=43)
    assert route.file is not None
    route.file.look(lab.bench.clock.wall())
    assert lab.ask(route)[0].cluster == "gateway-near-b"
    for bad in (b"", b"{", b'{"version":"invalid","load_balancer":null}'):
        lab.overlay.write_bytes(bad)
        route.file.look(lab.bench.clock.wall())
    lab.overlay.unlink()
    route.file.look(lab.bench.clock.wall())
    assert lab.ask(route)[0].cluster == "gateway-near-b"
    assert route.file.accepted.rejections.total() == 4


def test_each_model_takes_its_own_turns(lab: Lab) -> None:
    sites = ("near-a", "near-b")
    both = [candidate(site, name=name, rank=rank) for name in ("m", "n") for rank, site in enumerate(sites)]
    lab.write(both)
    route = lab.filter(spread="round_robin")
    taken = [(model, lab.ask(route, model=model)[0].cluster) for model in ("m", "n") * 2]
    assert taken == [(model, f"gateway-{site}") for site in sites for model in ("m", "n")]
    lab.ask(route, model="unknown")
    assert set(route.routing.turns) == {"m", "n"}


def test_a_file_is_followed_unless_that_is_switched_off(lab: Lab) -> None:
    route = lab.filter()
    assert route.followed is route.file is not None
    assert lab.filter(reload={"enabled": False}).followed is None


def test_bindings_and_the_last_good_overlay_outlive_a_config_reload(lab: Lab) -> None:
    before = lab.filter()
    placed = {n: lab.ask(before, f"c-{n}")[0].cluster for n in range(20)}
    lab.overlay.write_bytes(b"{")
    after = lab.filter(spread="round_robin")
    assert {n: lab.ask(after, f"c-{n}")[0].decision for n in placed} == dict.fromkeys(placed, "bound")
    assert {n: lab.ask(after, f"c-{n}")[0].cluster for n in placed} == placed


def test_rotation_keeps_the_sessions_of_the_previous_secret(lab: Lab, tmp_path: Path) -> None:
    placed = {n: lab.ask(lab.filter(), f"c-{n}")[0].cluster for n in range(20)}
    new = tmp_path / "new"
    new.write_bytes(b"n" * 32)
    rotated = lab.filter(affinity={"secret_file": str(new), "previous_secret_file": str(lab.secret)})
    assert {n: lab.ask(rotated, f"c-{n}")[0].cluster for n in placed} == placed


@pytest.mark.parametrize(
    ("policy", "status"),
    [pytest.param("serve", None, id="served"), pytest.param("reject", 503, id="refused")],
)
def test_an_expired_overlay_by_policy(lab: Lab, policy: str, status: int | None) -> None:
    route = lab.filter(overlay_age={"hard_expiry": policy})
    lab.bench.clock.at += 301
    assert status_of(lab.ask(route)[1]) == status
    listed = lab.ask(route, model=None, method="GET", target="/v1/models")[1]
    assert status_of(listed) == (status or 200)


@pytest.mark.parametrize(
    ("allowed", "names"),
    [
        pytest.param(None, ["other", "shared-model"], id="whatever is routable now"),
        pytest.param(frozenset({"shared-*", "closed"}), ["shared-model"], id="by the tenant's patterns"),
        pytest.param(frozenset[str](), [], id="a tenant without any"),
    ],
)
def test_models_are_listed_from_the_snapshot(
    lab: Lab, allowed: frozenset[str] | None, names: list[str]
) -> None:
    lab.write([*WORLD, candidate("far", name="other")])
    route = lab.filter()
    exchange = lab.bench.exchange(route, method="GET", target="/v1/models?limit=5")
    exchange.allowed_models = allowed
    answer = route.on_body(exchange)
    assert answer is not None
    assert [model["id"] for model in json.loads(answer.body)["data"]] == names


def test_without_a_valid_overlay_it_refuses_to_start_or_starts_unready(lab: Lab) -> None:
    lab.overlay.write_bytes(b"{")
    with pytest.raises(Unusable, match="malformed_json"):
        lab.filter()
    with pytest.raises(Unusable, match="malformed_json"):
        lab.filter()
    route = lab.filter(start_unready=True)
    assert code(lab.ask(route)[1]) == "no_overlay"
    lab.write()
    assert route.file is not None
    route.file.look(lab.bench.clock.wall())
    assert lab.ask(route)[1] is None


def test_a_short_secret_and_a_hop_nobody_defined_are_refused(lab: Lab) -> None:
    lab.secret.write_bytes(b"short")
    with pytest.raises(Unusable, match="16 bytes"):
        lab.filter()
    with pytest.raises(Unusable, match="no cluster 'x'"):
        lab.filter(affinity=None, provider_hop_clusters=["x"])


STATIC = {"name": "m", "site": "s", "cluster": "east"}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="no source"),
        pytest.param({"candidates": [STATIC], "local_site": "s", "overlay_file": "/o"}, id="static and overlay modes mutually exclusive"),
        pytest.param({"candidates": [STATIC]}, id="static without a site"),
        pytest.param({"candidates": [STATIC], "local_site": "s", "affinity": {"secret_file": "/k"}}, id="affinity outside overlay mode"),
        pytest.param({"overlay_file": "/o", "affinity": {}}, id="affinity without a secret"),
        pytest.param({"overlay_file": "/o", "affinity": {"secret_file": "/k", "algorithm": "ring"}}, id="an unsupported algorithm"),
        pytest.param({"candidates": [STATIC], "local_site": "s", "reload": {}}, id="reload of static candidates"),
        pytest.param({"overlay_file": "/o", "reload": {"keep_last_good": False}}, id="not keeping the last good one"),
    ],
)  # fmt: skip
def test_configuration_that_cannot_be_right(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GridRoute.config.model_validate(options)


def test_static_candidates_are_tried_in_the_order_they_are_written() -> None:
    bench = Bench()
    given = [STATIC, STATIC | {"site": "t", "cluster": "west"}]
    route = bench.build(GridRoute, candidates=given, local_site="s")
    assert isinstance(route, GridRoute)
    exchange = bench.exchange(route)
    exchange.model = "m"
    assert route.on_body(exchange) is None
    assert exchange.cluster == "east"
    assert exchange.next_upstream is not None
    second = exchange.next_upstream(REFUSED)
    assert second is not None
    assert second.name == "west"
