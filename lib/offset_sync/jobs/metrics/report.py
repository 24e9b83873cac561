"""The newest report of report_status as metrics, until the next one."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from offset_sync.config import Config
from offset_sync.jobs.metrics.gauges import add_worst, gauge
from offset_sync.model.values import State, Status
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import GROUP, PAIR, Report, newest_drift, roll_up

REASONS = tuple(state.name for state in State if state.is_withheld)
OTHER = "other"
"""For origins that are not configured clusters, and for a missing reason, so that labels stay bounded."""
Row = Mapping[str, Any]
Labels = tuple[str, ...]
_SUMS = {
    "duplicates": "records that all groups would read again if moved now",
    "unknown": "group partitions whose duplicates are not known",
    "mirror_gaps": "records of the target missing at the source, which has later ones",
}
_AGES = {
    "staleness": "longest time that the target has not had a commit's translation",
    "mirror_lag": "age of the oldest record not mirrored yet",
}
_LOST = {"not_mirrored": "not_mirrored", "deleted": "skipped"}
_OF_DRIFT = {
    "drift": ("drift", "f - g: offsets at the source minus those at the target"),
    "windowed_drift": ("windowed_change", "change of f - g over status.drift_window"),
    "drift_converged": ("is_converged", "1 while the windowed drift is within its threshold"),
}
_OF_GROUPS = {
    "duplicates": ("duplicates", 1, "duplicates of the worst groups"),
    "lost": ("lost", 1, "lost records of the worst groups"),
    "staleness_seconds": (
        "staleness_ms",
        1000,
        "staleness of the worst groups",
    ),
}


class ReportMetrics(Collector):
    """Collects the metrics of the last report, and its age; *clock* in monotonic seconds."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._aliases, self._worst, self._clock = list(config.clusters), config.metrics.worst, clock
        self._pairs = config.pairs()
        self._shown: tuple[float, list[Metric]] = clock(), []

    def show(self, report: Report) -> None:
        """Show *report* from the next scrape on, without series that only earlier reports had."""
        status, pairs = report.status, roll_up(report.status, PAIR).to_pylist()
        metrics = [
            self._positions(pairs),
            self._withheld(status),
            *_pair_gauges(status, pairs),
            self._mirror_lag(status),
            *self._worst_groups(roll_up(status, GROUP).to_pylist()),
            *_drift(newest_drift(report.drift).to_pylist()),
            *_rehearsed(report),
        ]
        self._shown = self._clock(), metrics

    def collect(self) -> Iterator[Metric]:
        """Return the last report and its age."""
        shown_at, metrics = self._shown
        yield gauge(
            "report_age_seconds", "time since the last report, or since the start", value=self._clock() - shown_at
        )
        yield from metrics

    def _positions(self, pairs: Iterable[Row]) -> Metric:
        counts: Counter[Labels] = Counter({(*pair, word): 0 for pair in self._pairs for word in STATUS_WORDS})
        for row in pairs:
            counts.update({(*_pair_of(row), word): row[word] for word in STATUS_WORDS})
        return _gauge("positions", "group partitions by status", counts, "status")

    def _withheld(self, status: pa.Table) -> Metric:
        counts: Counter[Labels] = Counter({(*pair, reason): 0 for pair in self._pairs for reason in REASONS})
        rows = status.filter(pc.equal(status["status"], Status.WITHHELD.word))
        for row in rows.group_by([*PAIR, "state"]).aggregate([([], "count_all")]).to_pylist():
            counts[*_pair_of(row), row["state"] or OTHER] += row["count_all"]
        return _gauge("withheld", "group partitions that are Withheld, by reason", counts, "reason")

    def _mirror_lag(self, status: pa.Table) -> Metric:
        """Sum over partitions, each once: every group's row repeats the values of its partition."""
        lags: Counter[Labels] = Counter()
        partitions = status.group_by([*PAIR, "topic", "partition"]).aggregate([("mirror_lag_by_origin", "max")])
        for row in partitions.to_pylist():
            if (by_origin := row["mirror_lag_by_origin_max"]) is None:
                continue  # not known
            pair = _pair_of(row)
            lags.update({(*pair, alias): 0 for alias in self._aliases})
            for origin, records in json.loads(by_origin).items():
                lags[*pair, origin if origin in self._aliases else OTHER] += records
        text = "records at the source that the target does not have yet"
        return _gauge("mirror_lag_records", text, lags, "origin")

    def _worst_groups(self, groups: Iterable[Row]) -> Iterator[Metric]:
        for name, (column, unit, text) in _OF_GROUPS.items():
            family = _gauge(f"group_{name}", text, {}, "group_id")
            values: dict[Labels, dict[Labels, float]] = {}
            for row in groups:
                pair = _pair_of(row)
                values.setdefault(pair, {})[*pair, row["group_id"]] = (row[column] or 0) / unit
            for of_pair in values.values():
                add_worst(family, of_pair, self._worst)
            yield family


def _pair_gauges(status: pa.Table, pairs: Iterable[Row]) -> Iterator[Metric]:
    for name, text in _SUMS.items():
        yield _gauge(name, text, {_pair_of(row): row[name] for row in pairs})
    for name, text in _AGES.items():
        yield _gauge(f"{name}_seconds", text, {_pair_of(row): (row[f"{name}_ms"] or 0) / 1000 for row in pairs})
    lost = {(*_pair_of(row), why): row[column] for row in pairs for why, column in _LOST.items()}
    text = "unread records that groups would never see if moved now"
    yield _gauge("lost", text, lost, "why")
    most = status.group_by(list(PAIR)).aggregate([("duplicates", "max")]).to_pylist()
    text = "duplicates of the worst group partition"
    yield _gauge("duplicates_worst", text, {_pair_of(row): row["duplicates_max"] or 0 for row in most})


def _drift(newest: Iterable[Row]) -> Iterator[Metric]:
    of_pairs = [row for row in newest if row["group_id"] is None]
    for name, (column, text) in _OF_DRIFT.items():
        yield _gauge(name, text, {_pair_of(row): row[column] for row in of_pairs})
    diverged = Counter({_pair_of(row): 0 for row in newest})
    diverged.update(_pair_of(row) for row in newest if row["group_id"] is not None and not row["is_converged"])
    yield _gauge("groups_not_converged", "groups whose windowed drift is beyond status.drift_threshold", diverged)


def _rehearsed(report: Report) -> Iterator[Metric]:
    counts, ages = dict[Labels, float](), dict[Labels, float]()
    for each in report.rehearsals:
        pair = each.source, each.target
        counts |= {(*pair, "failed"): each.failed, (*pair, "done"): each.partitions - each.failed}
        ages[pair] = (report.reported_at - each.at).total_seconds()
    yield _gauge("rehearsed", "partitions of each group's last rehearsal; failed: not as predicted", counts, "outcome")
    yield _gauge("rehearsal_age_seconds", "since the last rehearsal", ages)


def _gauge(name: str, text: str, values: Mapping[Labels, float], *labels: str) -> GaugeMetricFamily:
    family = gauge(f"report_{name}", text, "source", "target", *labels)
    for of_labels, value in values.items():
        family.add_metric(of_labels, value)
    return family


def _pair_of(row: Row) -> Labels:
    return row["source_cluster"], row["target_cluster"]
