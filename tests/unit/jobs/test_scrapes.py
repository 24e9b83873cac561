"""What a scrape brings after each of these events: every sample that is not 0, as tests/golden/outputs/metrics.txt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

import pyarrow as pa
import pytest
from prometheus_client.registry import Collector

from builders.status_rows import Row, status_rows
from fakes.clusters import MemoryTopic
from fakes.metrics_site import XY, Watched
from fakes.reconciler_site import ORDERS, mirrored_site
from offset_sync.jobs.endpoint import Gauges, ReportMetrics
from offset_sync.model.values import State, TopicPartition
from offset_sync.status.report import Report
from offset_sync.tables.catalog import SYNC_DRIFT
from tools.golden_output import expect
from tools.prometheus_scrape import read

REFUSED = "GROUP_AUTHORIZATION_FAILED"
NOON = datetime(2027, 1, 1, 12, tzinfo=timezone.utc)
UNTOLD = "_bucket{"


def samples(collectors: Iterable[Collector]) -> list[str]:
    """Return the samples of ours that are not 0, but for UNTOLD."""
    lines = [line for line in read([*collectors]).text.splitlines() if line.startswith("offset_sync_")]
    told = [line.rpartition(" ") for line in lines if UNTOLD not in line]
    return sorted(f"  {name[12:]} {round(float(value), 2):g}" for name, _, value in told if float(value))


class Told(Watched):
    """A driver whose clusters answer from memory, and what it has told at each step."""

    def __init__(self) -> None:
        super().__init__(mirrored_site())
        self.lines = list[str]()

    def commit(self, offset: int, cluster: str = "X", group: str = "readers", place: TopicPartition = ORDERS) -> None:
        self.site.commit(cluster, group, offset, place)

    def after(self, seconds: float, what: str) -> None:
        self.site.pass_time(int(seconds * 1000))
        self.lines += [f"{what}; {seconds:g} s later", *samples(self.metrics.collectors())]


def arrives(told: Told) -> None:
    told.commit(4)
    told.site.read("X")
    told.site.pass_time(1_500)
    for _ in range(3):
        told.reconcile()
    told.after(60, "a commit has arrived after 1.5 s")
    told.commit(5)
    told.site.read("X")
    told.after(7, "another one waits")
    told.reconcile()
    told.commit(5)
    told.site.read("X")
    told.after(2, "the same offset is committed again")
    told.reconcile()
    told.after(13 * 3_600, "and has arrived")
    for _ in range(4):
        told.reconcile()
    told.after(1, "it is refreshed, which is no latency")
    told.site.clusters["X"].forget("readers", ORDERS)
    told.site.read("X")
    told.after(1, "its offset is deleted")


def fails(told: Told) -> None:
    told.site.clusters["Y"].refused["readers"] = REFUSED
    for offset in (3, 4, 5):
        told.commit(offset)
        told.reconcile()
        told.site.pass_time(10_000)
    told.after(0, "three commits have failed, the oldest says how stale it is")
    told.restart()
    told.after(9, "a new driver, which has not seen it arrive")
    told.site.clusters["Y"].refused.clear()
    told.reconcile()
    told.after(1, "it is allowed")
    told.site.clusters["Y"].forget("readers", ORDERS)
    told.site.clusters["Y"].refused["readers"] = REFUSED
    told.site.pass_time(3_600_000)
    told.reconcile()
    told.after(5, "the target has lost it, and refuses it")


def is_withheld(told: Told) -> None:
    told.site.clusters["Y"].topics["orders"] = MemoryTopic("recreated")
    told.commit(4)
    told.commit(4, group="console-consumer-1")
    told.commit(4, place=TopicPartition("other", 0))
    told.reconcile()
    told.after(4, "the topic was recreated; another group and topic are not synced")
    assert {*told.scrape().values("withheld", "reason", **XY)} == {each.name for each in State if each.is_withheld}


def status(*rows: Row) -> list[Row]:
    return status_rows(*({"source_cluster": "a", "target_cluster": "b", **row} for row in rows))


def drift(*rows: Row) -> pa.Table:
    plain = {"at": NOON, "source_cluster": "a", "target_cluster": "b", "drift": 0, "is_converged": True}
    return pa.Table.from_pylist([plain | row for row in rows], SYNC_DRIFT.arrow_schema)


REPORTS = {
    "partitions by status": (
        status(*[{"status": "Behind"}] * 3, {"status": "InSync"}, {"status": "Withheld"}),
        drift(),
    ),
    "what would be lost is added up; the mirror is as late as its oldest record": (
        status(
            {"lost": 9, "not_mirrored": 7, "mirror_lag_ms": 1000},
            {"lost": 4, "not_mirrored": 4, "mirror_lag_ms": 2000},
            {"source_cluster": "c", "lost": 1},
        ),
        drift(),
    ),
    "the newest drift of a pair": (
        status({}, {"source_cluster": "c"}),
        drift(
            {"drift": 12, "windowed_change": -7, "is_converged": False},
            {"drift": 99, "windowed_change": 9, "at": datetime(2027, 1, 1, 11, tzinfo=timezone.utc)},
            {"group_id": "g1", "is_converged": False},
            {"source_cluster": "c", "windowed_change": 0},
        ),
    ),
}


def test_a_scrape_is_what_the_golden_file_has() -> None:
    stories: tuple[Callable[[Told], None], ...]
    stories = (arrives, fails, is_withheld)
    lines = ["# sync_offsets"]
    for story in stories:
        told = Told()
        story(told)
        lines += ["", *told.lines]
    now = [1000.0]
    metrics = ReportMetrics(lambda: now[0])
    told_reports = [Gauges(metrics.gauges)]
    now[0] += 40
    lines += ["", "# report_status", "", "before the first report; 40 s later", *samples(told_reports)]
    for title, (rows, series) in REPORTS.items():
        metrics.show(Report(rows, series, NOON))
        now[0] += 5
        lines += ["", f"{title}; 5 s later", *samples(told_reports)]
    expect("metrics.txt", "\n".join(lines))
    statuses = {"InSync", "Mirroring", "Behind", "Stalled", "Withheld", "TargetActive"}
    scraped = read(told_reports)
    assert {*scraped.values("report_positions", "status", source="c", target="b")} == statuses, "also those that are 0"


def test_a_reconciliation_is_recorded_first_and_a_mistake_in_counting_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told()
    told.commit(4)
    told.site.reconcile()
    told.metrics._stale_since.clear()
    told.metrics.append(told.site.reconciliations[-1])
    assert told.recorded == told.site.reconciliations[-1:]
    assert "a reconciliation was not counted" in caplog.text
