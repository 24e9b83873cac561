"""What a streaming query's checkpoint says: its id, and which offsets a micro-batch covers.

Spark writes a batch's end offsets before it runs the batch, and the same ones when the batch is repeated, so they
say exactly how far the batch reads, also where the last offsets hold no record.

A power failure leaves the newest files empty or cut off where nothing was synced, and Spark refuses such a query for
ever. Without the newest plan it plans that micro-batch anew, from where the one before has ended: nothing is left out,
and what was written of it may come twice. It comes under a new id of the query, for under the old one the tables would
take it for a repetition although it reads up to elsewhere. What came twice changes nothing (design.md, invariant 3). An
older file that cannot be read is a matter for a person.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection, Mapping

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.model.errors import TableError
from offset_sync.model.values import OffsetRange, TopicPartition
from offset_sync.spark import CHECKPOINT_FORMAT
from offset_sync.tables.files import Files

Offsets = dict[TopicPartition, int]
OffsetRanges = Mapping[TopicPartition, OffsetRange]

logger = logging.getLogger(__name__)
_INITIAL = "sources/0/0"
_NO_OFFSET = "-"
DRIVER_MAX_RECORDS = 20_000
"""So many the driver works on by itself: the way to a Python worker and back takes longer than the work.

Of what tasks have made of more records it takes no more rows than that.
"""


class Checkpoint:
    """The checkpoint directory of one query, at the cluster *alias* where topics have other *names* inside."""

    def __init__(self, files: Files, path: str, alias: str = "", names: Names = SAME_NAMES) -> None:
        self.path = path.rstrip("/")
        self._files, self._alias, self._names = files, alias, names
        self._stored = -1

    def query_id(self) -> str:
        """Return the id of the query; a new checkpoint gets a new one."""
        return str(json.loads(self._read("metadata"))["id"])

    def start_offsets(self, batch_id: int) -> Offsets:
        """Return where *batch_id* starts; partitions met for the first time are missing, except in batch 0."""
        return self._by_stream(self._start(batch_id))

    def _start(self, batch_id: int) -> Offsets:
        if batch_id > 0:
            return self._end(batch_id - 1)
        # What the source resolved `startingOffsets` to.
        return _parse(self._lines(_INITIAL)[1])

    def _by_stream(self, offsets: Offsets) -> Offsets:
        inside = self._names.inside
        return {TopicPartition(inside(self._alias, topic), number): each for (topic, number), each in offsets.items()}

    def end_offsets(self, batch_id: int) -> Offsets:
        """Return the first offset of each partition that *batch_id* does not read.

        The plan is stored when this returns, before anything is written by it: planned anew, the micro-batch would
        read up to elsewhere and be taken for a repetition.
        """
        return self._by_stream(self._end(batch_id))

    def _end(self, batch_id: int) -> Offsets:
        if batch_id > self._stored:
            self._files.sync(f"{self.path}/offsets/{batch_id}")
            self._stored = batch_id
        return _parse(self._lines(f"offsets/{batch_id}")[2])

    def repair(self) -> None:
        """Remove the newest files that a power failure has left empty or cut off; the query must not be running.

        Raises TableError, with what to do, and changes nothing, where another file cannot be read that Spark needs.
        Files of another format are left to whoever reads them.
        """
        planned, done = self._numbers("offsets"), self._numbers("commits")
        damaged = self._damaged_plans(planned)
        gone = [f"commits/{number}" for number in done[-1:] if self._is_damaged(f"commits/{number}", lines=2)]
        if damaged and done and done[-1] == planned[-1] and not gone:
            gone = [f"commits/{done[-1]}"]
        is_nameless = self._is_nameless()
        if damaged or (is_nameless and planned):
            self._files.write_text(f"{self.path}/metadata", json.dumps({"id": str(uuid.uuid4())}))
        elif is_nameless and self._files.exists(f"{self.path}/metadata"):
            gone.append("metadata")
        for name in [*gone, *damaged]:
            self._files.delete(f"{self.path}/{name}")
            logger.warning("%s/%s was empty or cut off and is removed: its micro-batch is read again", self.path, name)
        self._stored = -1

    def _damaged_plans(self, planned: list[int]) -> list[str]:
        """Return what has to go for the newest micro-batch to be planned anew; nothing where its plan can be read."""
        needed = [f"offsets/{number}" for number in planned[-2:]]
        damaged = [name for name in needed if self._is_damaged(name, lines=3)]
        if damaged and damaged != needed[-1:]:
            raise TableError(
                f"{self.path}/{damaged[0]}: empty or cut off, and others stand on it; delete the folder {self.path}: "
                "its query then reads its logs again from the beginning"
            )
        if planned[-1:] in ([], [0]) and self._is_damaged(_INITIAL, lines=2):
            return [*needed, _INITIAL]
        return damaged

    def _is_damaged(self, name: str, lines: int) -> bool:
        """Return whether a file of so many *lines* is there and is not all of what Spark wrote."""
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

    def leave_out(self, streams: Collection[str]) -> None:
        """Take *streams* out of the micro-batch that is planned and not done; the query must not be running.

        Spark repeats such a batch as it was planned, so one topic that may not be read would fail it for ever. Of these
        it then ends where it starts, and a later batch reads them: twice, if this one was done but for the word.
        """
        topics = {self._names.outside(self._alias, each) for each in streams}
        planned, done = self._last("offsets"), self.last_committed()
        if planned is None or planned == done:
            return
        name = f"offsets/{planned}"
        *before, text = self._lines(name)
        ends: dict[str, dict[str, int]] = json.loads(text)
        left = {topic: by for topic, by in ends.items() if topic not in topics}
        for (topic, partition), offset in self._start(planned).items():
            if topic in topics and topic in ends:
                left.setdefault(topic, {})[str(partition)] = offset
        if left != ends:
            self._files.write_text(f"{self.path}/{name}", "\n".join([*before, json.dumps(left)]))

    def last_committed(self) -> int | None:
        """Return the last micro-batch that is done; None: none has ever been.

        Its rows are in the tables: they are written before Spark calls a batch done.
        """
        return self._last("commits")

    def position(self) -> dict[int, int]:
        """Return how far each partition of the one topic was read by what is done; nothing where that is not known."""
        last = self.last_committed()
        try:
            ends = {} if last is None else self.end_offsets(last)
        except FileNotFoundError:  # cleaned up by the running query meanwhile
            return {}
        return {partition: offset for (_, partition), offset in ends.items()}

    def last_sign_ms(self) -> int | None:
        """Return when the query began or ended a micro-batch last, in milliseconds; None: it never did."""
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
        """Return the lines of a file that begins with its format; raises TableError for one that nobody here reads."""
        lines = self._read(name).split("\n")
        if lines[0].removeprefix("\0") != CHECKPOINT_FORMAT:  # in the files of Kafka's source a zero comes first
            raise TableError(
                f"{self.path}/{name}: expected a checkpoint of format {CHECKPOINT_FORMAT}, found {lines[0][:20]!a}; "
                "go on with the version of Spark that wrote it"
            )
        return lines

    def _read(self, name: str) -> str:
        return self._files.read_text(f"{self.path}/{name}")


def ranges_of(start: Offsets, end: Offsets) -> dict[TopicPartition, OffsetRange]:
    """Return what a micro-batch reads; a partition that is not in *start* is read from its beginning."""
    return {place: OffsetRange(start.get(place, 0), last) for place, last in end.items()}


def count_offsets(start: Offsets, end: Offsets) -> int:
    """Return how many offsets lie between *start* and *end*; a partition that is not in *start* begins at 0.

    The plan for a log that was cut ends before it starts: nothing is read of it, and it takes nothing from the others.
    """
    return sum(max(0, offset - start.get(place, 0)) for place, offset in end.items())


def are_few(records: int) -> bool:
    """Return whether the driver works on so many records by itself."""
    return records <= DRIVER_MAX_RECORDS


def _parse(text: str) -> Offsets:
    ends: dict[str, dict[str, int]] = json.loads(text)
    return {TopicPartition(topic, int(number)): offset for topic, by in ends.items() for number, offset in by.items()}
