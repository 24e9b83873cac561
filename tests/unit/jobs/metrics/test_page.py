"""docs/metrics.md is what the jobs really tell, no more and no less."""

from __future__ import annotations

import re
from datetime import datetime, timezone

import pyarrow as pa
import pytest

from builders.logs import log
from builders.status_rows import status_table
from fakes.reconciler_site import Site, config_of, mirrored_site
from offset_sync.jobs.metrics.logs import IndexSizes, LogWatch
from offset_sync.jobs.metrics.positions import OUTCOME_NAMES, Positions
from offset_sync.jobs.metrics.report import OTHER, REASONS, ReportMetrics
from offset_sync.jobs.metrics.sync import RECORD_KINDS, JobHealth, SyncMetrics
from offset_sync.kafka.requests import Reach
from offset_sync.model.values import State, TopicPartition
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.rehearsals import LastRehearsal
from offset_sync.status.report import Report
from offset_sync.tables.catalog import SYNC_DRIFT
from tools.prometheus_expressions import PAGE, described, needs_promtool, run_promtool, series
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


def watched(site: Site) -> Scrape:
    """Return all that sync_offsets tells of *site*."""
    metrics = SyncMetrics(site.config)
    for reconciliation in site.reconciliations:
        metrics.count(reconciliation)
    cluster, now = Growing(), [0.0]
    watch = LogWatch(site.config, dict.fromkeys(site.config.clusters, cluster), site.index, lambda: now[0])
    watch.check()
    now[0] = 30.0
    watch.check()
    health = JobHealth(site.config.clusters, lambda: True, dict, lambda: None)
    positions = Positions(site.state, metrics.waiting, 20)
    return read([health, metrics, positions, IndexSizes(site.index, site.config.clusters), watch])


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
    site.pass_time(1_000)
    for cluster in site.offsets.clusters.values():
        cluster.clock.keep(7_000)
    return site


def reported() -> Scrape:
    metrics = ReportMetrics(config_of(["a", "b"]))
    pair = {"source_cluster": "a", "target_cluster": "b"}
    costs = {"duplicates": 1, "lost": 1, "staleness_ms": 1, "mirror_lag_by_origin": '{"a": 1}'}
    drift = {"at": NOON, "group_id": None, "drift": 1, "windowed_change": 1, "is_converged": True}
    series = pa.Table.from_pylist([pair | drift], SYNC_DRIFT.arrow_schema)
    rehearsal = LastRehearsal("a", "b", NOON, 1, 1, 0, None)
    metrics.show(Report(status_table(pair | costs), series, NOON, rehearsals=[rehearsal]))
    return read([metrics])


@pytest.mark.parametrize("part", ["sync_offsets", "report_status"])
def test_a_job_tells_exactly_what_the_page_says(part: str) -> None:
    scraped = watched(busy_site(1)) if part == "sync_offsets" else reported()
    assert scraped.labels() == series(described(part))
    assert scraped.kinds == {each.name: (each.kind, each.text) for each in described(part)}
    for each in described(part):
        bounds = scraped.values(f"{each.name.removeprefix('offset_sync_')}_bucket", "le")
        assert tuple(float(bound) for bound in bounds if bound != "+Inf") == each.buckets


@needs_promtool
def test_prometheus_can_read_what_both_jobs_tell() -> None:
    site = busy_site(1)
    site.commit("X", 'ev"il\\\n} 1 \x00 group', 4)
    site.read("X")
    for scraped in (watched(site), reported()):
        run_promtool("check", "metrics", given=scraped.text)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("outcome", OUTCOME_NAMES),
        ("state", [state.name for state in State if not state.is_withheld]),
        ("reason", [*REASONS, OTHER]),
        ("status", STATUS_WORDS),
        ("kind", RECORD_KINDS),
        ("why", ["not_mirrored", "deleted"]),
    ],
)
def test_the_page_lists_the_values_of_a_label(label: str, words: list[str]) -> None:
    (row,) = re.findall(rf"^\| `{label}` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(words)
