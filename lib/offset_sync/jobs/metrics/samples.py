"""What a scrape is made of: samples of catalogued metrics, counters and distributions that grow between scrapes."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as _Family

from offset_sync.jobs.metrics.catalog import Metric

Family = _Family
"""A metric with its samples of one scrape."""
LONGEST_LABEL = 200
"""Characters of a group or topic that a label shows; Kafka allows 32,767."""


def to_label(name: str) -> str:
    """Return *name* as a label's value: not too long, and without what would break the text format.

    Quotes, backslashes and line ends are escaped by the client library. Two names may become one.
    """
    shown = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
    return "".join("\ufffd" if unicodedata.category(each) in _BREAKING and each != "\n" else each for each in shown)


_BREAKING = ("Cc", "Cs")  # control characters and halves of surrogate pairs


class Distribution:
    """How often a value fell into each bucket. Threads may share it."""

    def __init__(self, buckets: tuple[float, ...]) -> None:
        self._bounds = np.array(buckets)
        self._counts = np.zeros(len(buckets) + 1, np.int64)
        self._sum = 0.0
        self._lock = threading.Lock()

    def add(self, values: ArrayLike) -> None:
        """Count *values*; one on a bound belongs to the bucket below, as in Prometheus."""
        numbers = np.asarray(values, np.float64).reshape(-1)
        counts = np.bincount(np.searchsorted(self._bounds, numbers, "left"), minlength=len(self._counts))
        with self._lock:
            self._counts += counts
            self._sum += float(numbers.sum())

    def cumulative(self) -> tuple[list[tuple[str, float]], float]:
        """Return (upper bound, values up to it) of every bucket, and the sum of all values."""
        with self._lock:
            counts, total = np.cumsum(self._counts), self._sum
        names = [*map(str, self._bounds.tolist()), "+Inf"]
        return list(zip(names, map(float, counts.tolist()), strict=True)), total


class Tally:
    """Counts that only grow, by label values. Threads may share it."""

    def __init__(self, labels: Iterable[tuple[str, ...]]) -> None:
        # All known label values are there from the start: what appears at 1 has not grown, to Prometheus.
        self._counts = dict.fromkeys(labels, 0)
        self._lock = threading.Lock()

    def add(self, count: int, *labels: str) -> None:
        """Add *count*."""
        with self._lock:
            self._counts[labels] = self._counts.get(labels, 0) + count

    def items(self) -> list[tuple[tuple[str, ...], int]]:
        """Return the counts."""
        with self._lock:
            return list(self._counts.items())


class Samples:
    """The samples of *metrics*; a second sample of the same labels is left out, for it would void the scrape."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._families: dict[Metric, Family] = {metric: _family(metric) for metric in metrics}
        self._seen: set[tuple[str, ...]] = set()

    def __iter__(self) -> Iterator[Family]:
        """Yield one family per metric, also where there is no sample."""
        return iter(self._families.values())

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a gauge's or a counter's value; ValueError where the labels are not those of the catalogue."""
        if self._is_first(metric, labels):
            family = self._families[metric]
            assert isinstance(family, (GaugeMetricFamily, CounterMetricFamily))
            family.add_metric(labels, float(value))

    def add_tally(self, metric: Metric, tally: Tally) -> None:
        """Add all counts of *tally*."""
        for labels, count in tally.items():
            self.add(metric, count, *labels)

    def add_distribution(self, metric: Metric, distribution: Distribution, *labels: str) -> None:
        """Add a histogram."""
        if self._is_first(metric, labels):
            family = self._families[metric]
            assert isinstance(family, HistogramMetricFamily)
            buckets, total = distribution.cumulative()
            family.add_metric(labels, buckets, total)

    def _is_first(self, metric: Metric, labels: tuple[str, ...]) -> bool:
        if len(labels) != len(metric.labels):
            raise ValueError(f"{metric.name}: {labels} are not the labels {metric.labels}; see metrics/catalogue.py")
        is_first = (metric.name, *labels) not in self._seen
        self._seen.add((metric.name, *labels))
        return is_first


def _family(metric: Metric) -> Family:
    kinds = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily, "histogram": HistogramMetricFamily}
    family: Family = kinds[metric.kind](metric.name, metric.help, labels=metric.labels)
    return family
