"""A few things at once, results in order: one thread more for each, up to a bound."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def together(work: Callable[[T], R], items: Sequence[T], limit: int) -> list[R]:
    """What *work* gives for each item. The first error it raises stops what has not begun and is raised
    once everything that had begun is over; errors that must not stop the rest are for *work* to give back."""
    if len(items) <= 1 or limit <= 1:
        return [work(item) for item in items]
    results: dict[int, R] = {}
    errors: list[BaseException] = []
    left = iter(range(len(items)))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                index = next(left, -1)
                if index < 0 or errors:
                    return
            try:
                results[index] = work(items[index])
            except BaseException as error:  # noqa: BLE001 - raised again below
                with lock:
                    errors.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(limit, len(items)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(items))]
