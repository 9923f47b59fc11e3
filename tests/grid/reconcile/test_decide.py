"""From one World to the next: what is decided, carried out and decided again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grid.contract.names import label_value
from grid.contract.overlay import Overlay, Scope
from grid.contract.parse import parse
from grid.crd.network import read_network
from grid.crd.site import read_site
from grid.reconcile.actions import Action, Emit, RemoveOverlay, WriteOverlay, WriteStatus
from grid.reconcile.decide import Decision, decide
from grid.reconcile.network import Memory
from grid.reconcile.world import Capacity, Drain, Member, Membership, Reach, Stored, Trust, World
from grid.scoring.health import Health, Phase
from grid.scoring.signals import Signals
from tests.kit.resources import gateway, network, provider, site
from tests.kit.worlds import IDLE, NOW, VERIFIED, capacity, carried_out, lab, settle, with_provider

EAST, WEST = "provider-east", "provider-west"
BUSY = Signals(queue=0.95, kv_cache=0.2)
GRACE: dict[str, Any] = {"settled": False, "started_at": NOW + 100}
UNREACHED = Reach(Trust.CONNECTION_FAILED, Health(Phase.UNAVAILABLE, NOW, failures=3))


def overlay(world: World, name: str = "edge-us-east") -> Overlay:
    """What is stored for a gateway, read as the gateway reads it."""
    (stored,) = [each for each in world.stored if each.gateway == name]
    assert stored.text is not None
    return parse(stored.text.encode(), expected=Scope("production", name, name))


def told(world: World, name: str = "edge-us-east") -> list[str]:
    """Each candidate as `site`, with `=` in front where only existing sessions may go."""
    return [
        ("=" if candidate.admission == "existing_only" else "") + candidate.site
        for candidate in overlay(world, name).candidates
    ]


def later(world: World, memory: Memory, now: float) -> tuple[World, Memory, list[Action]]:
    after, decision = settle(world, memory, now)
    return after, decision.memory, list(decision.actions)


def quiet(world: World) -> tuple[World, Decision]:
    """The World when there is nothing left to do about it, and the last decision that did something."""
    world, first = settle(world)
    return settle(world, first.memory)


def test_two_gateways_get_two_views_of_one_grid() -> None:
    world, _ = settle(lab())
    assert told(world, "edge-us-east") == [EAST, WEST]
    assert told(world, "edge-eu-west") == [WEST, EAST]


def test_decided_again_it_decides_nothing() -> None:
    """First the overlays, then the statuses that say they are there, then nothing."""
    world, first = settle(lab())
    world, second = settle(world, first.memory, NOW + 1)
    assert [(type(action), action.kind) for action in second.actions if isinstance(action, WriteStatus)] == [
        (WriteStatus, "GridNetwork")
    ]
    assert len(second.actions) == 1
    assert decide(world, second.memory, NOW + 2).actions == ()
    assert decide(world, second.memory, NOW + 29).actions == ()


def test_a_quiet_minute_writes_nothing_but_the_refresh_of_validity() -> None:
    """Fresh state comes in all the time; only past half its life is an overlay stamped anew, and nothing else."""
    world, memory, written = lab(spec={"gatewayRefs": [gateway("edge-us-east", maxAge="30s")]}), Memory(), []
    world, memory, _ = later(world, memory, NOW - 1)
    world, memory, _ = later(world, memory, NOW)
    for second in range(1, 61):
        fresh = tuple(
            dataclasses.replace(each, reading=second + 1, at=NOW + second) for each in world.capacities
        )
        world, memory, actions = later(dataclasses.replace(world, capacities=fresh), memory, NOW + second)
        written += [(second, action) for action in actions]
    assert [(second, type(action)) for second, action in written] == [
        (second, WriteOverlay) for second in (14, 29, 44, 59)
    ]
    assert overlay(world).revision == 1


def test_an_operator_that_restarts_rewrites_nothing() -> None:
    world, _ = quiet(lab())
    again = decide(world, Memory(), NOW + 5)
    assert again.actions == ()
    assert again.outcomes["production"][0].rendered.overlay.revision == 1


def test_a_revision_goes_on_after_a_restart() -> None:
    world, _ = settle(lab())
    world, _ = settle(dataclasses.replace(world, capacities=(capacity(WEST),)), None, NOW + 5)
    assert (told(world), overlay(world).revision) == ([WEST], 2)


def test_other_weights_change_the_order_at_once() -> None:
    """Nothing of a provider is new, but what its signals are worth."""
    full_cache, long_queue = Signals(queue=0.0, kv_cache=0.8), Signals(queue=0.8, kv_cache=0.0)
    here = (capacity(EAST, signals=full_cache), capacity(EAST, "sim-b", cluster="b", signals=long_queue))
    world, decision = quiet(lab(*here))
    assert [candidate.cluster for candidate in overlay(world).candidates] == [f"gateway-{EAST}", "b"]
    weights = {"scoringPolicy": {"weights": {"queueDepth": 0.0}}}
    weighed = dataclasses.replace(world, networks=lab(spec=weights).networks)
    world, _ = settle(weighed, decision.memory, NOW + 1)
    assert [candidate.cluster for candidate in overlay(world).candidates] == ["b", f"gateway-{EAST}"]


def test_a_configmap_edited_by_hand_is_restored() -> None:
    world, decision = quiet(lab())
    first = world.stored[0]
    edited = dataclasses.replace(world, stored=(dataclasses.replace(first, text="{}"), *world.stored[1:]))
    restored, again = settle(edited, decision.memory, NOW + 1)
    assert [type(action) for action in again.actions] == [WriteOverlay, WriteStatus, Emit]
    assert {each.text for each in restored.stored} == {each.text for each in world.stored}


@pytest.mark.parametrize(
    ("changed", "counted"),
    [
        pytest.param(lambda stored: (dataclasses.replace(stored[0], text="{}"), *stored[1:]), 1, id="edited"),
        pytest.param(lambda stored: stored[1:], 1, id="deleted"),
        pytest.param(lambda stored: stored[:0], 2, id="both deleted"),
        pytest.param(lambda stored: stored, 0, id="left alone"),
    ],
)
def test_what_somebody_else_changed_is_told_from_what_is_new(
    changed: Callable[[tuple[Stored, ...]], tuple[Stored, ...]], counted: int
) -> None:
    world, decision = quiet(lab())
    moved = dataclasses.replace(world, capacities=(capacity(WEST),), stored=changed(world.stored))
    actions = decide(moved, decision.memory, NOW + 1).actions
    writes = [action for action in actions if isinstance(action, WriteOverlay)]
    assert (len(writes), sum(write.restored for write in writes)) == (2, counted)
    events = [action for action in actions if isinstance(action, Emit) and action.reason == "OverlayRestored"]
    assert len(events) == counted


def test_a_write_that_did_not_arrive_is_nobodys_change() -> None:
    world, decision = quiet(lab())
    moved = dataclasses.replace(world, capacities=(capacity(WEST),))
    lost = decide(moved, decision.memory, NOW + 1)
    again = decide(moved, lost.memory, NOW + 2)
    assert [a.restored for a in again.actions if isinstance(a, WriteOverlay)] == [False, False]


def test_a_count_goes_on_where_the_text_is_lost() -> None:
    name = "grid-overlay-production-edge-us-east"
    stored = Stored("grid-system", name, "production", "edge-us-east", "{}", revision=41)
    world, decision = settle(lab(stored=(stored,)))
    assert overlay(world).revision == 42
    again, _ = settle(world, decision.memory, NOW + 1)
    assert overlay(again).revision == 42


def test_a_new_operator_reorders_nothing_before_it_has_measured() -> None:
    """What is not measured yet scores as neutral, which might be better or worse than it was."""
    idle, other = (capacity(EAST, provider=name, cluster=f"c-{name}") for name in ("a", "b"))
    busier = dataclasses.replace(other, signals=Signals(queue=0.6, kv_cache=0.6))
    world, _ = settle(lab(idle, busier))
    unread = tuple(
        dataclasses.replace(each, signals=signals, reading=None)
        for each, signals in ((idle, Signals()), (busier, Signals(queue=0.0)))
    )
    after, decision = settle(dataclasses.replace(world, **GRACE, capacities=unread), None, NOW + 100)
    assert not [action for action in decision.actions if isinstance(action, WriteOverlay)]
    assert overlay(after) == overlay(world)


@pytest.mark.parametrize("text", [None, "", "not JSON", "\ud800"])
def test_what_is_stored_and_is_no_overlay_is_as_good_as_nothing(text: str | None) -> None:
    stored = Stored("grid-system", "grid-overlay-production-edge-us-east", "production", "edge-us-east", text)
    world, _ = settle(lab(stored=(stored,)))
    assert overlay(world).revision == 1


def test_pressure_closes_and_a_hold_down_opens_again() -> None:
    """Two busy readings close the near provider to new work; it comes back after three quiet ones and 30 s."""
    world, memory, _ = later(lab(), Memory(), NOW)
    seen = {}
    for second in range(1, 80):
        east = capacity(EAST, reading=second + 1, at=NOW + second, signals=BUSY if second <= 20 else IDLE)
        west = capacity(WEST, reading=second + 1, at=NOW + second)
        changed = dataclasses.replace(world, capacities=(east, west))
        world, memory, _ = later(changed, memory, NOW + second)
        seen[second] = told(world)
    assert seen[9] == [EAST, WEST], "a state lasts ten seconds"
    assert seen[10] == [WEST, f"={EAST}"]
    assert seen[50] == [WEST, f"={EAST}"], "quiet for 30 s only at 51"
    assert seen[51] == [EAST, WEST]
    assert overlay(world).revision == 3


@pytest.mark.parametrize(
    ("east", "expected"),
    [
        pytest.param(capacity(EAST, phase=Phase.UNAVAILABLE), [WEST], id="one that is down is not there"),
        pytest.param(
            capacity(EAST, phase=Phase.DEGRADED), [WEST, f"={EAST}"], id="one that answers with errors"
        ),
        pytest.param(capacity(EAST, phase=Phase.PENDING), [WEST, f"={EAST}"], id="one nobody has probed"),
        pytest.param(
            capacity(EAST, reading=None), [WEST, f"={EAST}"], id="one that has not been measured yet"
        ),
        pytest.param(
            capacity(EAST, measured=False, reading=None), [EAST, WEST], id="one that is not to be measured"
        ),
        pytest.param(capacity(EAST, drain=Drain.ALL), [WEST], id="one drained of everything"),
        pytest.param(
            capacity(EAST, drain=Drain.EXISTING_ONLY), [WEST, f"={EAST}"], id="one drained of new work"
        ),
        pytest.param(capacity(EAST, age_s=31.0), [WEST, f"={EAST}"], id="one last heard of 31 s ago"),
        pytest.param(capacity(EAST, age_s=29.0), [EAST, WEST], id="one last heard of 29 s ago"),
        pytest.param(capacity(EAST, age_s=331.0), [WEST], id="one stale for longer than its time"),
        pytest.param(capacity(EAST, access=(("team", "a"),)), [WEST], id="one that is not for this edge"),
        pytest.param(capacity(EAST, models=()), [WEST], id="one without the model"),
        pytest.param(capacity("elsewhere"), [WEST], id="one at a site nobody knows"),
        pytest.param(capacity(EAST, network="other"), [WEST], id="one of another network"),
        pytest.param(capacity("edge-control"), [WEST], id="one the mesh says is our own"),
    ],
)
def test_what_becomes_of_a_near_provider(east: Capacity, expected: list[str]) -> None:
    world, _ = settle(lab(east, capacity(WEST)))
    assert told(world) == expected


@pytest.mark.parametrize(
    ("member", "reach", "expected"),
    [
        pytest.param(Membership.ALIVE, VERIFIED, [EAST, WEST], id="alive"),
        pytest.param(Membership.SUSPECT, VERIFIED, [EAST, WEST], id="suspect is a condition only"),
        pytest.param(Membership.DEAD, VERIFIED, [WEST, f"={EAST}"], id="dead, but its gateway proves itself"),
        pytest.param(Membership.DEAD, UNREACHED, [WEST], id="dead, and its gateway does not answer"),
        pytest.param(Membership.LEFT, VERIFIED, [WEST], id="left"),
        pytest.param(Membership.ALIVE, None, [WEST], id="never probed"),
        pytest.param(
            Membership.ALIVE,
            Reach(Trust.PIN_MISMATCH, VERIFIED.health),
            [WEST],
            id="its certificate is another",
        ),
    ],
)
def test_what_becomes_of_a_near_site(member: Membership, reach: Reach | None, expected: list[str]) -> None:
    base = lab()
    world, _ = settle(
        dataclasses.replace(
            base,
            members={**base.members, ("production", EAST): Member(member, NOW - 1)},
            reached={WEST: VERIFIED} if reach is None else {WEST: VERIFIED, EAST: reach},
        )
    )
    assert told(world) == expected


def test_a_site_the_mesh_does_not_hold_is_stale() -> None:
    world, _ = settle(dataclasses.replace(lab(), members={}))
    assert told(world) == [f"={EAST}", f"={WEST}"]


def test_after_its_time_a_stale_candidate_goes() -> None:
    base = lab(spec={"staleCandidateTtlSeconds": 30})
    world, memory, _ = later(base, Memory(), NOW)
    lost = {**world.members, ("production", EAST): Member(Membership.DEAD, NOW + 1)}
    world = dataclasses.replace(world, members=lost)
    seen = {}
    for second in (1, 2, 31, 32):
        fresh = tuple(dataclasses.replace(each, at=NOW + second) for each in world.capacities)
        world, memory, _ = later(dataclasses.replace(world, capacities=fresh), memory, NOW + second)
        seen[second] = told(world)
    assert seen == {1: [WEST, f"={EAST}"], 2: [WEST, f"={EAST}"], 31: [WEST, f"={EAST}"], 32: [WEST]}


def test_a_gateway_of_no_known_site_sees_everything_from_nowhere_and_says_so() -> None:
    base = lab()
    lost = dataclasses.replace(base, sites=tuple(s for s in base.sites if s.metadata.name != "edge-us-east"))
    world, _ = settle(lost)
    assert {candidate.tier for candidate in overlay(world).candidates} == {"unknown"}
    assert condition(world, "ConsumerSitesKnown") == ("False", "GridSiteMissing", "edge-us-east")
    assert condition(settle(base)[0], "ConsumerSitesKnown") == ("True", "AllKnown", "")


def test_nothing_eligible_is_written_as_such() -> None:
    world, _ = settle(lab(capacity(EAST, phase=Phase.UNAVAILABLE)))
    assert told(world) == []


def test_duplicates_and_slips_are_conditions() -> None:
    twin = capacity(EAST, provider="sim-z")
    world, _ = settle(lab(capacity(EAST), twin, spec={"swim": {"probeInterval": "often"}}))
    assert condition(world, "CandidatesDistinct") == ("False", "DuplicateProviders", "sim-z")
    assert condition(world, "SpecHonoured") == (
        "False",
        "SpecInvalid",
        "spec.swim.probeInterval is no duration",
    )


def test_too_many_candidates_are_a_condition() -> None:
    many = tuple(capacity(EAST, provider=f"p{n}", cluster=f"c{n}") for n in range(1030))
    world, _ = settle(lab(*many))
    found = condition(world, "CandidatesBounded")
    assert found == ("False", "TooManyCandidates", "edge-us-east left out 6, edge-eu-west left out 6")


def test_objects_that_cannot_be_read_are_named() -> None:
    world, _ = settle(lab(unreadable={"GridSite broken": ("spec.role: wrong", "spec.zone: wrong")}))
    assert condition(world, "SpecHonoured") == (
        "False",
        "SpecInvalid",
        "GridSite broken: spec.role: wrong; spec.zone: wrong",
    )


def test_a_gateway_nobody_refers_to_any_more_loses_its_overlay() -> None:
    world, decision = settle(lab())
    fewer = read_network(network("production", gateway("edge-us-east")))
    world, again = settle(dataclasses.replace(world, networks=(fewer,)), decision.memory, NOW + 1)
    assert RemoveOverlay("grid-system", "grid-overlay-production-edge-eu-west") in again.actions
    assert [stored.gateway for stored in world.stored] == ["edge-us-east"]


def test_a_network_that_goes_takes_its_overlays_with_it() -> None:
    world, decision = settle(lab())
    gone = dataclasses.replace(world, networks=())
    assert carried_out(gone, decide(gone, decision.memory, NOW + 1).actions).stored == ()


def test_a_network_that_cannot_be_read_keeps_its_overlays() -> None:
    world, decision = settle(lab())
    broken = dataclasses.replace(world, networks=(), unreadable={"GridNetwork production": ("spec: wrong",)})
    assert not [a for a in decide(broken, decision.memory, NOW + 1).actions if isinstance(a, RemoveOverlay)]


def test_of_a_gateway_named_twice_the_first_is_served() -> None:
    twice = read_network(
        network("production", gateway("edge-us-east"), gateway("edge-us-east", maxAge="30s"))
    )
    world, decision = settle(dataclasses.replace(lab(), networks=(twice,)))
    assert overlay(world).max_age_s == 300.0
    assert len(decision.outcomes["production"]) == 1
    assert condition(world, "SpecHonoured")[2] == "spec.gatewayRefs[1] is grid-system/edge-us-east once more"


def test_a_gateway_whose_name_no_overlay_can_hold_is_left_out() -> None:
    bad = read_network(network("production", gateway("edge-us-east"), gateway("x" * 300)))
    world, decision = settle(dataclasses.replace(lab(), networks=(bad,)))
    assert len(decision.outcomes["production"]) == 1
    assert condition(world, "GatewaysServed")[:2] == ("False", "GatewaysNotServed")
    assert condition(world, "Ready")[1] == "GatewaysNotServed"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"name": "Edge_East"}, id="a name no ConfigMap can have"),
        pytest.param({"namespace": "Not One"}, id="a namespace that is none"),
        pytest.param({"name": ""}, id="no name"),
    ],
)
def test_a_gateway_no_configmap_can_be_named_after_is_left_out(changes: dict[str, Any]) -> None:
    bad = read_network(network("production", gateway("edge-us-east"), {**gateway("other"), **changes}))
    world, decision = settle(dataclasses.replace(lab(), networks=(bad,)))
    assert [outcome.gateway.ref.name for outcome in decision.outcomes["production"]] == ["edge-us-east"]
    assert condition(world, "GatewaysServed")[0] == "False"


def test_what_the_api_would_not_take_is_said_where_it_belongs() -> None:
    name = "grid-overlay-production-edge-us-east"
    refused = lab(unwritten={("grid-system", name): "404 NotFound"})
    world, decision = settle(refused)
    east, west = statuses_of(decision)
    assert (east["reason"], east["message"]) == ("OverlayApplyFailed", "404 NotFound")
    assert (west["reason"], west["message"]) == ("", "")
    _, decision = settle(dataclasses.replace(world, unwritten={}), decision.memory, NOW + 1)
    assert statuses_of(decision)[0]["message"] == ""


def statuses_of(decision: Decision) -> list[dict[str, Any]]:
    """Of each overlay, as the network's status is written."""
    (write,) = [a for a in decision.actions if isinstance(a, WriteStatus) and a.kind == "GridNetwork"]
    return list(write.status["overlayStatus"])


