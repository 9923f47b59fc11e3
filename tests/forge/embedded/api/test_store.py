"""The store numbers writes, keeps their history, and comes back from disk as it was."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from forge.embedded.api.journal import Journal
from forge.embedded.api.status import ApiError
from forge.embedded.api.store import Store
from forge.embedded.api.values import Json, Key

A, B = Key("configmaps", "default", "a"), Key("configmaps", "default", "b")


def document(name: str, value: str = "1") -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {"k": value}}


def names(store: Store, version: int) -> list[str]:
    return [f"{r.key.name}={r.object['data']['k']}" for r in store.at("configmaps", version)]


def test_every_write_has_the_next_version_in_its_metadata() -> None:
    store = Store()
    first, second = store.put(A, document("a")), store.put(B, document("b"))
    assert (first.version, second.version) == (2, 3)
    assert second.object["metadata"]["resourceVersion"] == "3"


def test_events_say_what_was_before() -> None:
    store = Store()
    store.put(A, document("a"))
    store.put(A, document("a", "2"))
    store.remove(A)
    seen = [
        (e.type, e.version, e.previous.version if e.previous else None) for e in store.since("configmaps", 1)
    ]
    assert seen == [("ADDED", 2, None), ("MODIFIED", 3, 2), ("DELETED", 4, 3)]


def test_a_list_at_an_older_version_is_rebuilt() -> None:
    store = Store()
    store.put(A, document("a"))
    store.put(B, document("b"))
    store.put(A, document("a", "2"))
    store.remove(B)
    assert [names(store, v) for v in (1, 2, 3, 4, 5)] == [
        [],
        ["a=1"],
        ["a=1", "b=1"],
        ["a=2", "b=1"],
        ["a=2"],
    ]


def test_order_is_that_of_paths_not_of_names() -> None:
    store = Store()
    for namespace in ("a", "a-b"):
        store.put(Key("configmaps", namespace, "x"), {"metadata": {"name": "x"}})
    assert [r.key.namespace for r in store.records("configmaps")] == ["a-b", "a"]


def test_history_is_trimmed_and_says_so() -> None:
    store = Store(retained=8)
    for value in range(40):
        store.put(A, document("a", str(value)))
    assert 8 <= store.version - store.compacted <= 10
    assert store.since("configmaps", store.compacted)[0].version == store.compacted + 1


@pytest.mark.parametrize("retained", [10_000, 4], ids=["all of its history", "a trimmed history"])
def test_a_store_comes_back_as_it_was(tmp_path: Path, retained: int) -> None:
    journal = Journal(tmp_path / "s")
    store = Store(journal, retained)
    for value in range(12):
        store.put(A, document("a", str(value)))
        store.put(B, document("b", str(value)))
    store.remove(B)
    expected = (store.version, store.compacted, names(store, store.version), names(store, store.version - 2))
    journal.close()
    again = Journal(tmp_path / "s")
    back = Store(again, retained)
    assert (
        back.version,
        back.compacted,
        names(back, back.version),
        names(back, back.version - 2),
    ) == expected
    again.close()


def test_a_version_is_never_given_twice_after_a_trim(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "s")
    store = Store(journal)
    store.put(A, document("a"))
    store.remove(A)
    store.compact()
    journal.close()
    again = Journal(tmp_path / "s")
    assert Store(again).version == 3
    again.close()


def test_a_write_that_the_disk_refuses_changes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "store.sqlite")
    store = Store(journal)
    heard: list[str] = []
    store.subscribe(lambda event: heard.append(event.type))
    store.put(A, document("a"))
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as other:
        other.execute("ALTER TABLE events RENAME TO away")
        with pytest.raises(ApiError, match="the cluster's store takes no write"):
            store.put(A, document("a", "2"))
        with pytest.raises(ApiError):
            store.remove(A)
        other.execute("ALTER TABLE away RENAME TO events")
    assert (names(store, store.version), store.version, heard) == (["a=1"], 2, ["ADDED"])
    store.put(A, document("a", "3"))
    journal.close()
    again = Store(Journal(tmp_path / "store.sqlite"))
    assert (names(again, again.version), again.version) == (["a=3"], 3)


@pytest.mark.parametrize("durable", [True, False])
def test_the_history_is_bounded_in_bytes_too(tmp_path: Path, durable: bool) -> None:
    journal = Journal(tmp_path / "store.sqlite") if durable else None
    store = Store(journal, most_bytes=50_000)
    for number in range(100):
        store.put(A, document("a", f"{number}" + "x" * 5_000))
        held = sum(len(e.record.body) for e in store.since("configmaps", store.compacted))
        assert held <= 50_000
    assert len(store.since("configmaps", store.compacted)) >= 4
    assert names(store, store.version)[0].startswith("a=99x")
    store.put(B, document("b", "y" * 90_000))
    assert [e.version for e in store.since("configmaps", store.compacted)] == [store.version]
    if journal is not None:
        journal.close()
        again = Store(Journal(tmp_path / "store.sqlite"), most_bytes=50_000)
        assert (again.version, again.compacted) == (store.version, store.compacted)
        assert len(again.since("configmaps", again.compacted)) == 1
