"""A network says how its membership stands, and a site what the mesh holds of it and what it announced."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from grid.reconcile.world import Member, Membership, MeshStanding, World
from tests.kit.worlds import NOW, lab, settle

KEYED = {"tls": {"swimKeyRef": {"namespace": "grid-system", "name": "grid-swim-key"}}}
RUNNING = MeshStanding(running=True, reason="Running")
WEST = ("production", "provider-west")


def network_conditions(world: World) -> dict[str, tuple[str, str]]:
    status = world.networks[0].status
    found = status.conditions if status else ()
    return {
        each.type: (each.status, each.reason)
        for each in found
        if each.type in {"MeshRunning", "SiteNameUnique"}
    }


def site_conditions(world: World, name: str) -> dict[str, tuple[str, str]]:
    site = next(each for each in world.sites if each.metadata.name == name)
    return {each.type: (each.status, each.reason) for each in (site.status.conditions if site.status else ())}


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        pytest.param(
            RUNNING,
            {"MeshRunning": ("True", "Running"), "SiteNameUnique": ("True", "OnlyOne")},
            id="a member",
        ),
        pytest.param(
            MeshStanding(running=False, reason="SwimKeyMalformed", message="why"),
            {"MeshRunning": ("False", "SwimKeyMalformed")},
            id="without a key",
        ),
        pytest.param(
            dataclasses.replace(RUNNING, taken_by="10.0.0.9:7946"),
            {"MeshRunning": ("True", "Running"), "SiteNameUnique": ("False", "NameTaken")},
            id="its name is taken",
        ),
        pytest.param(None, {}, id="not known yet"),
    ],
)
def test_a_network_says_how_its_membership_stands(
    standing: MeshStanding | None, expected: dict[str, tuple[str, str]]
) -> None:
    meshes = {"production": standing} if standing else {}
    world, _ = settle(lab(spec=KEYED, meshes=meshes))
    assert network_conditions(world) == expected


def test_a_new_leader_says_what_the_one_before_it_said_until_it_knows() -> None:
    first, _ = settle(lab(spec=KEYED, meshes={"production": RUNNING}))
    world, _ = settle(first, now=NOW + 1)
    before = network_conditions(world)
    again, decision = settle(dataclasses.replace(world, meshes={}), now=NOW + 5)
    assert network_conditions(again) == before != {}
    assert not [each for each in decision.actions if getattr(each, "kind", "") == "GridNetwork"]


@pytest.mark.parametrize(
    ("state", "phase", "condition"),
    [
        pytest.param(Membership.ALIVE, "Active", ("True", "Alive"), id="alive"),
        pytest.param(Membership.SUSPECT, "Active", ("True", "Suspect"), id="suspect is a condition only"),
        pytest.param(Membership.DEAD, "Active", ("False", "Dead"), id="dead, and its gateway proves itself"),
        pytest.param(Membership.LEFT, "Left", ("False", "Left"), id="left"),
    ],
)
def test_a_site_is_what_the_mesh_holds_of_it(
    state: Membership, phase: str, condition: tuple[str, str]
) -> None:
    world, _ = settle(lab(members={WEST: Member(state, NOW - 1)}))
    assert site_conditions(world, "provider-west")["MemberAlive"] == condition
    site = next(each for each in world.sites if each.metadata.name == "provider-west")
    assert site.status is not None
    assert site.status.phase == phase


def announced(world: World) -> Any:
    site = next(each for each in world.sites if each.metadata.name == "provider-west")
    return site.status.public_cert_pem if site.status else None


def test_what_a_site_announced_is_shown_and_kept_while_it_is_silent() -> None:
    world, _ = settle(lab(certificates={WEST: b"-----BEGIN CERTIFICATE-----"}))
    assert announced(world) == "-----BEGIN CERTIFICATE-----"
    silent, decision = settle(dataclasses.replace(world, certificates={}), now=NOW + 5)
    assert announced(silent) == "-----BEGIN CERTIFICATE-----"
    assert not [each for each in decision.actions if getattr(each, "name", "") == "provider-west"]