def test_a_network_of_a_long_name_that_cannot_be_read_keeps_its_overlays_too() -> None:
    """A label holds the name's beginning and a hash."""
    name = "n" * 80
    stored = Stored("grid-system", "grid-overlay-x", label_value(name), "edge", "{}")
    broken = lab(stored=(stored,), unreadable={f"GridNetwork {name}": ("spec: wrong",)})
    assert not [a for a in decide(broken, Memory(), NOW).actions if isinstance(a, RemoveOverlay)]


def test_a_gateway_in_a_namespace_that_cannot_be_read_waits_and_the_others_do_not() -> None:
    """What stands there is not known: a document written over it might be an older one."""
    there = read_network(network("production", gateway("edge-us-east"), gateway("other", namespace="closed")))
    closed = dataclasses.replace(lab(), networks=(there,), closed={"closed": "Forbidden"})
    world, decision = settle(closed)
    assert told(world) == [EAST, WEST]
    assert [a.namespace for a in decision.actions if isinstance(a, WriteOverlay)] == ["grid-system"]
    assert condition(world, "GatewaysServed")[2] == "other: ConfigMaps of closed cannot be read (Forbidden)"
    opened, decision = settle(dataclasses.replace(world, closed={}), decision.memory, NOW + 1)
    assert [a.namespace for a in decision.actions if isinstance(a, WriteOverlay)] == ["closed"]
    assert condition(opened, "GatewaysServed")[0] == "True"


