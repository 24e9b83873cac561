"""The newest report of report_status as metrics, until the next one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.metrics_core import Metric

from offset_sync.config import Config
from offset_sync.jobs.metrics.endpoint import gauge
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import PAIR, Report, newest_drift, roll_up

Row = Mapping[str, Any]
Labels = tuple[str, ...]


class ReportMetrics:
    """Collects the metrics of the last report, and its age; *clock* in monotonic seconds."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._pairs, self._clock = config.pairs(), clock
        self._shown: tuple[float, list[Metric]] = clock(), []

    def show(self, report: Report) -> None:
        """Show *report* from the next scrape on, without series that only earlier reports had."""
        pairs = roll_up(report.status, PAIR).to_pylist()
        positions: Counter[Labels] = Counter({(*pair, word): 0 for pair in self._pairs for word in STATUS_WORDS})
        for row in pairs:
            positions.update({(*_pair_of(row), word): row[word] for word in STATUS_WORDS})
        counted = _gauge("positions", "group partitions by status", positions, "status")
        drift = [row for row in newest_drift(report.drift).to_pylist() if row["group_id"] is None]
        self._shown = self._clock(), [counted, *_costs(pairs), *_drift(drift), _rehearsed(report)]

    def collect(self) -> Iterator[Metric]:
        """Return the last report and its age."""
        shown_at, metrics = self._shown
        age = self._clock() - shown_at
        yield gauge("report_age_seconds", "time since the last report, or since the start", value=age)
        yield from metrics


def _costs(pairs: Iterable[Row]) -> Iterator[Metric]:
    why = {"not_mirrored": "not_mirrored", "deleted": "skipped"}
    lost = {(*_pair_of(row), word): row[column] for row in pairs for word, column in why.items()}
    yield _gauge("lost", "unread records that groups would never see if moved now", lost, "why")
    lags = {_pair_of(row): (row["mirror_lag_ms"] or 0) / 1000 for row in pairs}
    yield _gauge("mirror_lag_seconds", "age of the oldest record not mirrored yet", lags)


def _drift(pairs: Iterable[Row]) -> Iterator[Metric]:
    change = {_pair_of(row): row["windowed_change"] for row in pairs}
    yield _gauge("windowed_drift", "change of f - g, offsets at source minus target, over ten minutes", change)
    is_within = {_pair_of(row): row["is_converged"] for row in pairs}
    yield _gauge("drift_converged", "1 while the windowed drift is within its threshold", is_within)


def _rehearsed(report: Report) -> Metric:
    counts = dict[Labels, float]()
    for each in report.rehearsals:
        pair = each.source, each.target
        counts |= {(*pair, "failed"): each.failed, (*pair, "done"): each.partitions - each.failed}
    return _gauge("rehearsed", "partitions of each group's last rehearsal; failed: not as predicted", counts, "outcome")


def _gauge(name: str, text: str, values: Mapping[Labels, float], *labels: str) -> Metric:
    family = gauge(f"report_{name}", text, "source", "target", *labels)
    for of_labels, value in values.items():
        family.add_metric(of_labels, value)
    return family


def _pair_of(row: Row) -> Labels:
    return row["source_cluster"], row["target_cluster"]
