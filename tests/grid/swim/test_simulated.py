"""Real nodes on a simulated network: they find each other, the dead and the cut off, whatever the weather."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import pytest

from grid.swim.members import State
from grid.swim.messages import Lane, MemberDown, MemberLeft, MemberSuspect, MemberUp, NameTaken, Refuted
from grid.swim.tuning import DEFAULT, detection_bound, dissemination_rounds, tuned
from tests.kit.sim_network import Host, SimNetwork, Weather

TUNING = tuned(1.0, 5.0)
FAIR = Weather()
ROUGH = Weather(loss=0.05, duplicate=0.03, delay_s=(0.001, 0.08), skew=0.01)


def grown(count: int, weather: Weather = ROUGH, seed: int = 1) -> SimNetwork:
    """A grid in which everybody knows everybody."""
    network = SimNetwork(seed, TUNING, weather)
    network.grow(count)
    assert network.until(network.is_one, 120) is not None
    return network


def acquainted(count: int, weather: Weather, seed: int = 1) -> SimNetwork:
    """A grid in which everybody has known everybody for long, so that there is no news."""
    network = SimNetwork(seed, TUNING, weather)
    network.acquainted(count)
    network.run(5)
    return network


def knows(network: SimNetwork, host: Host) -> bool:
    return all(host.site in other.living() for other in network.up if other is not host)


def has_lost(network: SimNetwork, site: str) -> bool:
    return all(site not in other.living() for other in network.up)


@pytest.mark.parametrize("count", [2, 3, 8, 48])
def test_every_living_node_is_alive_to_every_other(count: int) -> None:
    network = grown(count)
    network.run(60)
    assert network.until(network.is_one, 60) is not None
    assert not network.events(MemberDown)


@pytest.mark.parametrize("count", [2, 3, 8, 48])
def test_a_death_is_found_by_all_within_the_published_bound(count: int) -> None:
    network = grown(count)
    victim = network.up[count // 2]
    network.kill(victim)
    took = network.until(lambda: has_lost(network, victim.site), detection_bound(count, TUNING))
    assert took is not None
    assert {event for _, _, event in network.events(MemberDown)} == {MemberDown(victim.site)}


def test_many_deaths_at_once_are_found_by_all() -> None:
    network = grown(48)
    victims = network.up[::3]
    for victim in victims:
        network.kill(victim)
    bound = detection_bound(48, TUNING)
    assert network.until(lambda: all(has_lost(network, v.site) for v in victims), bound) is not None
    assert network.until(network.is_one, 60) is not None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_join_is_known_everywhere_in_logarithmic_rounds(seed: int) -> None:
    count = 128
    network = acquainted(count, FAIR, seed)
    newcomer = network.start("newcomer", ["site-0000:7946"])
    took = network.until(
        lambda: knows(network, newcomer), dissemination_rounds(count) * TUNING.probe_interval_s
    )
    assert took is not None


def test_a_goodbye_is_no_death() -> None:
    network = grown(16)
    leaver = network.up[3]
    network.do(leaver, lambda node, now: node.leave(now))
    assert network.until(lambda: has_lost(network, leaver.site), dissemination_rounds(16)) is not None
    network.run(30)
    assert {event for _, _, event in network.events(MemberLeft)} == {MemberLeft(leaver.site)}
    assert not network.events(MemberDown)


def test_the_dead_are_forgotten_for_good() -> None:
    network = SimNetwork(3, replace(TUNING, tombstone_ttl_s=60.0), ROUGH)
    network.grow(12)
    assert network.until(network.is_one, 120) is not None
    victim = network.up[3]
    network.kill(victim)
    network.run(300)
    assert all(victim.site not in host.node.view.table.members for host in network.up)
    ups = [
        event for _, _, event in network.events(MemberUp) if event == MemberUp(victim.site, victim.address)
    ]
    assert len(ups) == 11, "once for each of the others"


def test_a_node_that_restarts_hears_who_left_before_it() -> None:
    network = grown(8)
    leaver, late = network.up[3], network.up[5]
    network.kill(late)
    network.do(leaver, lambda node, now: node.leave(now))
    network.run(30)
    late = network.restart(late, ["site-0000:7946"], with_memory=False)

    def knows() -> bool:
        member = late.node.view.table.get(leaver.site)
        return member is not None and member.state is State.LEFT

    assert network.until(knows, 10) is not None


@pytest.mark.parametrize("with_memory", [True, False], ids=["knowing its past", "knowing nothing"])
@pytest.mark.parametrize("found", [True, False], ids=["after it was found dead", "before anybody noticed"])
def test_a_node_that_restarts_is_a_member_again(*, with_memory: bool, found: bool) -> None:
    network = grown(12)
    host = network.up[4]
    network.kill(host)
    if found:
        assert network.until(lambda: has_lost(network, host.site), detection_bound(12, TUNING)) is not None
    network.restart(host, ["site-0000:7946"], with_memory=with_memory)
    assert network.until(network.is_one, 60) is not None
    network.run(30)
    assert network.is_one()
    assert not network.events(NameTaken)


def test_a_paused_node_refutes_and_holds_nobody_dead() -> None:
    network = grown(16)
    host = network.up[5]
    network.pause(host)
    assert network.until(lambda: has_lost(network, host.site), detection_bound(16, TUNING)) is not None
    network.resume(host)
    assert network.until(network.is_one, 30) is not None
    assert any(isinstance(event, Refuted) for _, event in host.events)
    assert {event for _, _, event in network.events(MemberDown)} == {MemberDown(host.site)}


def test_two_halves_become_one_again() -> None:
    network = grown(24)
    for host in network.up:
        network.do(host, lambda node, now, host=host: node.publish(Lane.STATE, host.site.encode(), now))  # type: ignore[misc]
    assert network.until(network.is_one, 60) is not None
    left, right = network.up[:9], network.up[9:]
    network.cut(left, right)
    assert network.until(lambda: all(len(h.living()) == 8 for h in left), 120) is not None
    for host in network.up:
        network.do(host, lambda node, now: node.publish(Lane.STATE, b"during", now))
    network.run(60)
    downs = len(network.events(MemberDown))
    network.cut()
    assert network.until(network.is_one, 120) is not None
    assert all(fact.payload == b"during" for host in network.up for fact in host.node.view.facts)
    network.run(60)
    assert network.is_one()
    assert len(network.events(MemberDown)) == downs, "nobody is thought dead because of the healing"


def test_a_node_that_was_all_alone_comes_back_by_itself() -> None:
    network = grown(10, FAIR)
    lonely = network.up[7]
    network.cut([lonely])
    assert network.until(lambda: not lonely.living(), 120) is not None
    network.run(400)
    sent = network.sent
    network.run(TUNING.rejoin_max_s)
    assert network.sent - sent < 9 * TUNING.rejoin_max_s * 2.5, (
        "two a round of each of the others: its calls are rare"
    )
    network.cut()
    assert network.until(network.is_one, 2 * TUNING.rejoin_max_s) is not None


def test_a_node_without_its_seed_comes_back_by_remembered_peers() -> None:
    network = grown(8)
    network.run(30)
    host = network.up[3]
    network.kill(network.hosts["site-0000"])
    network.restart(host, ["site-0000:7946"])
    assert network.until(lambda: len(network.hosts[host.site].living()) >= 6, 60) is not None


def test_a_change_of_address_is_followed() -> None:
    network = grown(8, FAIR)
    host = network.up[2]
    network._by_address["elsewhere:1"] = host
    del network._by_address[host.address]
    network.do(host, lambda node, now: node.readvertise("elsewhere:1", now))
    network.run(60)
    assert network.is_one()
    assert not network.events(MemberDown)
    views = {other.node.view.table.members[host.site].address for other in network.up if other is not host}
    assert views == {"elsewhere:1"}


def test_two_of_one_name_are_told_and_the_grid_stays_calm() -> None:
    network = grown(8)
    network.start("site-0003", ["site-0000:7946"], address="imposter:1")
    network.run(120)
    told = {host.address for _, host, _ in network.events(NameTaken)}
    assert told
    network.run(60)
    sent = network.sent
    network.run(60)
    assert network.sent - sent < 9 * 60 * 20
    others = [h for h in network.up if h.site != "site-0003"]
    sites = {f"site-{n:04}" for n in range(8)} - {"site-0003"}
    assert all(sites - {h.site} <= h.living() for h in others)


def test_who_advertises_anothers_address_harms_only_itself() -> None:
    network = grown(8)
    thief = network.start("thief", ["site-0000:7946"], address="nowhere:1")
    network.do(thief, lambda node, now: node.readvertise("site-0002:7946", now))
    network.run(120)
    network.run(60)
    told = [event for _, host, event in network.events(MemberDown) if host is not thief]
    assert set(told) <= {MemberDown("thief")}


@pytest.mark.parametrize(
    ("weather", "large", "growth"),
    [
        pytest.param(FAIR, 128, 1.25, id="without loss"),
        pytest.param(Weather(loss=0.05), 128, 1.6, id="at 5 % loss by a logarithm"),
        pytest.param(Weather(loss=0.05), 512, 2.0, id="and so on", marks=pytest.mark.long),
    ],
)
def test_bytes_a_second_do_not_depend_on_the_size(weather: Weather, large: int, growth: float) -> None:
    """Each false suspicion is news for all: what keeps this flat under loss is that they do not become more."""

    def rate(count: int) -> float:
        network = acquainted(count, weather)
        before = network.sent_bytes
        network.run(40)
        return (network.sent_bytes - before) / 40 / count

    assert rate(large) < rate(8) * growth


def test_old_datagrams_sent_again_change_nothing() -> None:
    """Whoever recorded a grid's traffic, without the key, can say all of it again."""
    network = SimNetwork(9, TUNING, FAIR)
    recorded: list[bytes] = []
    network.recorded = recorded
    network.grow(8)
    assert network.until(network.is_one, 60) is not None
    for number in range(5):
        for host in network.up:
            network.do(host, lambda node, now, number=number: node.publish(Lane.STATE, bytes([number]), now))  # type: ignore[misc]
        network.run(10)
    network.kill(network.up[-1])
    network.run(40)
    assert network.is_one()
    before = [(sorted(h.living()), h.node.view.digest, h.node.view.me.incarnation) for h in network.up]
    quiet = network.sent
    for _ in range(3):
        for text in recorded[:20_000]:
            network.do(network.up[2], lambda node, now, text=text: node.receive(text, now))  # type: ignore[misc]
        network.run(5)
    assert [
        (sorted(h.living()), h.node.view.digest, h.node.view.me.incarnation) for h in network.up
    ] == before
    assert network.sent - quiet < 5 * 3 * len(recorded), "an answer at most to each, and what news that is"


