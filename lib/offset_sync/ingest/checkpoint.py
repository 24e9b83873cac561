"""A streaming query's checkpoint: the id of the query, and the offsets that each micro-batch covers.

Spark writes a batch's end offsets before it runs the batch, and reuses them when the batch is repeated. So they are
exactly how far the batch reads, even where the last offsets hold no record.

After a power failure files that were not synced may be empty or truncated, and Spark refuses to start the query.
Without the newest plan Spark plans that micro-batch again, from the end of the one before: no record is skipped, and
some rows may be written twice, which changes nothing (design.md, invariant 3). The query gets a new id, because under
the old one the tables would skip the batch as a repetition although its end may differ. An older file that cannot be
read needs an operator.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from typing import TypeVar

from offset_sync.config import Config
from offset_sync.model.errors import OtherClusterError, TableError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import OffsetRange, Stop, TopicPartition
from offset_sync.spark import CHECKPOINT_FORMAT
from offset_sync.tables.files import Files

Offsets = dict[TopicPartition, int]
OffsetRanges = Mapping[TopicPartition, OffsetRange]

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_INITIAL = "sources/0/0"
_UNREADABLE = "unreadable"
_NO_OFFSET = "-"
DRIVER_MAX_RECORDS = 20_000
"""The driver handles up to so many records itself: the round trip to a Python worker takes longer than the work.

