"""The true partitions: each holds records that have the same number everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

Headers = tuple[bytes, bytes]


class Record(NamedTuple):
    """A record in one log: which it is, and what the mirror's headers say; *is_odd*: they say what cannot be."""

    number: int
    headers: Headers | None = None
    is_odd: bool = False


class Birth(NamedTuple):
    """Where a record was produced: *life* counts the incarnations and cuts of that log."""

    cluster: str
    offset: int
    life: int

    def is_after(self, other: Birth) -> bool:
        """Return whether another record was produced before, at the same cluster."""
        return self.cluster == other.cluster and self.offset > other.offset


@dataclass
class Log:
    """One partition of one cluster; sets of records are bit masks of their numbers.

    ``below[i]`` has the records below offset i. *known_at* has the first offset at which the index has read a record,
    *known* the offsets that it has read. *life* counts how often the log was cut or recreated, *is_frozen* ones take
    nothing more; *cuts* are where it was cut, one for each leader epoch after the first.
    """

    entries: list[Record | None] = field(default_factory=list)
    below: list[int] = field(default_factory=lambda: [0])
    start: int = 0
    life: int = 0
    is_frozen: bool = False
    known_at: dict[int, int] = field(default_factory=dict)
    known: int = 0
    cuts: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        return len(self.entries)

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch under which the record at *offset* was written."""
        return max((number for number, at in enumerate(self.cuts, 1) if at <= offset), default=0)

    def lost_from(self, epoch: int) -> int:
        """Return the offset from which records written up to leader epoch *epoch* are lost, if any are."""
        return min(self.cuts[epoch:], default=self.end)

    def append(self, record: Record | None) -> None:
        """Add a record, or an offset without one."""
        self.entries.append(record)
        self.below.append(self.below[-1] | (0 if record is None else 1 << record.number))

    def cut(self, end: int) -> None:
        """Drop the records at *end* and above, as after an unclean election."""
        del self.entries[end:], self.below[end + 1 :]
        self.start = min(self.start, end)
        self.life += 1
        self.cuts.append(end)

    def begin_again(self) -> None:
        """Forget everything, as a topic does that is deleted and made again."""
        self.cut(0)
        self.start, self.known = 0, 0
        self.known_at.clear()

    def note_indexed(self, first: int, end: int) -> None:
        for offset in range(first, end):
            record = self.entries[offset]
            self.known |= 1 << offset
            if record is not None and not record.is_odd:
                self.known_at.setdefault(record.number, offset)
