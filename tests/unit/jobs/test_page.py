"""docs/metrics.md is what the jobs really tell, no more and no less."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from builders.logs import log
from builders.status_rows import status_rows
from fakes.metrics_site import Watched
from fakes.reconciler_site import mirrored_site
from offset_sync.jobs.endpoint import Gauges, ReportMetrics
from offset_sync.jobs.watches import LogWatch
from offset_sync.kafka.requests import Reach
from offset_sync.model.values import TopicPartition
from offset_sync.status.report import Report
from offset_sync.tables.catalog import SYNC_DRIFT
from tools.prometheus_expressions import described, needs_promtool, run_promtool, series
from tools.prometheus_scrape import Scrape, read

PLACE = TopicPartition("pay-1", 0)
NOON = datetime(2027, 1, 1, 12, tzinfo=timezone.utc)


class Growing:
    """A cluster whose log grows behind an open transaction."""

    def __init__(self) -> None:
        self.high = 5

    def reaches(self, is_wanted: object, deadline: float) -> dict[TopicPartition, Reach]:
        self.high += 1
        return {PLACE: Reach(4, self.high)}


def told_by_sync() -> Scrape:
    """Return all that sync_offsets tells, where every metric has something to tell."""
    told, cluster = Watched(mirrored_site()), Growing()
    told.site.put(log("X", "X0:5 Y0:5"), PLACE)
    told.site.put(log("Y", "Y0:5 X0:5"), PLACE)
    told.site.clusters["Y"].refused["failing"] = "GROUP_AUTHORIZATION_FAILED"
    for group in ("failing", "repeating"):
        told.site.commit("X", group, 4, PLACE)
    told.reconcile()
    told.site.pass_time(1_000)
    config = told.site.config
    watch = LogWatch(config, dict.fromkeys(config.clusters, cluster), told.site.index)
    for seconds in (0.0, 30.0):
        watch.check(seconds)
    health = Gauges(lambda: told.metrics.health(True, None, ()))
    return read([*told.metrics.collectors(), health, Gauges(watch.gauges)])


def told_by_reports() -> Scrape:
    metrics = ReportMetrics()
    pair = {"source_cluster": "a", "target_cluster": "b"}
    costs = {"duplicates": 1, "lost": 1, "staleness_ms": 1}
    drift = {"at": NOON, "group_id": None, "drift": 1, "windowed_change": 1, "is_converged": True}
    series = pa.Table.from_pylist([pair | drift], SYNC_DRIFT.arrow_schema)
    metrics.show(Report(status_rows(pair | costs), series, NOON))
    return read([Gauges(metrics.gauges)])


TOLD = {"sync_offsets": told_by_sync, "report_status": told_by_reports}


@pytest.mark.parametrize("part", TOLD)
def test_a_job_tells_exactly_what_the_page_says(part: str) -> None:
    scraped = TOLD[part]()
    assert scraped.labels() == series(described(part))
    assert scraped.kinds == {each.name: (each.kind, each.text) for each in described(part)}
    for each in described(part):
        bounds = scraped.values(f"{each.name.removeprefix('offset_sync_')}_bucket", "le")
        assert tuple(float(bound) for bound in bounds if bound != "+Inf") == each.buckets


@needs_promtool
@pytest.mark.parametrize("part", TOLD)
def test_prometheus_can_read_what_both_jobs_tell(part: str) -> None:
    run_promtool("check", "metrics", given=TOLD[part]().text)
