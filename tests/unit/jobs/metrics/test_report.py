"""A report as metrics: what is in it is told, added up once, and what left it is gone."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from builders.status_rows import Row, status_table
from fakes.reconciler_site import config_of
from offset_sync.jobs.metrics.report import ReportMetrics
from offset_sync.model.values import State
from offset_sync.status.report import Report
from offset_sync.tables.catalog import SYNC_DRIFT
from tools.prometheus_scrape import Scrape, read

AB = {"source": "a", "target": "b"}
NOON = datetime(2027, 1, 1, 12, tzinfo=timezone.utc)
PER_GROUP = ("report_group_duplicates", "report_group_lost", "report_group_staleness_seconds")
NOW = [1000.0]


def status(*rows: Row) -> pa.Table:
    return status_table(*({"source_cluster": "a", "target_cluster": "b", **row} for row in rows))


def drift(*rows: Row) -> pa.Table:
    plain = {"at": NOON, "source_cluster": "a", "target_cluster": "b", "drift": 0, "is_converged": True}
    return pa.Table.from_pylist([plain | row for row in rows], SYNC_DRIFT.arrow_schema)


@pytest.fixture
def metrics() -> ReportMetrics:
    config = config_of(["a", "b", "c"], metrics={"worst": 2})
    return ReportMetrics(config, lambda: NOW[0])


def shown(metrics: ReportMetrics, rows: pa.Table, series: pa.Table | None = None) -> Scrape:
    metrics.show(Report(rows, drift() if series is None else series, NOON))
    return read([metrics])


def test_partitions_are_counted_by_status_and_every_status_of_every_pair_is_there(metrics: ReportMetrics) -> None:
    scraped = shown(metrics, status(*[{"status": "Behind"}] * 3, {"status": "InSync"}))
    assert scraped.positive("report_positions", "status", **AB) == {"Behind": 3, "InSync": 1}
    known = {"InSync", "Mirroring", "Behind", "Stalled", "Withheld", "TargetActive"}
    assert set(scraped.values("report_positions", "status", source="c", target="a")) == known


def test_only_withheld_partitions_are_counted_by_reason(metrics: ReportMetrics) -> None:
    reasons = ["TOPIC_MISSING", "TOPIC_MISSING", None]
    rows = [{"status": "Withheld", "state": reason, "reason": "so"} for reason in reasons]
    scraped = shown(metrics, status(*rows, {"status": "Behind", "state": "NOT_INDEXED"}))
    assert scraped.positive("report_withheld", "reason", **AB) == {"TOPIC_MISSING": 2, "other": 1}
    all_reasons = {state.name for state in State if state.is_withheld} | {"other"}
    assert set(scraped.values("report_withheld", "reason", **AB)) == all_reasons


def test_what_a_move_would_cost_is_added_up_and_the_unknown_is_counted(metrics: ReportMetrics) -> None:
    scraped = shown(
        metrics,
        status(
            {"duplicates": 5, "lost": 9, "not_mirrored": 7, "staleness_ms": 1500},
            {"duplicates": 2, "lost": 4, "not_mirrored": 4, "staleness_ms": 0},
            {"duplicates": None},
            {"duplicates": 100, "source_cluster": "c", "lost": 1},
        ),
    )
    assert scraped.value("report_duplicates", **AB) == 7
    assert scraped.value("report_duplicates_worst", **AB) == 5
    assert scraped.value("report_unknown", **AB) == 1
    assert scraped.values("report_lost", "why", **AB) == {"not_mirrored": 11, "deleted": 2}
    assert scraped.value("report_staleness_seconds", **AB) == 1.5
    assert scraped.value("report_duplicates", source="c", target="b") == 100
    assert scraped.values("report_lost", "why", source="c", target="b") == {"not_mirrored": 0, "deleted": 1}


def test_the_mirror_is_judged_by_partitions_however_many_groups_read_them(metrics: ReportMetrics) -> None:
    rows = [
        {
            "group_id": group,
            "partition": partition,
            "mirror_lag_by_origin": '{"a": 4, "c": 1, "dc9": 2, "dc8": 1}',
            "mirror_lag_ms": 1000 * partition,
            "mirror_gaps": 3,
        }
        for group in ("g1", "g2", "g3")
        for partition in (0, 1)
    ]
    scraped = shown(metrics, status(*rows, {"partition": 2, "mirror_lag_by_origin": None}))
    lags = scraped.values("report_mirror_lag_records", "origin", **AB)
    assert lags == {"a": 8, "b": 0, "c": 2, "other": 6}
    assert scraped.value("report_mirror_lag_seconds", **AB) == 1
    assert scraped.value("report_mirror_gaps", **AB) == 6


def test_without_a_visible_mirror_no_lag_is_reported(metrics: ReportMetrics) -> None:
    assert shown(metrics, status({})).values("report_mirror_lag_records", "origin") == {}


def test_only_the_worst_groups_are_named_by_what_all_their_partitions_cost(metrics: ReportMetrics) -> None:
    rows = [{"group_id": f"g{n}", "duplicates": n, "lost": 10 - n, "staleness_ms": 1000 * (n % 3)} for n in range(10)]
    scraped = shown(metrics, status(*rows, {"group_id": "g1", "duplicates": 50, "partition": 1}))
    assert scraped.values("report_group_duplicates", "group_id", **AB) == {"g1": 51, "g9": 9}
    assert scraped.values("report_group_lost", "group_id", **AB) == {"g0": 10, "g1": 9}
    assert set(scraped.values("report_group_staleness_seconds", "group_id", **AB).values()) == {2.0}


def test_what_the_next_report_does_not_have_is_gone(metrics: ReportMetrics) -> None:
    old = {"group_id": "g", "duplicates": 4, "lost": 4, "staleness_ms": 4, "mirror_lag_by_origin": '{"z": 1}'}
    series = drift({"drift": 3, "windowed_change": 3})
    scraped = shown(metrics, status({"source_cluster": "old", "status": "Behind", **old}), series)
    assert scraped.value("report_duplicates", source="old", target="b") == 4
    scraped = shown(metrics, status())
    assert '"old"' not in scraped.text
    assert all(scraped.values(name, "group_id") == {} for name in PER_GROUP)
    assert scraped.values("report_drift", "source") == {}
    assert scraped.values("report_positions", "status", **AB)["InSync"] == 0


def test_the_drift_of_a_pair_is_its_row_without_a_group_and_groups_beyond_are_counted(metrics: ReportMetrics) -> None:
    scraped = shown(
        metrics,
        status(),
        drift(
            {"drift": 12, "windowed_change": -7, "is_converged": False},
            {"drift": 99, "windowed_change": 9, "at": datetime(2027, 1, 1, 11, tzinfo=timezone.utc)},
            {"group_id": "g1", "is_converged": False},
            {"group_id": "g2", "is_converged": False},
            {"group_id": "g3"},
            {"source_cluster": "c", "windowed_change": 0},
        ),
    )
    assert scraped.value("report_drift", **AB) == 12
    assert scraped.value("report_windowed_drift", **AB) == -7
    assert scraped.value("report_drift_converged", **AB) == 0
    assert scraped.value("report_groups_not_converged", **AB) == 2
    assert scraped.value("report_drift_converged", source="c", target="b") == 1
    assert scraped.value("report_groups_not_converged", source="c", target="b") == 0


def test_the_age_is_that_of_the_last_report_or_of_the_start(metrics: ReportMetrics) -> None:
    NOW[0] += 40
    assert read([metrics]).value("report_age_seconds") == 40
    shown(metrics, status())
    NOW[0] += 5
    assert read([metrics]).value("report_age_seconds") == 5