def restarted(world: World, **changes: Any) -> World:
    """The same API seen by an operator that has just begun and heard nothing yet."""
    return dataclasses.replace(world, **{"capacities": (), "members": {}, "reached": {}, **GRACE, **changes})


def test_a_new_operator_narrows_nothing_before_it_has_heard_the_grid() -> None:
    world, _ = settle(lab())
    before = overlay(world)
    deaf, first = settle(restarted(world), None, NOW + 100)
    assert not [action for action in first.actions if isinstance(action, WriteOverlay)]
    assert overlay(deaf) == before
    heard = dataclasses.replace(deaf, capacities=(capacity(EAST, at=NOW + 105, phase=Phase.UNAVAILABLE),))
    still, second = settle(heard, first.memory, NOW + 105)
    assert told(still) == [EAST, WEST]
    over, _ = settle(still, second.memory, NOW + 111)
    assert told(over) == [], "the grace is over, and what was not heard of is gone"


def test_a_new_operator_may_stamp_a_document_anew_at_once() -> None:
    world, _ = settle(lab(spec={"gatewayRefs": [gateway("edge-us-east", maxAge="30s")]}))
    stamped, _ = settle(restarted(world), None, NOW + 105)
    assert (overlay(stamped).revision, overlay(stamped).generated_at) == (1, NOW + 105)


