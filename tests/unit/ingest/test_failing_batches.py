"""A micro-batch that fails three times: one line with what it reads, and with the record that is to blame."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from builders.record_schemas import CONSUMER_OFFSETS, MIRRORED_RECORDS
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.failing_batches import TIMES, FailingBatches
from offset_sync.model.errors import ClusterError, OtherClusterError, UnknownVersionError
from offset_sync.model.values import OffsetRange, TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 1)
READS = "orders-0 from 0 to 400, pay-1 from 3 to 400"


class Step:
    """Fails at some offsets of orders, or, from *fails_from* records at once on, at any."""

    def __init__(self, *bad: int, fails_from: int = 1 << 40) -> None:
        self.bad, self.fails_from, self.tried, self.forgotten = bad, fails_from, 0, 0

    def forget_plan(self) -> None:
        self.forgotten += 1

    def ranges(self, batch_id: int) -> OffsetRanges:
        return {PAY: OffsetRange(3, 400), ORDERS: OffsetRange(0, 400), TopicPartition("idle", 0): OffsetRange(7, 7)}

    def try_rows(self, rows: pa.RecordBatch) -> None:
        self.tried += 1
        topics = rows["topic"].to_pylist() if "topic" in rows.schema.names else ["orders"] * rows.num_rows
        places = zip(topics, rows["offset"].to_pylist(), strict=True)
        if wrong := [offset for topic, offset in places if topic == "orders" and offset in self.bad]:
            raise ValueError(f"cannot take {wrong[0]}\nand more lines")
        if rows.num_rows >= self.fails_from:
            raise MemoryError


class Again:
    """Reads 400 records of either partition, or cannot."""

    error: Exception | None = None
    schema = MIRRORED_RECORDS

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        for place in ranges:
            rows = [{"topic": place.topic, "partition": place.partition, "offset": offset} for offset in range(400)]
            yield pa.RecordBatch.from_pylist(rows, self.schema)
        if self.error is not None:
            raise self.error


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def fail(step: Step, again: Again, times: int = TIMES, problem: Exception | None = None) -> None:
    def refuse(_batch: object, _batch_id: int) -> None:
        raise problem or ValueError("a bug")

    failing = FailingBatches("dc1", again)
    for _ in range(times):
        # A query that is restarted is guarded again.
        with pytest.raises(type(problem or ValueError())):
            failing.guard(refuse, step)(MagicMock(), 17)


def test_the_third_failure_names_the_record_and_no_other_does(caplog: pytest.LogCaptureFixture) -> None:
    step = Step(237, 300)
    fail(step, Again(), TIMES - 1)
    assert (said(caplog), step.tried) == ([], 0)
    fail(step, Again(), TIMES + 3)
    assert said(caplog) == [
        f"clusters.dc1: micro-batch 17 has failed 3 times: a bug; it reads {READS}; it fails at orders-0 offset 237: "
        "cannot take 237"
    ]
    assert step.tried < 30


def test_where_no_record_is_to_blame_it_says_so(caplog: pytest.LogCaptureFixture) -> None:
    fail(Step(), Again())
    assert said(caplog)[0].endswith("; each record of it can be read and decoded, so none is to blame")


def test_where_it_takes_many_together_the_stretch_is_named(caplog: pytest.LogCaptureFixture) -> None:
    fail(Step(fails_from=100), Again())
    assert "; it fails at pay-1 the offsets from 0 to 99: MemoryError" in said(caplog)[0]


def test_a_log_that_cannot_be_read_leaves_it_open(caplog: pytest.LogCaptureFixture) -> None:
    again = Again()
    again.error = ClusterError("dc1", "orders-0 cannot be read")
    fail(Step(), again)
    assert said(caplog)[0].endswith("whether a record is to blame is not known: clusters.dc1: orders-0 cannot be read")


def test_what_names_its_place_itself_is_not_looked_for(caplog: pytest.LogCaptureFixture) -> None:
    step = Step(5)
    fail(step, Again(), problem=UnknownVersionError("clusters.dc1: update"))
    assert said(caplog) == [f"clusters.dc1: micro-batch 17 has failed 3 times: clusters.dc1: update; it reads {READS}"]
    assert step.tried == 0


def test_a_plan_that_cannot_be_read_hides_nothing(caplog: pytest.LogCaptureFixture) -> None:
    step = Step()
    step.ranges = MagicMock(side_effect=OSError("no disk"))  # type: ignore[method-assign]
    fail(step, Again())
    assert said(caplog)[0].endswith("failed 3 times: a bug; what it reads is not known: no disk")


def test_another_micro_batch_and_one_that_went_well_restart(caplog: pytest.LogCaptureFixture) -> None:
    problems: list[Exception | None] = []

    def take(_batch: object, _batch_id: int) -> None:
        if (problem := problems.pop(0)) is not None:
            raise problem

    guarded = FailingBatches("dc1", Again()).guard(take, Step())
    for batch_id, problem in (
        (1, OSError()),
        (1, OSError()),
        (2, OSError()),
        (2, OSError()),
        (2, None),
        (2, OSError()),
    ):
        problems.append(problem)
        if problem is None:
            guarded(MagicMock(), batch_id)
        else:
            with pytest.raises(OSError):
                guarded(MagicMock(), batch_id)
    assert said(caplog) == []


def test_a_record_of_consumer_offsets_is_named_by_its_partition(caplog: pytest.LogCaptureFixture) -> None:
    again = Again()
    again.schema = CONSUMER_OFFSETS
    fail(Step(3), again)
    assert "; it fails at __consumer_offsets-1 offset 3: cannot take 3" in said(caplog)[0]


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
    fail(step := Step(), Again(), 1, problem)
    assert step.forgotten == forgotten