It collects no more rows than that from tasks.
"""


class Checkpoint:
    """The checkpoint directory of one query at the cluster *alias*; *names* map its topics to streams."""

    def __init__(self, files: Files, path: str, alias: str = "", names: Names = SAME_NAMES) -> None:
        self.path = path.rstrip("/")
        self._files, self._alias, self._names = files, alias, names
        # Read once: while its query runs Spark changes neither. On S3 each is two requests.
        self._plans, self._query_id = dict[int, Offsets](), ""

    def query_id(self) -> str:
        """Return the id of the query; a new checkpoint gets a new one."""
        self._query_id = self._query_id or str(json.loads(self._read("metadata"))["id"])
        return self._query_id

    def start_offsets(self, batch_id: int) -> Offsets:
        """Return where *batch_id* starts; partitions met for the first time are missing, except in batch 0."""
        return self._by_stream(self._start(batch_id))

    def _start(self, batch_id: int) -> Offsets:
        if batch_id > 0:
            return self._end(batch_id - 1)
        # What the source resolved `startingOffsets` to.
        return _parse(self._lines(_INITIAL)[1])

    def _by_stream(self, offsets: Offsets) -> Offsets:
        return {self._stream_of(place): each for place, each in offsets.items()}

    def name_of(self, log: TopicPartition) -> str:
        """Return the cluster's own name of *log*."""
        return f"{self._names.outside(self._alias, log.topic)}-{log.partition}"

    def _stream_of(self, place: TopicPartition) -> TopicPartition:
        return TopicPartition(self._names.inside(self._alias, place.topic), place.partition)

    def end_offsets(self, batch_id: int) -> Offsets:
        """Return the first offset of each partition that *batch_id* does not read.

        The plan is synced to disk when this returns, before any row is written: planned again, the micro-batch might
        end elsewhere and be skipped as a repetition.
        """
        return self._by_stream(self._end(batch_id))

    def _end(self, batch_id: int) -> Offsets:
        if batch_id not in self._plans:
            self._files.sync(f"{self.path}/offsets/{batch_id}")
            known = {number: ends for number, ends in self._plans.items() if abs(number - batch_id) == 1}
            self._plans = known | {batch_id: _parse(self._lines(f"offsets/{batch_id}")[2])}
        return self._plans[batch_id]

    def begin(self, verify: Callable[[], None]) -> None:
        """Repair it before its query is started; forget its plan if *verify* raises OtherClusterError."""
        try:
            verify()
        except OtherClusterError:
            self.forget_plan()
            raise
        self.repair()

    def repair(self) -> None:
        """Remove the newest files if a power failure left them empty or truncated; the query must not be running.

        Raises TableError with the remedy, and changes nothing, if another file that Spark needs cannot be read. Files
        of another format are left alone.
        """
        planned, done = self._numbers("offsets"), self._numbers("commits")
        damaged = self._damaged_plans(planned)
        gone = [f"commits/{number}" for number in done[-1:] if self._is_damaged(f"commits/{number}", lines=2)]
        if damaged and done and done[-1] == planned[-1] and not gone:
            gone = [f"commits/{done[-1]}"]
        is_nameless = self._is_nameless()
        if damaged or (is_nameless and planned):
            self._rename()
        elif is_nameless and "metadata" in self._files.names(self.path):
            gone.append("metadata")
        for name in [*gone, *damaged]:
            self._files.delete(f"{self.path}/{name}")
            logger.warning("%s/%s was empty or truncated, removed: its micro-batch is read again", self.path, name)
        self._forget()

    def forget_plan(self) -> None:
        """Have the micro-batch that is planned and not done planned again: it was planned at another cluster."""
        planned = self._last("offsets")
        if planned is None or planned == self.last_committed():
            return
        self._rename()
        for name in (f"offsets/{planned}", _INITIAL)[: 1 + (planned == 0)]:
            self._files.delete(f"{self.path}/{name}")
        self._forget()

    def _forget(self) -> None:
        self._plans, self._query_id = {}, ""

    def _rename(self) -> None:
        self._files.write_text(f"{self.path}/metadata", json.dumps({"id": str(uuid.uuid4())}))

    def _damaged_plans(self, planned: list[int]) -> list[str]:
        """Return the files to delete so that the newest micro-batch is planned again; none if its plan can be read."""
        needed = [f"offsets/{number}" for number in planned[-2:]]
        damaged = [name for name in needed if self._is_damaged(name, lines=3)]
        if damaged and damaged != needed[-1:]:
            raise TableError(
                f"{self.path}/{damaged[0]}: empty or truncated, and later files depend on it; delete the folder "
                f"{self.path}: its query then reads its logs again from the beginning"
            )
        if planned[-1:] in ([], [0]) and self._is_damaged(_INITIAL, lines=2):
            return [*needed, _INITIAL]
        return damaged

    def _is_damaged(self, name: str, lines: int) -> bool:
        """Return whether a file that should have so many *lines* exists and is incomplete."""
        try:
            text = self._read(name).lstrip("\0")
        except FileNotFoundError:
            return False
        except UnicodeDecodeError:
            return True
        first = f"{CHECKPOINT_FORMAT}\n"
        if not text.startswith(first):
            return first.startswith(text)
        try:
            found = [line == _NO_OFFSET or json.loads(line) for line in text.split("\n")[1:] if line]
        except ValueError:
            return True
        return len(found) < lines - 1

    def _is_nameless(self) -> bool:
        try:
            return not isinstance(json.loads(self._read("metadata"))["id"], str)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return True

    def leave_out(self, is_left_out: Callable[[TopicPartition], bool]) -> Offsets:
        """Remove logs from the micro-batch that is planned and not done; the query must not be running.

        Spark repeats such a batch as planned, so a log that cannot be read would fail it forever. Their ranges become
        empty, and a later batch reads them; twice, if this one was done but not marked so. Return where the query
        goes on.
        """
        planned, done = self._last("offsets"), self.last_committed()
        if planned is None:
            return {}
        ends = self._end(planned)
        if planned == done:
            return self._by_stream(ends)
        start = self._start(planned)
        out = {place for place in ends if is_left_out(self._stream_of(place))}
        kept = {place: offset for place, offset in ends.items() if place not in out}
        self._replace(planned, kept | {place: offset for place, offset in start.items() if place in out})
        return self._by_stream(start)

    def set_back(self, offsets: Offsets) -> bool:
        """Have the query go on from *offsets*; it must not be running. False: a micro-batch is planned and not done."""
        planned = self._last("offsets")
        if planned is None or planned != self.last_committed():
            return False
        self._replace(planned, self._end(planned) | called(self._names, self._alias, offsets))
        return True

    def _replace(self, planned: int, ends: Offsets) -> None:
        *before, _ = self._lines(f"offsets/{planned}")
        if ends != self._end(planned):
            self._files.write_text(f"{self.path}/offsets/{planned}", "\n".join([*before, json.dumps(by_topic(ends))]))
            self._forget()

    def unreadable(self) -> dict[TopicPartition, Stop]:
        """Return the logs that the query cannot read on, by stream."""
        try:
            rows = json.loads(self._read(_UNREADABLE))
        except FileNotFoundError:
            return {}
        return {TopicPartition(topic, number): Stop(offset, why) for topic, number, offset, why in rows}

    def keep_unreadable(self, logs: Mapping[TopicPartition, Stop]) -> None:
        """Replace the result of :meth:`unreadable`."""
        self._files.write_text(f"{self.path}/{_UNREADABLE}", json.dumps([[*log, *stop] for log, stop in logs.items()]))

    def last_committed(self) -> int | None:
        """Return the last micro-batch that is done; None: there is none.

        Its rows are in the tables: they are written before Spark marks it done.
        """
        return self._last("commits")

    def position(self) -> dict[int, int]:
        """Return how far done micro-batches have read each partition of the one topic; empty where unknown."""
        last = self.last_committed()
        try:
            ends = {} if last is None else self.end_offsets(last)
        except FileNotFoundError:  # cleaned up by the running query meanwhile
            return {}
        return {partition: offset for (_, partition), offset in ends.items()}

    def last_sign_ms(self) -> int | None:
        """Return when the query last began or ended a micro-batch, in milliseconds; None: it never did."""
        signs = [self._files.written_ms(f"{self.path}/{folder}") for folder in ("commits", "offsets")]
        numbered = [{int(name): at_ms for name, at_ms in each.items() if name.isdigit()} for each in signs]
        return max((each[max(each)] for each in numbered if each), default=None)

    def _last(self, folder: str) -> int | None:
        return max(self._numbers(folder), default=None)

    def _numbers(self, folder: str) -> list[int]:
        return sorted(int(name) for name in self._files.names(f"{self.path}/{folder}") if name.isdigit())

    def record_limit(self, batch_id: int) -> int:
        """Return the greatest number of records that *batch_id* can have; of a compacted log some are missing."""
        return count_offsets(self.start_offsets(batch_id), self.end_offsets(batch_id))

    def _lines(self, name: str) -> list[str]:
        """Return the lines of a file that begins with its format; raises TableError for an unknown format."""
        lines = self._read(name).split("\n")
        if lines[0].removeprefix("\0") != CHECKPOINT_FORMAT:  # in the files of Kafka's source a zero comes first
            raise TableError(
                f"{self.path}/{name}: expected a checkpoint of format {CHECKPOINT_FORMAT}, found {lines[0][:20]!a}; "
                "go on with the version of Spark that wrote it"
            )
        return lines

    def _read(self, name: str) -> str:
        return self._files.read_text(f"{self.path}/{name}")


