"""When commits were made, by our clock; and a query starts only at the cluster that it was at before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob, Raw
from fakes.reconciler_site import config_of
from fakes.unchecked import UNCHECKED
from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_ingester import Reading
from offset_sync.ingest.index_parts import IndexParts
from offset_sync.jobs.commit_query import CommitQuery
from offset_sync.kafka.librdkafka import refuse_other
from offset_sync.model.errors import OtherClusterError
from offset_sync.model.values import ABSENT
from offset_sync.state import cluster_ids
from offset_sync.state.cluster_clock import Read
from offset_sync.tables.files import Files
from offset_sync.translate.index.runs import Int64s


def commit(offset: int) -> Raw:
    return commit_key("g", "orders", 0), commit_value(offset, committed_at_ms=1_700_000_000_000)


@pytest.fixture
def job() -> IngestingJob:
    return IngestingJob()


HOUR_MS = 3_600_000


class Dated:
    """A job whose clock a test turns; *most* records are in a micro-batch that leaves some for the next one."""

    def __init__(self, most: int) -> None:
        self.job, self.now_ms, self.number = IngestingJob(), 1_800_000_000_000, 0
        self.job.state.now_ms = lambda: self.now_ms
        self.job.batch._ingester._reading = Reading(UNCHECKED, most=most)

    def made(self, written_ms: int) -> int:
        """Take in a commit with that timestamp, ten seconds after the one before; return when it was made."""
        self.now_ms += 10_000
        self.job.ingest(self.number, commit(self.number), first=self.number, written_ms=written_ms)
        self.number += 1
        made_at = dict(self.job.commits("log_offset", "made_at"))[self.number - 1]
        return round(made_at.timestamp() * 1000)


ALL, SOME = 11, 10


@pytest.mark.parametrize("off_ms", [-HOUR_MS, HOUR_MS])
def test_a_commit_that_is_read_live_was_made_since_the_log_was_looked_at_before(off_ms: int) -> None:
    """Not before the micro-batch that precedes the last one had ended, and not after it is read."""
    dated = Dated(ALL)
    for _ in range(2):
        dated.made(dated.now_ms + off_ms)
    for _ in range(3):
        since_ms = dated.now_ms - 10_000
        assert since_ms <= dated.made(dated.now_ms + off_ms) <= dated.now_ms


def test_of_a_backlog_the_cluster_is_believed_but_for_what_is_to_come() -> None:
    dated = Dated(SOME)
    for _ in range(4):
        written_ms = dated.now_ms - HOUR_MS
        assert dated.made(written_ms) == written_ms
    assert dated.made(dated.now_ms + HOUR_MS) == dated.now_ms


def test_one_that_failed_and_comes_again_is_dated_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads all that there was, the one before it did not: what it reads may be old, at the second time too."""
    dated, since = Dated(SOME), list[int]()
    for _ in range(2):
        dated.made(dated.now_ms)
    made_ms = dated.job.state.made_ms

    def noted(alias: str, timestamp_ms: Int64s, read: Read) -> Int64s:
        since.append(read.since_ms)
        return made_ms(alias, timestamp_ms, read)

    monkeypatch.setattr(dated.job.state, "made_ms", noted)
    dated.job.batch._ingester._reading = Reading(UNCHECKED, most=ALL)
    dated.job.reconcile_errors = [RuntimeError("the first time")]
    with pytest.raises(RuntimeError):
        dated.made(dated.now_ms)
    dated.made(dated.now_ms)
    dated.made(dated.now_ms)
    assert [each == ABSENT for each in since] == [True, True, False]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    """X was the cluster id-1, and its addresses lead to id-2."""
    ids = {"X": "id-1"}
    monkeypatch.setattr(
        cluster_ids, "ask_by_new_client", lambda _config, alias, _s: refuse_other(alias, ids[alias], "id-2")
    )
    return config_of(["X", "Y"]).with_ids(ids)


def test_a_query_of_the_index_does_not_start_at_another_cluster(config: Config) -> None:
    parts: Any = SimpleNamespace(tables=SimpleNamespace(files=Files()))
    with pytest.raises(OtherClusterError):
        IndexParts.checkpoint(parts, config, "X")


def test_a_query_of_commits_does_not_start_at_another_cluster(config: Config, tmp_path: Any) -> None:
    run = SimpleNamespace(is_dry=True, lease=SimpleNamespace(renew=lambda: None))
    query: Any = SimpleNamespace(
        _parts=SimpleNamespace(config=config, run=run),
        _alias="X",
        _checkpoint=Checkpoint(Files(), str(tmp_path)),
        _is_polled=False,
        _records=lambda: None,
        is_gone=False,
    )
    with pytest.raises(OtherClusterError):
        CommitQuery.start(query)
    assert query.is_gone, "its commits are not waited for"