def test_a_new_operator_applies_drains_and_policy_at_once() -> None:
    world, _ = settle(lab())
    east = capacity(EAST, drain=Drain.ALL, at=NOW + 100)
    west = capacity(WEST, access=(("team", "a"),), at=NOW + 100)
    drained, _ = settle(dataclasses.replace(restarted(world), capacities=(east,)), None, NOW + 100)
    assert told(drained) == [WEST]
    denied, _ = settle(dataclasses.replace(restarted(world), capacities=(west,)), None, NOW + 100)
    assert told(denied) == [EAST]


def test_an_operator_without_a_stored_overlay_has_no_grace_to_wait_for() -> None:
    world, _ = settle(dataclasses.replace(lab(capacity(EAST, at=NOW + 100)), **GRACE), None, NOW + 100)
    assert told(world) == [EAST]


@pytest.mark.parametrize("stored", [False, True])
def test_what_is_new_to_a_new_operator_is_closed_until_it_is_known(stored: bool) -> None:
    """Also where other candidates are in their grace."""
    world, _ = settle(lab(capacity(WEST))) if stored else (lab(), None)
    new = capacity(EAST, measured=False, reading=None, phase=Phase.PENDING, at=NOW + 100)
    unknown = restarted(world, capacities=(new,), members=world.members, reached=world.reached)
    seen, decision = settle(unknown, None, NOW + 100)
    again, _ = settle(seen, decision.memory, NOW + 101)
    for after in (seen, again):
        assert f"={EAST}" in told(after)
        assert (WEST in told(after)) is stored


