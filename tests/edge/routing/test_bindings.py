"""Bindings hold sessions where they are, for a bounded time, in bounded numbers, at a bounded rate."""

from __future__ import annotations

import dataclasses
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.bindings import Bindings, Limits, Outcome
from edge.routing.creations import Creations, Rate

A, B = b"a" * 32, b"b" * 32
TAG, OTHER_TAG = b"t" * 16, b"u" * 16
LIMITS = Limits(ttl_s=10, max_entries=3, rate=Rate(per_s=1, burst=10, max_tenants=2))


def test_a_session_is_held_where_it_was_placed() -> None:
    store = Bindings()
    assert store.bound_to([A], LIMITS, 0) is None
    assert store.hold([A], "east", TAG, LIMITS, 0) is Outcome.CREATED
    assert store.bound_to([A], LIMITS, 1) == "east"
    assert store.hold([A], "east", TAG, LIMITS, 1) is Outcome.REUSED
    assert store.hold([A], "west", TAG, LIMITS, 2) is Outcome.REBOUND
    assert store.bound_to([A], LIMITS, 3) == "west"
    assert store.bound_to([B], LIMITS, 3) is None


def test_a_binding_ends_when_it_has_not_been_used_for_its_ttl() -> None:
    store = Bindings()
    store.hold([A], "east", TAG, LIMITS, 0)
    store.hold([A], "east", TAG, LIMITS, 9)
    assert store.bound_to([A], LIMITS, 18.9) == "east"
    assert store.bound_to([A], LIMITS, 19) is None
    assert store.hold([A], "west", TAG, LIMITS, 19) is Outcome.CREATED


def test_looking_changes_nothing() -> None:
    store = Bindings()
    store.hold([A], "east", TAG, LIMITS, 0)
    for now in range(10):
        store.bound_to([A], LIMITS, now)
    assert store.bound_to([A], LIMITS, 10) is None


def test_a_full_table_ends_nobody_s_binding() -> None:
    store = Bindings()
    held = [bytes([n]) * 32 for n in range(3)]
    for key in held:
        store.hold([key], "east", TAG, LIMITS, 0)
    assert store.hold([A], "east", TAG, LIMITS, 1) is Outcome.FULL
    assert [store.bound_to([key], LIMITS, 1) for key in held] == ["east"] * 3
    assert store.hold([held[0]], "west", TAG, LIMITS, 1) is Outcome.REBOUND
    assert store.bound_to([A], LIMITS, 1) is None


def test_expired_bindings_make_room_and_used_ones_stay() -> None:
    store = Bindings()
    for n in range(3):
        store.hold([bytes([n]) * 32], "east", TAG, LIMITS, n)
    store.hold([bytes(32)], "east", TAG, LIMITS, 5)  # the oldest is used again
    assert store.sweep(LIMITS, 12) == 2
    assert len(store) == 1
    assert store.bound_to([bytes(32)], LIMITS, 12) == "east"


def test_a_tenant_begins_so_many_a_second_and_takes_none_from_another() -> None:
    store = Bindings()
    limits = dataclasses.replace(LIMITS, max_entries=100, rate=Rate(per_s=1, burst=2, max_tenants=2))
    outcomes = [store.hold([bytes([n]) * 32], "east", TAG, limits, 0) for n in range(3)]
    assert outcomes == [Outcome.CREATED, Outcome.CREATED, Outcome.LIMITED]
    assert store.hold([B], "east", OTHER_TAG, limits, 0) is Outcome.CREATED
    assert store.hold([A], "east", TAG, limits, 1) is Outcome.CREATED
    assert store.hold([bytes(32)], "west", TAG, limits, 1) is Outcome.REBOUND


def test_a_reload_with_other_limits_keeps_what_is_held() -> None:
    store = Bindings()
    store.hold([A], "east", TAG, LIMITS, 0)
    shorter = dataclasses.replace(LIMITS, ttl_s=5, max_entries=1)
    assert store.bound_to([A], shorter, 4) == "east"
    assert store.hold([B], "east", TAG, shorter, 4) is Outcome.FULL
    assert store.bound_to([A], shorter, 5) is None