def test_no_message_is_above_the_limit_in_a_storm_of_news() -> None:
    network = SimNetwork(5, TUNING, ROUGH)
    network.grow(32)
    for host in network.up:
        for lane in Lane:
            network.do(host, lambda node, now, lane=lane: node.publish(lane, bytes(200 * lane), now))  # type: ignore[misc]
    assert network.until(network.is_one, 240) is not None
    assert network.largest > 1300, "the room is used"


@pytest.mark.parametrize(
    "size", [300, 2_000, 200_000], ids=["in a datagram", "a few providers", "a thousand"]
)
def test_change_after_change_is_everywhere_at_once_whatever_its_size(size: int) -> None:
    """A round of five seconds is none of the news' business."""
    network = SimNetwork(1, DEFAULT, FAIR)
    network.grow(6)
    assert network.until(network.is_one, 600) is not None
    speaker = network.up[2]
    for number in range(8):
        payload = bytes([number]) * size
        network.do(speaker, lambda node, now, payload=payload: node.publish(Lane.STATE, payload, now))  # type: ignore[misc]

        def held(payload: bytes = payload) -> bool:
            facts = [h.node.view.facts.get(Lane.STATE, speaker.site) for h in network.up]
            return all(fact is not None and fact.payload == payload for fact in facts)

        assert network.until(held, 2.0, 0.02) is not None
        network.run(0.3)