def test_ghosts_are_placed_where_their_sites_say() -> None:
    """Also one whose site has gone from the API, and one of a kind that is not rendered here."""
    world, _ = settle(lab())
    without = dataclasses.replace(world, sites=tuple(s for s in world.sites if s.metadata.name != EAST))
    after, _ = settle(restarted(without), None, NOW + 100)
    assert sorted(told(after)) == [EAST, WEST]


@pytest.mark.parametrize(
    ("accepted", "serving", "phase"),
    [
        pytest.param(None, None, "Distributed", id="nothing accepted yet"),
        pytest.param("other", "other", "Distributed", id="an older one"),
        pytest.param("same", None, "Accepted", id="accepted"),
        pytest.param("same", "other", "Accepted", id="accepted, an older one serving"),
        pytest.param("same", "same", "Serving", id="serving"),
    ],
)
def test_progress_is_what_the_gateway_says(accepted: str | None, serving: str | None, phase: str) -> None:
    from grid.contract.status import Coverage, GatewayStatus, Loaded

    world, decision = settle(lab())
    current = overlay(world)

    def loaded(which: str | None) -> Loaded | None:
        if which is None:
            return None
        digest = current.digest if which == "same" else "sha256:00"
        label = current.label if which == "same" else "0"
        return Loaded(
            revision=None,
            label=label,
            digest=digest,
            generated_at=None,
            valid_until=None,
            accepted_at=NOW,
            candidates=2,
        )

    status = GatewayStatus(
        network="production",
        gateway="edge-us-east",
        site="edge-us-east",
        ready=True,
        not_ready=(),
        draining=False,
        accepted=loaded(accepted),
        serving=loaded(serving),
        age_s=None,
        rejections=0,
        last_rejection=None,
        coverage=Coverage(routes=1, open=1, missing=0),
    )
    heard = dataclasses.replace(world, gateways={("grid-system", "edge-us-east"): status})
    world, _ = settle(heard, decision.memory, NOW + 1)
    shown = world.networks[0].status
    assert shown is not None
    east, west = shown.overlay_status
    assert (east.phase, west.phase) == (phase, "Distributed")
    assert east.rendered_revision == east.distributed_revision == "1"
    assert east.serving_revision == {"same": "1", "other": "0", None: ""}[serving]


