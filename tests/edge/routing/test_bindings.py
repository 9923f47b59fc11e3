"""Bindings hold sessions where they are, for a bounded time, in bounded numbers, at a bounded rate."""

from __future__ import annotations

import dataclasses
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.routing.bindings import Binding, Bindings, Limits, Outcome
from edge.routing.creations import Creations, Rate

A, B = b"a" * 32, b"b" * 32
TAG, OTHER_TAG = b"t" * 16, b"u" * 16
LIMITS = Limits(ttl_s=10, max_entries=3, rate=Rate(per_s=1, burst=10, max_tenants=2))


def bound_to(store: Bindings, keys: list[bytes], limits: Limits, now: float) -> str | None:
    """keys: the session's under each secret, the current one's first."""
    found = find(store, keys, limits, now)
    return None if found is None else found.stable_id


def find(store: Bindings, keys: list[bytes], limits: Limits, now: float) -> Binding | None:
    return next((row for key in keys if (row := store.find(key, limits, now))), None)


def hold(
    store: Bindings, keys: list[bytes], stable_id: str, tag: bytes, limits: Limits, now: float
) -> Outcome:
    found = find(store, keys, limits, now)
    if found is None:
        return store.create(keys[0], stable_id, tag, limits, now)
    return store.renew(found, keys[0], stable_id, now)


def test_a_session_is_held_where_it_was_placed() -> None:
    store = Bindings()
    assert bound_to(store, [A], LIMITS, 0) is None
    assert hold(store, [A], "east", TAG, LIMITS, 0) is Outcome.CREATED
    assert bound_to(store, [A], LIMITS, 1) == "east"
    assert hold(store, [A], "east", TAG, LIMITS, 1) is Outcome.REUSED
    assert hold(store, [A], "west", TAG, LIMITS, 2) is Outcome.REBOUND
    assert bound_to(store, [A], LIMITS, 3) == "west"
    assert bound_to(store, [B], LIMITS, 3) is None


def test_a_binding_ends_when_it_has_not_been_used_for_its_ttl() -> None:
    store = Bindings()
    hold(store, [A], "east", TAG, LIMITS, 0)
    hold(store, [A], "east", TAG, LIMITS, 9)
    assert bound_to(store, [A], LIMITS, 18.9) == "east"
    assert bound_to(store, [A], LIMITS, 19) is None
    assert hold(store, [A], "west", TAG, LIMITS, 19) is Outcome.CREATED


def test_looking_changes_nothing() -> None:
    store = Bindings()
    hold(store, [A], "east", TAG, LIMITS, 0)
    for now in range(10):
        bound_to(store, [A], LIMITS, now)
    assert bound_to(store, [A], LIMITS, 10) is None


def test_a_full_table_ends_nobody_s_binding() -> None:
    store = Bindings()
    held = [bytes([n]) * 32 for n in range(3)]
    for key in held:
        hold(store, [key], "east", TAG, LIMITS, 0)
    assert hold(store, [A], "east", TAG, LIMITS, 1) is Outcome.FULL
    assert [bound_to(store, [key], LIMITS, 1) for key in held] == ["east"] * 3
    assert hold(store, [held[0]], "west", TAG, LIMITS, 1) is Outcome.REBOUND
    assert bound_to(store, [A], LIMITS, 1) is None


def test_expired_bindings_make_room_and_used_ones_stay() -> None:
    store = Bindings()
    for n in range(3):
        hold(store, [bytes([n]) * 32], "east", TAG, LIMITS, n)
    hold(store, [bytes(32)], "east", TAG, LIMITS, 5)  # the oldest is used again
    assert store.sweep(LIMITS, 12) == 2
    assert len(store) == 1
    assert bound_to(store, [bytes(32)], LIMITS, 12) == "east"


def test_a_tenant_begins_so_many_a_second_and_takes_none_from_another() -> None:
    store = Bindings()
    limits = dataclasses.replace(LIMITS, max_entries=100, rate=Rate(per_s=1, burst=2, max_tenants=2))
    outcomes = [hold(store, [bytes([n]) * 32], "east", TAG, limits, 0) for n in range(3)]
    assert outcomes == [Outcome.CREATED, Outcome.CREATED, Outcome.LIMITED]
    assert hold(store, [B], "east", OTHER_TAG, limits, 0) is Outcome.CREATED
    assert hold(store, [A], "east", TAG, limits, 1) is Outcome.CREATED
    assert hold(store, [bytes(32)], "west", TAG, limits, 1) is Outcome.REBOUND


def test_a_reload_with_other_limits_keeps_what_is_held() -> None:
    store = Bindings()
    hold(store, [A], "east", TAG, LIMITS, 0)
    shorter = dataclasses.replace(LIMITS, ttl_s=5, max_entries=1)
    assert bound_to(store, [A], shorter, 4) == "east"
    assert hold(store, [B], "east", TAG, shorter, 4) is Outcome.FULL
    assert bound_to(store, [A], shorter, 5) is None


def test_a_binding_under_an_older_secret_is_found_and_moved_under_the_current_one() -> None:
    store = Bindings()
    hold(store, [B], "east", TAG, LIMITS, 0)
    assert bound_to(store, [A, B], LIMITS, 1) == "east"
    assert hold(store, [A, B], "east", TAG, LIMITS, 1) is Outcome.REUSED
    assert bound_to(store, [A], LIMITS, 2) == "east"
    assert bound_to(store, [B], LIMITS, 2) is None
    assert len(store) == 1


def test_of_two_bindings_the_current_secret_s_counts() -> None:
    store = Bindings()
    hold(store, [A], "east", TAG, LIMITS, 0)
    hold(store, [B], "west", TAG, LIMITS, 0)
    assert bound_to(store, [A, B], LIMITS, 1) == "east"


def test_a_binding_moved_over_an_expired_one_expires_in_its_turn() -> None:
    store = Bindings()
    hold(store, [A], "east", TAG, LIMITS, 0)
    hold(store, [B], "west", TAG, LIMITS, 8)
    hold(store, [A, B], "west", TAG, LIMITS, 11)
    hold(store, [b"c" * 32], "west", TAG, LIMITS, 12)
    assert store.sweep(LIMITS, 21) == 1
    assert bound_to(store, [b"c" * 32], LIMITS, 21) == "west"


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["e", "w"]), st.floats(0, 6)), max_size=40))
def test_the_table_agrees_with_a_plain_dictionary(uses: list[tuple[int, str, float]]) -> None:
    store, model, now = Bindings(), dict[bytes, tuple[str, float]](), 0.0
    limits = Limits(ttl_s=10, max_entries=5, rate=Rate(per_s=1, burst=1000))
    for n, site, pause in uses:
        now += pause
        key = bytes([n]) * 32
        model = {held: row for held, row in model.items() if now - row[1] < 10}
        expected = model[key][0] if key in model else None
        assert bound_to(store, [key], limits, now) == expected
        if hold(store, [key], site, TAG, limits, now) is Outcome.FULL:
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
        hold(store, [n.to_bytes(32, "big")], "east", TAG, limits, n / 1e6)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(store) == 20_000
    assert after - before < 8_000_000


def test_what_is_kept_is_keys_and_candidates_only() -> None:
    store = Bindings()
    hold(store, [A], "sha256:candidate", TAG, LIMITS, 0)
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
