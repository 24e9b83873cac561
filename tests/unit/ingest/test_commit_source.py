"""The log of commits as a source: what a micro-batch reads, when it is planned, and who reads which share of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from builders.offset_records import commit_key, commit_value
from generators.hypothesis_strategies import law
from offset_sync.config import HIDDEN_NAMES
from offset_sync.ingest import commit_source
from offset_sync.ingest.commit_source import CommitSource, CommitStream, of_json, planned, shares, source_options
from offset_sync.ingest.decode_commits import UNREAD
from offset_sync.kafka.range_reader import Chunk, OffsetRange, UnreadError
from offset_sync.model.values import CONSUMER_OFFSETS, RecordContent, TopicPartition

ENDS = st.dictionaries(st.integers(0, 5), st.integers(0, 60), min_size=1)
LIMIT = ReadMaxRows(1)


@dataclass
class Tail:
    """A log whose ends are *now*, and *later* once somebody waits."""

    now: dict[int, int]
    later: dict[int, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    is_closed: bool = False

    def ends(self) -> dict[int, int]:
        return dict(self.now)

    def wait(self, ends: Mapping[int, int], seconds: float) -> None:
        assert ends == self.now
        self.waits.append(seconds)
        self.now |= self.later

    def close(self) -> None:
        self.is_closed = True


@dataclass
class Clock:
    """Time that passes only while somebody sleeps."""

    now: float = 0.0
    sleeps: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(round(seconds, 3))
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(commit_source, "time", clock)
    return clock


def stream(tail: Tail, *, most: int = 100, interval_s: float = 1.0) -> CommitStream:
    options = source_options("dc1", {"sasl.password": "s"}, partitions=2, most=most, tasks=2, interval_s=interval_s)
    found = CommitSource(dict(options)).streamReader(None)  # type: ignore[arg-type]
    found._tail = tail  # type: ignore[assignment]
    return found


def ended(made: CommitStream, start: Mapping[int, int]) -> dict[int, int]:
    return of_json(made.latestOffset({CONSUMER_OFFSETS: {str(n): each for n, each in start.items()}}, LIMIT))


def test_what_is_there_is_planned_at_once() -> None:
    tail = Tail({0: 5, 1: 7})
    assert ended(stream(tail), {}) == {0: 5, 1: 7}
    assert tail.waits == []


def test_where_nothing_is_new_it_waits_and_takes_what_has_come() -> None:
    tail = Tail({0: 5, 1: 7}, later={1: 8})
    assert ended(stream(tail), {0: 5, 1: 7}) == {0: 5, 1: 8}
    assert len(tail.waits) == 1


def test_where_nothing_comes_the_offset_is_the_same_text() -> None:
    """Spark compares texts: another one would be a micro-batch without records."""
    made = stream(Tail({10: 7, 2: 5}))
    first = made.latestOffset(made.initialOffset(), LIMIT)
    assert json.dumps(made.latestOffset(json.loads(json.dumps(first)), LIMIT)) == json.dumps(first)


@pytest.mark.parametrize(("took_s", "pause"), [(0.05, 0.2), (0.25, 0.025), (3.0, 0.3), (30.0, 1.0)])
def test_the_next_one_is_planned_a_quarter_of_the_interval_later_or_after_a_tenth_of_what_the_last_one_took(
    clock: Clock, took_s: float, pause: float
) -> None:
    tail = Tail({0: 1})
    made = stream(tail)
    ended(made, {})
    clock.now += took_s
    tail.now = {0: 2}
    assert ended(made, {0: 1}) == {0: 2}
    assert clock.sleeps == [pause]


def test_what_is_there_now_is_read_and_nothing_after_it() -> None:
    tail = Tail({0: 5})
    made = stream(tail, most=3)
    made.prepareForTriggerAvailableNow()
    tail.now = {0: 9}
    assert ended(made, {}) == {0: 3}
    assert ended(made, {0: 3}) == ended(made, {0: 5}) == {0: 5}
    assert tail.waits == []


def test_without_a_limit_all_is_read() -> None:
    assert of_json(stream(Tail({0: 500}), most=3).latestOffset({}, ReadAllAvailable())) == {0: 500}


def test_of_a_log_that_was_cut_the_new_end_is_planned_and_of_one_that_is_gone_nothing() -> None:
    assert ended(stream(Tail({0: 3})), {0: 5, 1: 9}) == {0: 3}


@law(200)
@given(ENDS, st.integers(1, 50))
def test_micro_batches_read_every_offset_once_and_come_to_an_end(ends: dict[int, int], most: int) -> None:
    position, batches = dict[int, int](), 0
    while position != ends:
        following = planned(position, ends, most)
        read = {number: end - position.get(number, 0) for number, end in following.items()}
        assert all(each >= 0 for each in read.values())
        assert all(end <= ends[number] for number, end in following.items())
        assert min(most, sum(ends.values()) - sum(position.values())) <= sum(read.values()) < most + len(ends)
        position, batches = following, batches + 1
    assert batches <= sum(ends.values()) // most + 2


@law(200)
@given(ENDS, ENDS, st.integers(0, 4))
def test_each_log_is_read_by_one_task(start: dict[int, int], end: dict[int, int], tasks: int) -> None:
    found = shares(start, end, tasks)
    read = sorted(each for share in found for each in share)
    assert read == sorted((n, (start.get(n, 0), last)) for n, last in end.items() if last > start.get(n, 0))
    assert len(found) == min(max(1, tasks), len(read))


class Reader:
    """A log of which the end cannot be read."""

    def __init__(self, *_arguments: object) -> None:
        pass

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        key, value = commit_key("g", "orders", 0), commit_value(5, committed_at_ms=1)
        for place, each in ranges.items():
            yield [(place, RecordContent(each.start, 5, key, value, ()))]
        raise UnreadError("dc1", dict.fromkeys(ranges, "the log ends at offset 4"))


def test_a_task_says_what_it_has_read_and_which_logs_not_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_source, "RangeReader", Reader)
    made = stream(Tail({}))
    (share,) = made.partitions({}, {CONSUMER_OFFSETS: {"7": 9}})
    rows = [row for batch in made.read(InputPartition(share.value)) for row in batch.to_pylist()]
    assert [(row["kind"], row["log_partition"], row["log_offset"], row["error"]) for row in rows] == [
        ("commit", 7, 0, None),
        (UNREAD, 7, None, "the log ends at offset 4"),
    ]


def test_secrets_stand_in_an_option_that_spark_hides() -> None:
    options = source_options("dc1", {"sasl.password": "s3"}, partitions=2, most=9, tasks=2, interval_s=1.0)
    (name,) = [name for name, value in options.items() if "s3" in value]
    assert re.search(HIDDEN_NAMES, name)


def test_what_is_open_is_closed() -> None:
    tail = Tail({})
    stream(tail).stop()
    assert tail.is_closed