def test_a_write_that_does_not_arrive_is_decided_again() -> None:
    lost = decide(lab(), Memory(), NOW)
    again = decide(lab(), lost.memory, NOW + 1)
    texts = [
        {action.name: action.text for action in decision.actions if isinstance(action, WriteOverlay)}
        for decision in (lost, again)
    ]
    assert texts[0] == texts[1]


def test_the_networks_phase_follows_its_provider_sites() -> None:
    world, decision = settle(lab())
    status = world.networks[0].status
    assert status is not None
    assert (status.phase, status.connected_sites, status.distributed_provider_count) == ("Active", 2, 2)
    assert status.grid_id == "production"
    lost, _ = settle(
        dataclasses.replace(world, reached={WEST: VERIFIED, EAST: UNREACHED}), decision.memory, NOW + 1
    )
    after = lost.networks[0].status
    assert after is not None
    assert (after.phase, after.connected_sites) == ("Degraded", 1)


def test_a_site_that_changes_is_an_event() -> None:
    world, decision = settle(lab())
    assert Emit("GridSite", EAST, f"uid-{EAST}", "TlsVerified", "Pending to Active") in decision.actions
    lost, again = settle(
        dataclasses.replace(world, reached={WEST: VERIFIED, EAST: UNREACHED}), decision.memory, NOW + 1
    )
    events = [action for action in again.actions if isinstance(action, Emit) and action.kind == "GridSite"]
    assert events == [
        Emit("GridSite", EAST, f"uid-{EAST}", "ConnectionFailed", "its gateway does not answer", warning=True)
    ]
    found = next(each for each in lost.sites if each.metadata.name == EAST).status
    assert found is not None
    assert found.phase == "Unreachable"


