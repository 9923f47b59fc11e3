"""The add-wins set and the registers against brute force: every event is kept, and the answer worked out anew.

Sites crash and lose all but the count they wrote ahead, and are cloned: an old copy of one goes on in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from grid.crdt.lww import Lww
from grid.crdt.orset import OrSet
from tests.kit.crdts import ITEMS, SITES


@dataclass(frozen=True)
class Knowledge:
    """What a site has heard of. adds: (number, item). gone: numbers of adds that a remove it knows of knew."""

    adds: frozenset[tuple[int, str]] = frozenset()
    gone: frozenset[int] = frozenset()

    @property
    def items(self) -> frozenset[str]:
        return frozenset(item for number, item in self.adds if number not in self.gone)

    def live(self, item: str) -> frozenset[int]:
        return frozenset(number for number, held in self.adds if held == item and number not in self.gone)

    def merge(self, other: Knowledge) -> Knowledge:
        return Knowledge(self.adds | other.adds, self.gone | other.gone)


@dataclass
class World:
    """Both, side by side. floors: the counts each site has written ahead. copies: taken of each site."""

    sets: list[OrSet[str]] = field(default_factory=lambda: [OrSet() for _ in SITES])
    truths: list[Knowledge] = field(default_factory=lambda: [Knowledge() for _ in SITES])
    floors: list[int] = field(default_factory=lambda: [0 for _ in SITES])
    copies: dict[int, tuple[OrSet[str], Knowledge]] = field(default_factory=dict)
    number: int = 0

    def step(self, what: str, at: int, other: int, item: str) -> None:
        held, truth = self.sets[at], self.truths[at]
        match what:
            case "add":
                self.number += 1
                self.sets[at] = held.add(item, SITES[at], floor=self.floors[at])
                self.floors[at] = self.sets[at].context.highest(SITES[at])
                adds = truth.adds | {(self.number, item)}
                self.truths[at] = Knowledge(adds, truth.gone | truth.live(item))
            case "remove":
                self.sets[at] = held.remove(item)
                self.truths[at] = replace(truth, gone=truth.gone | truth.live(item))
            case "hear":
                self.sets[at] = held.merge(self.sets[other])
                self.truths[at] = truth.merge(self.truths[other])
            case "crash":
                self.sets[at], self.truths[at] = OrSet(), Knowledge()
            case "copy":
                self.copies[at] = (held, truth)
            case "restore" if at in self.copies:
                self.sets[at], self.truths[at] = self.copies[at]
            case _:
                pass


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "remove", "hear", "hear", "hear", "crash", "copy", "restore")),
        st.sampled_from(range(len(SITES))),
        st.sampled_from(range(len(SITES))),
        st.sampled_from(ITEMS),
    ),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=400)
def test_a_set_is_what_brute_force_says_at_every_step(steps: list[tuple[str, int, int, str]]) -> None:
    world = World()
    for step in steps:
        world.step(*step)
        assert [held.items for held in world.sets] == [truth.items for truth in world.truths]
    for _ in SITES:
        for at in range(len(SITES)):
            for other in range(len(SITES)):
                world.step("hear", at, other, "")
    assert len({held.items for held in world.sets}) == 1
    assert world.sets[0] == world.sets[1] == world.sets[2]
    assert world.sets[0].items == world.truths[0].items


@given(STEPS)
def test_a_register_is_the_last_write_that_was_heard_of(steps: list[tuple[str, int, int, str]]) -> None:
    """Each site's revisions go on from what it wrote ahead, so that no stamp has two values."""
    held: list[Lww[str]] = [Lww("", 0, "") for _ in SITES]
    heard: list[frozenset[tuple[int, str, str]]] = [frozenset() for _ in SITES]
    copies: dict[int, tuple[Lww[str], frozenset[tuple[int, str, str]]]] = {}
    floors = [0 for _ in SITES]
    for number, (what, at, other, item) in enumerate(steps):
        if what in {"add", "remove"}:
            floors[at] = max(floors[at], held[at].revision) + 1
            held[at] = Lww(f"{item} {number}", floors[at], SITES[at])
            heard[at] |= {(floors[at], SITES[at], f"{item} {number}")}
        elif what == "hear":
            held[at], heard[at] = held[at].merge(held[other]), heard[at] | heard[other]
        elif what == "crash":
            held[at], heard[at] = Lww("", 0, ""), frozenset()
        elif what == "copy":
            copies[at] = held[at], heard[at]
        elif at in copies:
            held[at], heard[at] = copies[at]
        expected = max(heard[at], default=(0, "", ""))
        assert (*held[at].stamp, held[at].value) == expected