def commit_checkpoint(files: Files, config: Config, alias: str) -> Checkpoint:
    """Return the checkpoint of the query of ``sync_offsets`` at a cluster.

    Polls have one of their own: the offsets of one source mean nothing to the other.
    """
    kind = ".polls" if alias in config.polled() else ""
    return Checkpoint(files, f"{config.tables.checkpoints}/sync_offsets/{alias}{kind}")


def called(names: Names, alias: str, streams: Mapping[TopicPartition, _T]) -> dict[TopicPartition, _T]:
    """Return what is said of *streams* by the cluster's names of their topics."""
    return {TopicPartition(names.outside(alias, topic), number): each for (topic, number), each in streams.items()}


def by_topic(logs: Mapping[TopicPartition, _T]) -> dict[str, dict[int, _T]]:
    """Return what is said of *logs* by topic and partition."""
    found: dict[str, dict[int, _T]] = {}
    for (topic, number), each in logs.items():
        found.setdefault(topic, {})[number] = each
    return found


def ranges_of(start: Offsets, end: Offsets) -> dict[TopicPartition, OffsetRange]:
    """Return what a micro-batch reads; a partition that is not in *start* is read from its beginning."""
    return {place: OffsetRange(start.get(place, 0), last) for place, last in end.items()}


def count_offsets(start: Offsets, end: Offsets) -> int:
    """Return how many offsets are between *start* and *end*; a partition that is not in *start* begins at 0.

    The plan for a truncated log ends before it starts: nothing is read of it, so it counts as 0.
    """
    return sum(max(0, offset - start.get(place, 0)) for place, offset in end.items())


def are_few(records: int) -> bool:
    """Return whether the driver handles so many records itself."""
    return records <= DRIVER_MAX_RECORDS


def _parse(text: str) -> Offsets:
    ends: dict[str, dict[str, int]] = json.loads(text)
    return {TopicPartition(topic, int(number)): offset for topic, by in ends.items() for number, offset in by.items()}