def test_providers_of_this_cluster_are_offered_and_published() -> None:
    here = dataclasses.replace(
        with_provider(
            lab(),
            provider("sim-a", routingClusterRef="gateway-a", cost={"perMillionInputTokens": 50.0}),
            provider("sim-b", siteSelector={"matchLabels": {"gpu": "yes"}}),
        ),
        site=EAST,
        capacities=(capacity(WEST),),
        sites=(
            *(s for s in lab().sites if s.metadata.name != WEST),
            read_site(site(WEST, "eu-west", labels={"gpu": "yes"})),
        ),
    )
    world, decision = settle(here)
    assert [(c.site, c.provider, c.cluster) for c in decision.published] == [(EAST, "sim-a", "gateway-a")]
    assert decision.published[0].signals.cost_usd_per_1k == pytest.approx(0.05)
    statuses = {each.metadata.name: each.status for each in world.providers}
    assert statuses["sim-a"] is not None
    assert (statuses["sim-a"].phase, statuses["sim-a"].matching_sites) == ("Available", (EAST,))
    assert statuses["sim-b"] is not None
    assert statuses["sim-b"].matching_sites == (WEST,)
    assert statuses["sim-a"].admission is not None
    assert statuses["sim-a"].admission.state == "new_and_existing"
    assert (
        Emit("InferenceProvider", "sim-a", "uid-sim-a", "Available", "Pending to Available")
        in decision.actions
    )
    world, decision = settle(world, decision.memory, NOW + 1)
    assert decide(world, decision.memory, NOW + 2).actions == ()


