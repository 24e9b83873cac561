"""Gauges whose labels are bounded: aliases of clusters, words of ``model.values``, the worst groups and topics.

docs/metrics.md names every metric.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Mapping
from operator import itemgetter

from prometheus_client.core import GaugeMetricFamily

LONGEST_LABEL = 200
"""Characters of a group or topic that a label shows; Kafka allows 32,767."""
_BREAKING = ("Cc", "Cs")  # control characters and halves of surrogate pairs


def gauge(name: str, documentation: str, *labels: str, value: float | None = None) -> GaugeMetricFamily:
    """Return one of our gauges, without labels with its *value*, else without samples."""
    return GaugeMetricFamily(f"offset_sync_{name}", documentation, value, labels or None)


def add_worst(family: GaugeMetricFamily, values: Mapping[tuple[str, ...], float], worst: int) -> None:
    """Add at most *worst* samples, the largest *values* above 0; keys are labels, the last one a user's name.

    If names become the same label the larger value is shown: a second sample would void the scrape.
    """
    shown: dict[tuple[str, ...], float] = {}
    for labels, value in heapq.nlargest(worst, values.items(), key=itemgetter(1)):
        shown.setdefault((*labels[:-1], to_label(labels[-1])), value)
    for labels, value in shown.items():
        if value > 0:
            family.add_metric(labels, value)


def to_label(name: str) -> str:
    """Return *name* as a label's value: not too long, and without characters that would break the text format.

    Quotes, backslashes and line ends are escaped by the client library. Two names may become one.
    """
    shown = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
    return "".join("\ufffd" if unicodedata.category(each) in _BREAKING and each != "\n" else each for each in shown)
