"""What a scrape says of a mesh is what its nodes hold."""

from __future__ import annotations

from grid.mesh.metrics import MeshMetrics
from grid.swim.messages import Lane
from grid.telemetry.metrics import Metrics
from tests.kit.eventually import eventually
from tests.kit.meshes import NETWORK, all_know, opened, sites


def scraped(metrics: Metrics) -> dict[str, float]:
    lines = [line for line in metrics.scrape().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


async def test_a_mesh_is_scraped() -> None:
    metrics = Metrics()
    async with sites("west", "east") as two:
        west = two[0]
        MeshMetrics(metrics, lambda: west.mesh)
        async with opened("north", [west.address]) as north:
            await eventually(lambda: all_know([*two, north]), "everybody knows everybody")
            west.mesh.publish(NETWORK, Lane.STATE, b"capacity")
            agreed = f'grid_mesh_agreed_age_seconds{{network="{NETWORK}"}}'
            await eventually(lambda: agreed in scraped(metrics), "a probed site held the same")
            await eventually(
                lambda: west.mesh.age_s(NETWORK, Lane.STATE, "west") is not None, "it has an age"
            )
        await eventually(lambda: north.name not in west.living(), "it is found dead")
        found = scraped(metrics)
    label = f'network="{NETWORK}"'
    assert found[f'grid_mesh_members{{{label},state="alive"}}'] == 1
    assert found[f'grid_mesh_members{{{label},state="dead"}}'] == 1
    assert found[f'grid_mesh_events{{event="probes",{label}}}'] > 0
    assert found[f'grid_mesh_events{{event="suspicions",{label}}}'] >= 1
    assert found[f'grid_mesh_lane_bytes{{lane="state",{label}}}'] > 0
    assert 0 < found[f"grid_mesh_rtt_seconds{{{label}}}"] < 1
    assert found['grid_mesh_datagrams{outcome="received"}'] > 0
    assert not any('"other"' in name for name in found)
