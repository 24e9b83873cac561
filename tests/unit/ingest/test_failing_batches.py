"""A micro-batch that fails three times is named, with the record that is to blame; and so is a full disk."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from builders.record_schemas import MIRRORED_RECORDS
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.failing_batches import TIMES, FailingBatches
from offset_sync.ingest.query_errors import with_full_disk
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import OffsetRange, TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 1)
READS = "orders-0 from 0 to 400, pay-1 from 3 to 400"


class Step:
    """Reads 400 records of either partition; fails at some offsets of orders."""

    def __init__(self, *bad: int) -> None:
        self.bad, self.tried, self.forgotten = bad, 0, 0

    def forget_plan(self) -> None:
        self.forgotten += 1

    def ranges(self, _batch_id: int) -> OffsetRanges:
        return {PAY: OffsetRange(3, 400), ORDERS: OffsetRange(0, 400), TopicPartition("idle", 0): OffsetRange(7, 7)}

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        for place in ranges:
            rows = [{"topic": place.topic, "partition": place.partition, "offset": offset} for offset in range(400)]
            yield pa.RecordBatch.from_pylist(rows, MIRRORED_RECORDS)

    def try_rows(self, rows: pa.RecordBatch) -> None:
        self.tried += 1
        places = zip(rows["topic"].to_pylist(), rows["offset"].to_pylist(), strict=True)
        if wrong := [offset for topic, offset in places if topic == "orders" and offset in self.bad]:
            raise ValueError(f"cannot take {wrong[0]}\nand more lines")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def fail(step: Step, times: int = TIMES, problem: Exception | None = None) -> None:
    problem = problem or ValueError("a bug")

    def refuse(_batch: object, _batch_id: int) -> None:
        raise problem

    failing = FailingBatches("dc1", step)
    for _ in range(times):
        # A query that is restarted is guarded again.
        with pytest.raises(type(problem)):
            failing.guard(refuse, step)(MagicMock(), 17)


def test_the_third_failure_names_the_record_and_no_other_does(caplog: pytest.LogCaptureFixture) -> None:
    step = Step(237, 300)
    fail(step, TIMES - 1)
    assert (said(caplog), step.tried) == ([], 0)
    fail(step, TIMES + 3)
    assert said(caplog) == [
        f"clusters.dc1: micro-batch 17 has failed 3 times: a bug; it reads {READS}; it fails at orders-0 offset 237: "
        "cannot take 237"
    ]


@pytest.mark.parametrize(
    ("problem", "forgotten"),
    [
        (OtherClusterError("dc1", "another id"), 1),
        (RuntimeError("PythonException: offset_sync.model.errors.OtherClusterError: clusters.dc1: another id"), 1),
        (ClusterError("dc1", "no answer"), 0),
    ],
    ids=["of the driver", "of a task", "of a silent cluster"],
)
def test_a_micro_batch_that_another_cluster_has_planned_is_not_repeated(problem: Exception, forgotten: int) -> None:
    fail(step := Step(), 1, problem)
    assert step.forgotten == forgotten


JAVA = "java.io.IOException: No space left on device"


def test_the_folder_that_is_full_is_named_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = str(tmp_path / "checkpoints")

    def statvfs(place: str) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if place == full else 1 << 20, f_frsize=4096, f_favail=9, f_files=10)

    monkeypatch.setattr(os, "statvfs", statvfs)
    told = with_full_disk(JAVA, [str(tmp_path / "tables"), f"file://{full}"])
    assert told == f"the disk is full: make room in {full} ({JAVA})"
