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
from collections.abc import Collection

from offset_sync.config.stream_names import Names
from offset_sync.model.errors import TableError
from offset_sync.spark import CHECKPOINT_FORMAT
from offset_sync.tables.files import Files

Offsets = dict[tuple[str, int], int]
"""Offset by (topic, partition)."""


class Checkpoint:
    """The checkpoint directory of one query."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path.rstrip("/")
        self._files = files
        self._stored = -1

    def query_id(self) -> str:
        """Return the id of the query; a new checkpoint gets a new one."""
        return str(json.loads(self._read("metadata"))["id"])

    def start_offsets(self, batch_id: int) -> Offsets:
        """Return where *batch_id* starts; partitions met for the first time are missing, except in batch 0."""
        return self._inside(self._start(batch_id))

    def _start(self, batch_id: int) -> Offsets:
        if batch_id > 0:
            return self._end(batch_id - 1)
        # What the source resolved `startingOffsets` to.
        return _parse(self._lines("sources/0/0")[1])

    def _inside(self, offsets: Offsets) -> Offsets:
        """Return *offsets* by streams: a topic is one."""
        return offsets

    def end_offsets(self, batch_id: int) -> Offsets:
        """Return the first offset of each partition that *batch_id* does not read.

        The plan is stored when this returns, before anything is written by it: planned anew, the micro-batch would
        read up to elsewhere and be taken for a repetition.
        """
        return self._inside(self._end(batch_id))

    def _end(self, batch_id: int) -> Offsets:
        if batch_id > self._stored:
            self._files.sync(f"{self.path}/offsets/{batch_id}")
            self._stored = batch_id
        return _parse(self._lines(f"offsets/{batch_id}")[2])

    def repair(self) -> None:
        """Mend what a power failure has left of the newest files; the query must not be running.

        Raises TableError, with what to do, where that is not certain to lose nothing.
        """
        repair_checkpoint(self._files, self.path)
        self._stored = -1

    def leave_out(self, topics: Collection[str]) -> None:
        """Take *topics* out of the micro-batch that is planned and not done; the query must not be running.

        Spark repeats such a batch as it was planned, so one topic that may not be read would fail it for ever. Of these
        topics it then ends where it starts, and a later batch reads them: twice, if this one was done but for the word.
        """
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
        signs = [(folder, self._last(folder)) for folder in ("commits", "offsets")]
        try:
            times = [
                self._files.modified_ms(f"{self.path}/{folder}/{last}") for folder, last in signs if last is not None
            ]
        except FileNotFoundError:  # cleaned up by the running query meanwhile, so there is a later one
            return self.last_sign_ms()
        return max(times, default=None)

    def _last(self, folder: str) -> int | None:
        return max((int(name) for name in self._files.names(f"{self.path}/{folder}") if name.isdigit()), default=None)

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


class NamedCheckpoint(Checkpoint):
    """The checkpoint of a query at the cluster *alias* whose topics have other names inside: *names* know them."""

    def __init__(self, files: Files, path: str, alias: str, names: Names) -> None:
        super().__init__(files, path)
        self._alias, self._names = alias, names

    def _inside(self, offsets: Offsets) -> Offsets:
        return {(self._names.inside(self._alias, topic), number): each for (topic, number), each in offsets.items()}

    def leave_out(self, topics: Collection[str]) -> None:
        """Take *topics* out of the micro-batch that is planned and not done; see :meth:`Checkpoint.leave_out`."""
        super().leave_out([self._names.outside(self._alias, each) for each in topics])


def count_offsets(start: Offsets, end: Offsets) -> int:
    """Return how many offsets lie between *start* and *end*; a partition that is not in *start* begins at 0.

    The plan for a log that was cut ends before it starts: nothing is read of it, and it takes nothing from the others.
    """
    return sum(max(0, offset - start.get(place, 0)) for place, offset in end.items())


def _parse(text: str) -> Offsets:
    found = json.loads(text)
    return {(topic, int(partition)): offset for topic, by in found.items() for partition, offset in by.items()}


logger = logging.getLogger(__name__)
_INITIAL = "sources/0/0"
_NO_OFFSET = "-"


def repair_checkpoint(files: Files, path: str) -> list[str]:
    """Remove the newest files of the checkpoint at *path* that cannot be read; return their names.

    The query must not be running. Raises TableError, and changes nothing, where another file cannot be read that Spark
    needs. Files of another format are left to whoever reads them.
    """
    planned, done = _numbers(files, f"{path}/offsets"), _numbers(files, f"{path}/commits")
    damaged = _damaged_plans(files, path, planned)
    gone = [f"commits/{number}" for number in done[-1:] if _is_damaged(files, f"{path}/commits/{number}", lines=2)]
    if damaged and done and done[-1] == planned[-1] and not gone:
        gone = [f"commits/{done[-1]}"]
    is_nameless = _is_nameless(files, path)
    if damaged or (is_nameless and planned):
        files.write_text(f"{path}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    elif is_nameless and files.exists(f"{path}/metadata"):
        gone.append("metadata")
    for name in [*gone, *damaged]:
        files.delete(f"{path}/{name}")
        logger.warning("%s/%s was empty or cut off and is removed: its micro-batch is read again", path, name)
    return [*gone, *damaged]


def _damaged_plans(files: Files, path: str, planned: list[int]) -> list[str]:
    """Return what has to go for the newest micro-batch to be planned anew; nothing where its plan can be read."""
    needed = [f"offsets/{number}" for number in planned[-2:]]
    damaged = [name for name in needed if _is_damaged(files, f"{path}/{name}", lines=3)]
    if damaged and damaged != needed[-1:]:
        raise TableError(_refusal(path, damaged[0]))
    if planned[-1:] in ([], [0]) and _is_damaged(files, f"{path}/{_INITIAL}", lines=2):
        return [*needed, _INITIAL]
    return damaged


def _numbers(files: Files, folder: str) -> list[int]:
    return sorted(int(name) for name in files.names(folder) if name.isdigit())


def _is_damaged(files: Files, path: str, lines: int) -> bool:
    """Return whether a file of so many *lines* is there and is not all of what Spark wrote."""
    try:
        text = files.read_text(path).lstrip("\0")
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


def _is_nameless(files: Files, path: str) -> bool:
    try:
        return not isinstance(json.loads(files.read_text(f"{path}/metadata"))["id"], str)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return True


def _refusal(path: str, name: str) -> str:
    return (
        f"{path}/{name}: empty or cut off, and others stand on it; delete the folder {path}: its query then reads its "
        "logs again from the beginning"
    )
