"""A target cluster in memory, which answers as it is told to, and batches of writes against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from offset_sync.kafka.requests import Clock, Committed, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import Names
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.lease import Fence, OpenFence
from offset_sync.sync.offset_writer import write_offsets

OPEN = OpenFence()
Errors = dict[TopicPartition, str | None]
Read: TypeAlias = "Mapping[TopicPartition, Committed] | ClusterError"


@dataclass
class Target:
    """Holds offsets; *refuse* gives the error of a write, *before_read* happens in between."""

    offsets: dict[str, dict[TopicPartition, Committed]] = field(default_factory=dict)
    refuse: Callable[[OffsetWrite], str | None] = lambda write: None
    applies_refused: bool = False
    read_errors: dict[str, list[ClusterError]] = field(default_factory=dict)
    silence: list[ClusterError] = field(default_factory=list)
    before_read: list[Callable[[], None]] = field(default_factory=list)
    reads: list[list[str]] = field(default_factory=list)
    writes: list[OffsetWrite] = field(default_factory=list)
    seconds: float = 0.0
    answer_takes: float = 0.0

    def take_names(self, names: Names) -> None:
        """Go by the same names everywhere."""

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Read]:
        """The offsets of each group, after anything that happens before the read."""
        self.reads.append(list(groups))
        self.seconds += min(self.answer_takes, deadline)
        if self.before_read:
            self.before_read.pop(0)()
        if self.silence:
            raise self.silence.pop(0)
        found = {group: self._read(group) for group in groups}
        if any(isinstance(each, TransientError) for each in found.values()):
            self.seconds += deadline  # a silent group is waited for as long as there is time
        return found

    def _read(self, group: str) -> Read:
        errors = self.read_errors.get(group)
        return errors.pop(0) if errors else dict(self.offsets.get(group, {}))

    def write_offsets(
        self, writes: Mapping[str, Sequence[OffsetWrite]], deadline: float, may_send: Callable[[], bool]
    ) -> Mapping[str, Errors | ClusterError]:
        """Take the writes, each with the error that *refuse* gives."""
        return {
            group: {
                TopicPartition(each.topic, each.partition): self._answer(each, deadline, may_send) for each in wanted
            }
            for group, wanted in writes.items()
        }

    def _answer(self, write: OffsetWrite, deadline: float, may_send: Callable[[], bool]) -> str | None:
        if not may_send():
            return "REQUEST_NOT_SENT"
        return self._write(write) if deadline > 0 else "_TIMED_OUT"

    def _write(self, write: OffsetWrite) -> str | None:
        self.writes.append(write)
        error = self.refuse(write)
        if error is None or self.applies_refused:
            self.put(write.group_id, write.partition, write.offset)
        return error

    def put(self, group: str, partition: int, offset: int) -> None:
        """Commit an offset on the topic ``orders``."""
        self.offsets.setdefault(group, {})[TopicPartition("orders", partition)] = Committed(offset, "")

    def clock(self) -> Clock:
        """The clock that the waits of a write_batch move."""
        return Clock(lambda: self.seconds, self._pass)

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds


def write(
    group: str = "group",
    partition: int = 0,
    offset: int = 50,
    expected: int | None = None,
    refresh: bool = False,
) -> OffsetWrite:
    """A write to the topic ``orders``."""
    return OffsetWrite(group, "orders", partition, offset, None, expected, refresh)


def write_batch(
    target: Target, *writes: OffsetWrite, deadline: float = 15.0, fence: Fence = OPEN
) -> list[WriteOutcome]:
    """Commit *writes* at *target*."""
    return write_offsets(writes, target, fence=fence, dry_run=False, deadline=deadline, clock=target.clock())


def outcomes(results: Sequence[WriteOutcome]) -> list[Outcome]:
    """The bare outcomes."""
    return [each.outcome for each in results]


def once(error: str) -> Callable[[OffsetWrite], str | None]:
    """An error that the first write gets and no other."""
    errors = [error]
    return lambda write: errors.pop() if errors else None