def test_a_binding_under_an_older_secret_is_found_and_moved_under_the_current_one() -> None:
    store = Bindings()
    store.hold([B], "east", TAG, LIMITS, 0)
    assert store.bound_to([A, B], LIMITS, 1) == "east"
    assert store.hold([A, B], "east", TAG, LIMITS, 1) is Outcome.REUSED
    assert store.bound_to([A], LIMITS, 2) == "east"
    assert store.bound_to([B], LIMITS, 2) is None
    assert len(store) == 1


def test_of_two_bindings_the_current_secret_s_counts() -> None:
    store = Bindings()
    store.hold([A], "east", TAG, LIMITS, 0)
    store.hold([B], "west", TAG, LIMITS, 0)
    assert store.bound_to([A, B], LIMITS, 1) == "east"


def test_a_binding_moved_over_an_expired_one_expires_in_its_turn() -> None:
    store = Bindings()
    store.hold([A], "east", TAG, LIMITS, 0)
    store.hold([B], "west", TAG, LIMITS, 8)
    store.hold([A, B], "west", TAG, LIMITS, 11)
    store.hold([b"c" * 32], "west", TAG, LIMITS, 12)
    assert store.sweep(LIMITS, 21) == 1
    assert store.bound_to([b"c" * 32], LIMITS, 21) == "west"


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["e", "w"]), st.floats(0, 6)), max_size=40))
def test_the_table_agrees_with_a_plain_dictionary(uses: list[tuple[int, str, float]]) -> None:
    store, model, now = Bindings(), dict[bytes, tuple[str, float]](), 0.0
    limits = Limits(ttl_s=10, max_entries=5, rate=Rate(per_s=1, burst=1000))
    for n, site, pause in uses:
        now += pause
        key = bytes([n]) * 32
        model = {held: row for held, row in model.items() if now - row[1] < 10}
        expected = model[key][0] if key in model else None
        assert store.bound_to([key], limits, now) == expected
        if store.hold([key], site, TAG, limits, now) is Outcome.FULL:
            assert len(model) == 5
            assert key not in model
        else:
            model[key] = (site, now)
        assert len(store) <= 5


def test_20_000_sessions_stay_within_a_few_megabytes() -> None:
    limits = Limits(rate=Rate(burst=100_000))
    tracemalloc.start()
    store = Bindings()
    before, _ = tracemalloc.get_traced_memory()
    for n in range(30_000):
        store.hold([n.to_bytes(32, "big")], "east", TAG, limits, n / 1e6)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(store) == 20_000
    assert after - before < 8_000_000


def test_what_is_kept_is_keys_and_candidates_only() -> None:
    store = Bindings()
    store.hold([A], "sha256:candidate", TAG, LIMITS, 0)
    assert "tenant" not in repr(store)
    assert "conversation" not in repr(store)


class TestCreations:
    def test_a_tenant_s_tokens_come_back_with_time(self) -> None:
        counts, rate = Creations(), Rate(per_s=2, burst=2)
        assert [counts.may_create(TAG, rate, now) for now in (0, 0, 0, 0.4, 0.5, 0.6, 1.0)] == [
            True, True, False, False, True, False, True,
        ]  # fmt: skip

    def test_more_tenants_than_fit_are_not_counted_and_not_let_in(self) -> None:
        counts, rate = Creations(), Rate(per_s=1, burst=5, max_tenants=2)
        assert [counts.may_create(bytes([n]) * 16, rate, 0) for n in range(3)] == [True, True, False]
        assert counts.may_create(bytes([2]) * 16, rate, 2)
        assert len(counts) == 1

    @pytest.mark.parametrize("tenants", [1, 50])
    def test_the_table_of_tenants_is_bounded(self, tenants: int) -> None:
        counts, rate = Creations(), Rate(per_s=1, burst=2, max_tenants=8)
        for n in range(400):
            counts.may_create(bytes([n % tenants]) * 16, rate, n / 10)
            assert len(counts) <= 8
