"""The newest report as metrics: what report_status has found, until it finds something else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.catalog import Metric
from offset_sync.jobs.metrics.samples import Family, Samples, to_label
from offset_sync.model.values import State, Status
from offset_sync.status.report import Report
from offset_sync.status.rollup import newest_drift

STATUSES = tuple(status.word for status in Status)
REASONS = tuple(state.name for state in State if state.is_withheld)
OTHER = "other"
"""Stands for a status, reason or origin that is not known here, so that the labels stay bounded."""
Row = dict[str, Any]
_PAIR = ["source_cluster", "target_cluster"]
_OF_REPORTS = tuple(metric for metric in catalog.REPORT_METRICS if metric != catalog.REPORT_AGE)


class ReportMetrics:
    """Collects the metrics of the report that :meth:`observe_report` was given last; *clock* in monotonic seconds."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._aliases, self._worst, self._clock = list(config.clusters), config.metrics.worst, clock
        self._pairs = config.pairs()
        self._observed = clock()
        self._families: list[Family] = []
        self._lock = threading.Lock()

    def show(self, report: Report) -> None:
        """Show *report* at the next scrape, and the reports before no more."""
        self.observe_report(report.status, newest_drift(report.drift))

    def observe_report(self, status: pa.Table, drift: pa.Table) -> None:
        """Show a report: its rows of sync_status and of sync_drift; of a series in *drift* the last one counts.

        What only the report before had is not at the endpoint any more.
        """
        samples = Samples(_OF_REPORTS)
        self._add_counts(samples, status)
        self._add_costs(samples, status)
        self._add_mirror(samples, status)
        self._add_worst(samples, status)
        self._add_drift(samples, drift)
        with self._lock:
            self._families, self._observed = list(samples), self._clock()

    def collect(self) -> Iterable[Family]:
        """Return the last report and its age."""
        age = Samples([catalog.REPORT_AGE])
        with self._lock:
            age.add(catalog.REPORT_AGE, self._clock() - self._observed)
            return [*age, *self._families]

    def _add_counts(self, samples: Samples, status: pa.Table) -> None:
        is_withheld = pc.equal(status.column("status"), Status.WITHHELD.word)
        for metric, rows, column, known in (
            (catalog.REPORT_POSITIONS, status, "status", STATUSES),
            (catalog.REPORT_WITHHELD, status.filter(is_withheld), "state", REASONS),
        ):
            counts = {(*pair, word): 0 for pair in self._pairs for word in known}
            for row in _grouped(rows, [*_PAIR, column], ("target_cluster", "count")):
                labels = (*_pair_of(row), row[column] if row[column] in known else OTHER)
                counts[labels] = counts.get(labels, 0) + row["target_cluster_count"]
            for labels, count in counts.items():
                samples.add(metric, count, *labels)

    def _add_costs(self, samples: Samples, status: pa.Table) -> None:
        deleted = pc.subtract(status.column("lost"), pc.fill_null(status.column("not_mirrored"), 0))
        rows = status.append_column("deleted", deleted).append_column(
            "unknown", pc.is_null(status.column("duplicates"))
        )
        sums = [(name, "sum") for name in ("duplicates", "not_mirrored", "deleted", "unknown")]
        for row in _grouped(rows, _PAIR, *sums, ("duplicates", "max"), ("staleness_ms", "max")):
            pair = _pair_of(row)
            samples.add(catalog.REPORT_DUPLICATES, row["duplicates_sum"] or 0, *pair)
            samples.add(catalog.REPORT_DUPLICATES_WORST, row["duplicates_max"] or 0, *pair)
            samples.add(catalog.REPORT_UNKNOWN, row["unknown_sum"], *pair)
            samples.add(catalog.REPORT_LOST, row["not_mirrored_sum"] or 0, *pair, "not_mirrored")
            samples.add(catalog.REPORT_LOST, row["deleted_sum"] or 0, *pair, "deleted")
            samples.add(catalog.REPORT_STALENESS, (row["staleness_ms_max"] or 0) / 1000, *pair)

    def _add_mirror(self, samples: Samples, status: pa.Table) -> None:
        """Add up partitions, each once: every group's row repeats what is true of its partition."""
        lags: dict[tuple[str, str, str], int] = {}
        oldest_ms: dict[tuple[str, str], int] = {}
        gaps: dict[tuple[str, str], int] = {}
        wanted = (("mirror_lag_by_origin", "max"), ("mirror_lag_ms", "max"), ("mirror_gaps", "max"))
        for row in _grouped(status, [*_PAIR, "topic", "partition"], *wanted):
            pair = _pair_of(row)
            oldest_ms[pair] = max(oldest_ms.get(pair, 0), row["mirror_lag_ms_max"] or 0)
            gaps[pair] = gaps.get(pair, 0) + (row["mirror_gaps_max"] or 0)
            if row["mirror_lag_by_origin_max"] is None:
                continue  # not known
            for alias in self._aliases:
                lags.setdefault((*pair, alias), 0)
            for origin, records in json.loads(row["mirror_lag_by_origin_max"]).items():
                labels = (*pair, origin if origin in self._aliases else OTHER)
                lags[labels] = lags.get(labels, 0) + records
        for labels, records in lags.items():
            samples.add(catalog.REPORT_MIRROR_LAG, records, *labels)
        for pair in oldest_ms:
            samples.add(catalog.REPORT_MIRROR_SECONDS, oldest_ms[pair] / 1000, *pair)
            samples.add(catalog.REPORT_MIRROR_GAPS, gaps[pair], *pair)

    def _add_worst(self, samples: Samples, status: pa.Table) -> None:
        wanted = (("duplicates", "sum"), ("lost", "sum"), ("staleness_ms", "max"))
        groups = _grouped(status, [*_PAIR, "group_id"], *wanted)
        for metric, column, unit in (
            (catalog.REPORT_GROUP_DUPLICATES, "duplicates_sum", 1),
            (catalog.REPORT_GROUP_LOST, "lost_sum", 1),
            (catalog.REPORT_GROUP_STALENESS, "staleness_ms_max", 1000),
        ):
            self._add_worst_of(samples, metric, groups, column, unit)

    def _add_worst_of(self, samples: Samples, metric: Metric, groups: Sequence[Row], column: str, unit: int) -> None:
        named: dict[tuple[str, str], int] = {}
        for row in sorted(groups, key=lambda row: -(row[column] or 0)):
            pair = _pair_of(row)
            if row[column] and named.get(pair, 0) < self._worst:
                named[pair] = named.get(pair, 0) + 1
                samples.add(metric, row[column] / unit, *pair, to_label(row["group_id"]))

    def _add_drift(self, samples: Samples, drift: pa.Table) -> None:
        newest: dict[tuple[str, str, str | None], Row] = {}
        for row in drift.sort_by("at").to_pylist():
            series = (*_pair_of(row), row["group_id"])
            newest[series] = row
        diverged = dict.fromkeys((series[:2] for series in newest), 0)
        for (source, target, group_id), row in newest.items():
            if group_id is None:
                samples.add(catalog.REPORT_DRIFT, row["drift"], source, target)
                samples.add(catalog.REPORT_WINDOWED, row["windowed_change"], source, target)
                samples.add(catalog.REPORT_CONVERGED, row["is_converged"], source, target)
            else:
                diverged[source, target] += not row["is_converged"]
        for pair, count in diverged.items():
            samples.add(catalog.REPORT_DIVERGED, count, *pair)


def _grouped(rows: pa.Table, by: Sequence[str], *wanted: tuple[str, str]) -> list[Row]:
    found: list[Row] = rows.group_by(list(by)).aggregate(list(wanted)).to_pylist()
    return found


def _pair_of(row: Row) -> tuple[str, str]:
    return row["source_cluster"], row["target_cluster"]