STATES = st.sampled_from([Membership.ALIVE, Membership.SUSPECT, Membership.DEAD])
CAPACITIES = st.builds(
    capacity,
    st.sampled_from([EAST, WEST]),
    st.sampled_from(["sim-a", "sim-b"]),
    cluster=st.sampled_from(["c1", "c2", "c3"]),
    phase=st.sampled_from(Phase),
    drain=st.sampled_from(Drain),
    signals=st.builds(Signals, st.none() | st.floats(0, 1), st.none() | st.floats(0, 1)),
    reading=st.none() | st.integers(1, 9),
    age_s=st.sampled_from([0.0, 40.0, 400.0]),
)


@settings(max_examples=60)
@given(st.lists(CAPACITIES, max_size=6), STATES, st.randoms(use_true_random=False))
def test_the_same_world_is_the_same_actions(
    capacities: list[Capacity], state: Membership, random: Any
) -> None:
    """However its parts are listed; and once they are carried out there are none."""
    unique = list({(c.site, c.provider): c for c in capacities}.values())
    base = lab()
    members = {**base.members, ("production", EAST): Member(state, NOW - 1)}
    world = dataclasses.replace(base, capacities=tuple(unique), members=members)
    shuffled = list(unique)
    random.shuffle(shuffled)
    first = decide(world, Memory(), NOW)
    assert (
        decide(dataclasses.replace(world, capacities=tuple(shuffled)), Memory(), NOW).actions == first.actions
    )
    world, second = settle(carried_out(world, first.actions), first.memory)
    assert decide(world, second.memory, NOW).actions == ()
    for action in first.actions:
        if isinstance(action, WriteOverlay):
            assert parse(action.text.encode(), now=NOW).revision == 1


def condition(world: World, kind: str) -> tuple[str, str, str]:
    status = world.networks[0].status
    assert status is not None
    (found,) = [each for each in status.conditions if each.type == kind]
    return (found.status, found.reason, found.message)


def test_statuses_are_plain_json() -> None:
    for action in decide(lab(), Memory(), NOW).actions:
        if isinstance(action, WriteStatus):
            assert json.loads(json.dumps(action.status)) == action.status