def test_one_seed_gives_one_transcript() -> None:
    def transcript(seed: int) -> str:
        network = SimNetwork(seed, TUNING, ROUGH)
        network.transcript = hashlib.sha256()
        network.grow(20)
        network.run(20)
        network.kill(network.up[4])
        network.run(20)
        return network.transcript.hexdigest()

    assert transcript(7) == transcript(7)
    assert transcript(7) != transcript(8)


def false_positives(count: int, rounds: int, seed: int) -> tuple[int, int, float]:
    """Deaths declared of the living, suspicions, and node-rounds, at 5 % loss."""
    network = SimNetwork(seed, TUNING, Weather(loss=0.05, delay_s=(0.001, 0.05)))
    network.grow(count)
    assert network.until(network.is_one, 120) is not None
    network.run(rounds * TUNING.probe_interval_s)
    return len(network.events(MemberDown)), len(network.events(MemberSuspect)), count * rounds


@pytest.mark.parametrize("count", [3, 32])
def test_nobody_living_is_declared_dead_at_five_percent_loss(count: int) -> None:
    downs, suspicions, _ = false_positives(count, math.ceil(6_000 / count), seed=2)
    assert downs == 0
    assert suspicions > 0, "the loss was felt"


@pytest.mark.long
@pytest.mark.parametrize("count", [3, 8, 32, 128])
def test_false_positives_are_below_one_in_a_hundred_thousand_node_rounds(count: int) -> None:
    downs = sum(false_positives(count, math.ceil(25_000 / count), seed)[0] for seed in range(4))
    assert downs < 1


@pytest.mark.long
@pytest.mark.parametrize("count", [256, 1023])
def test_large_grids_keep_the_bounds_too(count: int) -> None:
    network = acquainted(count, Weather(loss=0.01, delay_s=(0.001, 0.05)))
    newcomer = network.start("newcomer", ["site-0000:7946"])
    assert network.until(lambda: knows(network, newcomer), dissemination_rounds(count)) is not None
    victims = network.up[5::100]
    for victim in victims:
        network.kill(victim)
    bound = detection_bound(count, TUNING)
    assert network.until(lambda: all(has_lost(network, v.site) for v in victims), bound) is not None
