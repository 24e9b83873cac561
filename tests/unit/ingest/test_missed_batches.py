"""Micro-batches that another driver took in: they do not come again, so the state loads them from the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob, Raw
from offset_sync.ingest import commit_ingester
from offset_sync.model.values import GroupPartition, TopicPartition
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState

Asked = list[tuple[dict[int, int], dict[int, int]]]


def commit(offset: int, group: str = "g") -> Raw:
    return commit_key(group, "orders", 0), commit_value(offset)


class Job(IngestingJob):
    """Each micro-batch reads ten offsets of partition 3; the checkpoint has forgotten those *before*."""

    before = 0
    done: int | None = None

    def last_committed(self) -> int | None:
        return self.done

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        if batch_id < self.before:
            raise FileNotFoundError(batch_id)
        return {TopicPartition("__consumer_offsets", 3): 10 * (batch_id + 1)}

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return self.end_offsets(batch_id - 1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What is loaded: each time a key of the group ``missed``."""
    asked: Asked = []

    def load(
        _: Any, state: SyncState, alias: str, since: Mapping[int, int], until: Mapping[int, int], lives: Any
    ) -> KeyRows:
        assert alias == "X"
        asked.append((dict(since), dict(until)))
        return np.asarray(state.offsets.ids([GroupPartition("missed", "orders", 0)]))

    monkeypatch.setattr(commit_ingester, "restore_missed", load)  # it reads a table with Spark
    return asked


def test_records_between_two_batches_are_loaded_and_reconciled_with_the_next(asked: Asked) -> None:
    job = Job()
    job.batch._ingester.note_taken_in(3)
    for batch_id in (4, 4, 5):  # which follow each other, or come again
        job.ingest(batch_id, commit(4))
    job.ingest(8, commit(7), first=80)
    assert asked == [({3: 60}, {3: 80})]
    assert job.reconciled[-2:] == [(["g"], 5), (["g", "missed"], 8)]


@pytest.mark.parametrize(("taken_in", "forgotten"), [(None, 0), (3, 30)])
def test_a_driver_that_starts_or_whose_last_batch_the_checkpoint_has_forgotten_loads_everything(
    asked: Asked, taken_in: int | None, forgotten: int
) -> None:
    job = Job()
    job.before = forgotten
    job.batch._ingester.note_taken_in(taken_in)
    job.ingest(40, commit(4))
    assert asked == [({}, {3: 400})]


def test_a_batch_that_failed_before_it_was_recorded_is_missed_when_another_driver_did_it(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job()
    job.batch._ingester.note_taken_in(3)
    with monkeypatch.context() as patched:
        patched.setattr(job.batch, "_record", lambda batch: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            job.ingest(4, commit(4))
    job.ingest(5, commit(5))
    assert asked == [({3: 40}, {3: 50})]


def test_a_cluster_counts_as_read_with_what_an_overtaken_driver_has_ended_since(asked: Asked) -> None:
    job = Job()
    ingester = job.batch._ingester
    ingester.note_taken_in(3)
    job.done = 5
    assert [ingester.has_all(job.state), ingester.has_all(job.state)] == [True, True]
    assert asked == [({3: 40}, {3: 60})], "once"
    job.ingest(6, commit(6))
    assert len(asked) == 1


def test_while_a_micro_batch_is_taken_in_it_is_unknown_whether_all_is_there(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, said = Job(), list[bool]()
    ingester = job.batch._ingester
    ingester.note_taken_in(3)
    job.done = 3
    decode = ingester.decode

    def look(*words: Any) -> Any:
        said.append(ingester.has_all(job.state))
        return decode(*words)

    monkeypatch.setattr(ingester, "decode", look)
    job.ingest(4, commit(4))
    assert (said, ingester.has_all(job.state), asked) == ([False], True, [])


def test_a_dry_run_and_a_checkpoint_without_a_batch_have_nothing_to_take_in(asked: Asked) -> None:
    job = Job()
    job.done = 5
    assert job.batch._ingester.has_all(job.state), "it was told of nothing"
    job.done = None
    job.batch._ingester.note_taken_in(None)
    assert job.batch._ingester.has_all(job.state)
    assert asked == []
