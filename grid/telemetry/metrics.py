"""Counters, gauges and histograms with closed label sets, cheap enough for the request path.

Adding to a metric is a dictionary lookup and an integer addition; only a scrape builds prometheus-client
families. Every process here has one event loop and one thread that writes, so nothing is locked.

A label is a Label with the values it may take, known when the process or its configuration is loaded;
anything else counts as `other`. That is the whole defence against a client that writes our time series for
us.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds. Inference has answers of 5 ms (errors) and of minutes; two buckets a decade are enough to see
# either.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

Reading = Callable[[], Mapping[tuple[str, ...], float]]


@dataclass(slots=True)
class Label:
    """name: as it is scraped. values: those it may take beside `other`; grows with the configuration only."""

    name: str
    values: set[str] = field(default_factory=set)

    def admit(self, values: Iterable[str]) -> None:
        """Adds values a new configuration brought. Old ones stay: their series must not vanish under a
        graph."""
        self.values.update(values)


class Counter:
    """Counts up. `add("GET", "2xx")` takes its labels in the order they were declared."""

    def __init__(self, name: str, help_: str, *labels: Label) -> None:
        self.name, self.help, self.labels = name, help_, labels
        self._cells: dict[tuple[str, ...], list[float]] = {}

    def add(self, *labels: str, by: float = 1) -> None:
        (self._cells.get(labels) or self.cell(*labels))[0] += by

    def cell(self, *labels: str) -> list[float]:
        """The one number for *labels*, to be kept and added to where even `add` is too slow."""
        return self._cells.setdefault(closed(self.labels, labels), [0.0])

    def value(self, *labels: str) -> float:
        cell = self._cells.get(labels)
        return 0 if cell is None else cell[0]

    def family(self) -> Metric:
        made = CounterMetricFamily(self.name, self.help, labels=[label.name for label in self.labels])
        for labels, cell in self._cells.items():
            made.add_metric(labels, cell[0])
        if not self.labels and not self._cells:
            made.add_metric((), 0)
        return made


class Gauge:
    """A present value, set or read at the scrape from *read* (label values -> value)."""

    def __init__(self, name: str, help_: str, *labels: Label, read: Reading | None = None) -> None:
        self.name, self.help, self.labels = name, help_, labels
        self._values: dict[tuple[str, ...], float] = {}
        self._read = read

    def set(self, value: float, *labels: str) -> None:
        self._values[closed(self.labels, labels)] = value

    def family(self) -> Metric:
        made = GaugeMetricFamily(self.name, self.help, labels=[label.name for label in self.labels])
        read = {} if self._read is None else {closed(self.labels, k): v for k, v in self._read().items()}
        for labels, value in {**self._values, **read}.items():
            made.add_metric(labels, value)
        return made


class Tally:
    """values: appended to, and counted all at once by `fold`: by whoever appends, once they are many, and by
    each scrape."""

    __slots__ = ("_bounds", "_row", "values")

    def __init__(self, row: list[float], bounds: tuple[float, ...]) -> None:
        self.values: list[float] = []
        self._row, self._bounds = row, bounds

    def fold(self) -> None:
        """As if each value had been observed when it came."""
        values, row = self.values, self._row
        if not values:
            return
        row[-1] = sum(values, row[-1])
        values.sort()
        below = 0
        for index, bound in enumerate(self._bounds):
            upto = bisect_right(values, bound, below)
            row[index] += upto - below
            below = upto
            if below == len(values):
                break
        row[-2] += len(values) - below
        values.clear()


class Histogram:
    """A distribution over *bounds* (upper, inclusive, ascending) and +Inf."""

    def __init__(self, name: str, help_: str, *labels: Label, bounds: tuple[float, ...] = SECONDS) -> None:
        self.name, self.help, self.labels, self.bounds = name, help_, labels, bounds
        self._rows: dict[tuple[str, ...], list[float]] = {}
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def observe(self, value: float, *labels: str) -> None:
        row = self._rows.get(labels) or self._row(labels)
        row[bisect_left(self.bounds, value)] += 1
        row[-1] += value

    def cell(self, *labels: str) -> Callable[[float], None]:
        """`observe` for *labels* alone, to be kept where the look-up is too slow."""
        row, bounds = self._row(labels), self.bounds

        def observe(value: float) -> None:
            row[bisect_left(bounds, value)] += 1
            row[-1] += value

        return observe

    def tally(self, *labels: str) -> Tally:
        """The values of *labels*, where even `observe` is too slow."""
        key = closed(self.labels, labels)
        if key not in self._tallies:
            self._tallies[key] = Tally(self._row(key), self.bounds)
        return self._tallies[key]

    def _row(self, labels: tuple[str, ...]) -> list[float]:
        return self._rows.setdefault(closed(self.labels, labels), [0.0] * (len(self.bounds) + 2))

    def family(self) -> Metric:
        made = HistogramMetricFamily(self.name, self.help, labels=[label.name for label in self.labels])
        for tally in self._tallies.values():
            tally.fold()
        for labels, row in self._rows.items():
            made.add_metric(labels, list(self._cumulative(row)), row[-1])
        return made

    def _cumulative(self, row: list[float]) -> Iterator[tuple[str, float]]:
        total = 0.0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), row, strict=False):
            total += count
            yield bound, total


M = TypeVar("M", Counter, Gauge, Histogram)


class Metrics:
    """All metrics of one process, in the order they were declared; `scrape()` is the exposition as bytes."""

    def __init__(self) -> None:
        self._all: dict[str, Counter | Gauge | Histogram] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def counter(self, name: str, help_: str, *labels: Label) -> Counter:
        return self._keep(Counter(name, help_, *labels))

    def gauge(self, name: str, help_: str, *labels: Label, read: Reading | None = None) -> Gauge:
        return self._keep(Gauge(name, help_, *labels, read=read))

    def histogram(
        self, name: str, help_: str, *labels: Label, bounds: tuple[float, ...] = SECONDS
    ) -> Histogram:
        return self._keep(Histogram(name, help_, *labels, bounds=bounds))

    def collect(self) -> Iterator[Metric]:
        for metric in self._all.values():
            yield metric.family()

    def scrape(self) -> bytes:
        return generate_latest(self._registry)

    def _keep(self, metric: M) -> M:
        if metric.name in self._all:
            raise ValueError(f"metric {metric.name} is declared twice")
        self._all[metric.name] = metric
        return metric


def closed(labels: tuple[Label, ...], values: tuple[str, ...]) -> tuple[str, ...]:
    """*values* with those a label may not take replaced by `other`. Raises ValueError on a wrong count."""
    return tuple(
        value if value in label.values else OTHER for label, value in zip(labels, values, strict=True)
    )
