"""The catalogue is what the jobs really tell, no more and no less, and the page about it is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from builders.logs import log
from fakes.reconciler_site import Site, config_of, mirrored_site
from metrics_page import to_markdown
from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.catalog import CATALOGUE, OF_REPORT_STATUS, OF_SYNC_OFFSETS, Metric
from offset_sync.jobs.metrics.group_collector import Positions
from offset_sync.jobs.metrics.log_collector import IndexSizes, LogWatch
from offset_sync.jobs.metrics.log_stalls import Reach
from offset_sync.jobs.metrics.report_collector import ReportMetrics
from offset_sync.jobs.metrics.sync_collector import SyncMetrics
from offset_sync.model.values import TopicPartition
from offset_sync.tables.report_tables import SYNC_DRIFT, SYNC_STATUS
from tools.prometheus_expressions import needs_promtool, run_promtool, series
from tools.prometheus_scrape import Scrape, read

PAGE = Path(__file__).parents[4] / "docs" / "metrics.md"
PLACE = TopicPartition("pay-1", 0)
LABELS = {"part", "version", "cluster", "source", "target", "outcome", "state", "reason", "status", "kind", "why"}
LABELS |= {"origin", "group_id", "topic"}


class Growing:
    """A cluster whose log grows behind an open transaction."""

    def __init__(self) -> None:
        self.high = 5

    def reaches(self, is_wanted: object, deadline: float) -> dict[TopicPartition, Reach]:
        self.high += 1

        class At:
            stable, high = 4, self.high

        return {PLACE: At()}


def watched(site: Site) -> Scrape:
    """Return all that sync_offsets tells of *site*."""
    metrics = SyncMetrics(site.config)
    for reconciliation in site.reconciliations:
        metrics.count(reconciliation)
    cluster = Growing()
    watch = LogWatch(site.config, dict.fromkeys(site.config.clusters, cluster), site.index)
    watch.check()
    watch.check()
    positions = Positions(site.state, metrics.waiting, 20)
    return read([metrics, positions, IndexSizes(site.index, list(site.config.clusters)), watch])


def busy_site(groups: int) -> Site:
    """Return a site where every metric has something to tell, of so many groups."""
    site = mirrored_site()
    site.put(log("X", "X0:5 Y0:5"), PLACE)
    site.put(log("Y", "Y0:5 X0:5"), PLACE)
    for number in range(groups):
        site.clusters["Y"].refused[f"failing {number}"] = "GROUP_AUTHORIZATION_FAILED"
        site.commit("X", f"failing {number}", 4, PLACE)
        site.commit("X", f"repeating {number}", 4, PLACE)
    site.reconcile()
    for cluster in site.offsets.clusters.values():
        cluster.clock.keep(7_000)
    return site


def reported() -> Scrape:
    metrics = ReportMetrics(config_of(["a", "b"]))
    row = {"source_cluster": "a", "target_cluster": "b", "group_id": "g", "topic": "t", "partition": 0}
    cost = {"status": "Withheld", "duplicates": 1, "lost": 1, "staleness_ms": 1, "mirror_lag_by_origin": '{"a": 1}'}
    series = {"drift": 1, "windowed_change": 1, "is_converged": True}
    metrics.observe_report(
        pa.Table.from_pylist([row | cost], SYNC_STATUS.arrow_schema),
        pa.Table.from_pylist([row | series | {"group_id": None}], SYNC_DRIFT.arrow_schema),
    )
    return read([metrics])


def test_sync_offsets_tells_exactly_what_the_catalogue_says() -> None:
    assert watched(busy_site(1)).labels() == series(OF_SYNC_OFFSETS)


def test_report_status_tells_exactly_what_the_catalogue_says() -> None:
    assert reported().labels() == series(OF_REPORT_STATUS)


@needs_promtool
def test_prometheus_can_read_what_both_jobs_tell() -> None:
    site = busy_site(1)
    site.commit("X", 'ev"il\\\n} 1 \x00 group', 4)
    site.read("X")
    for scraped in (watched(site), reported()):
        run_promtool("check", "metrics", given=scraped.text)


def test_a_hundred_times_the_groups_make_no_more_series_than_the_worst_that_are_named() -> None:
    few, many = (len(watched(busy_site(groups))) for groups in (20, 2_000))
    assert many == few


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_wants_it_and_its_labels_are_bounded(metric: Metric) -> None:
    assert re.fullmatch(r"offset_sync_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert bool(metric.buckets) == (metric.kind == "histogram")
    assert set(metric.labels) <= LABELS
    assert metric.help
    assert not metric.help.endswith(".")


def test_every_metric_that_is_defined_is_in_the_catalogue_once() -> None:
    defined = [value for value in vars(catalog).values() if isinstance(value, Metric)]
    assert sorted(metric.name for metric in defined) == sorted(metric.name for metric in CATALOGUE)
    assert len({metric.name for metric in CATALOGUE}) == len(CATALOGUE)


def test_the_page_about_metrics_is_up_to_date() -> None:
    command = "PYTHONPATH=lib .venv/bin/python -m metrics_page > docs/metrics.md"
    assert PAGE.read_text(encoding="utf-8") == to_markdown(), f"run: {command}"
