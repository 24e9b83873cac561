"""What sync_offsets says while it works: counts since the last time, reasons to withhold, worst staleness."""

from __future__ import annotations

import pytest

from fakes.clusters import MemoryTopic
from fakes.metrics_site import WORST
from fakes.reconciler_site import Site, mirrored_site
from offset_sync.jobs.job_output import SyncSummary
from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import CountedHistory, SyncMetrics
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler


class Job:
    """A site whose reconciliations are counted as the job counts them."""

    def __init__(self, site: Site) -> None:
        self.site, self.metrics = site, SyncMetrics(site.config)
        history = CountedHistory(site.reconciliations, self.metrics)
        site.reconciler = Reconciler(
            site.config, site.state, site, site.writers, history, ReadLists(site.config, site.state, {})
        )
        self.summary = SyncSummary(site.state, self.metrics, Positions(site.state, self.metrics.waiting, WORST))


@pytest.fixture
def job() -> Job:
    return Job(mirrored_site())


def test_when_caught_up_it_says_what_is_known(job: Job) -> None:
    job.site.commit("X", "readers", 4)
    job.site.commit("X", "others", 4)
    job.site.read_all()
    assert job.summary.caught_up() == "every commit log is read to its end: syncing 2 partitions of 2 groups"


def test_a_summary_counts_what_has_happened_since_the_one_before(job: Job) -> None:
    job.site.commit("X", "readers", 4)
    job.metrics.count_records("X", {"genuine": 1, "own": 0, "malformed": 0})
    job.site.reconcile()
    assert job.summary.minute() == (
        "since the last summary: 1 commits read, 1 answers (COMMITTED 1); withheld: none; "
        "worst staleness: X to Y 0 s, Y to X 0 s; the index has 2 runs of 2 logs"
    )
    assert job.summary.minute().startswith("since the last summary: 0 commits read, 0 answers; withheld: none")


def test_what_is_withheld_is_told_by_reason_and_grows_stale(job: Job) -> None:
    job.site.clusters["Y"].topics["orders"] = MemoryTopic("another id", 1)
    job.site.commit("X", "readers", 4)
    job.site.reconcile()
    job.site.pass_time(90_000)
    said = job.summary.minute()
    assert "withheld: TOPIC_RECREATED 1" in said
    assert "X to Y 1 min 30 s" in said
    ended = "done: 0 commits read, 1 answers (WITHHELD 1); withheld: TOPIC_RECREATED 1; the index has 2 runs of 2 logs"
    assert job.summary.ended() == ended
