"""What one cluster has of a log that others copy: its records, those it once had, and its leaders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Content(NamedTuple):
    """A record: *number* is its own, also where its time is that of another one."""

    number: int
    at_ms: int


@dataclass
class Log:
    """What one cluster has: the records that are left by offset, and all of this incarnation.

    *lacking* are those that a copy did not get, as they had been deleted before.
    """

    topic_id: str
    records: dict[int, Content] = field(default_factory=dict)
    ever: dict[int, Content] = field(default_factory=dict)
    lacking: dict[int, Content] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    epoch_starts: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])

    def append(self, offset: int, record: Content | None) -> None:
        """Write a record, or leave the offset to a marker."""
        if record is not None:
            self.records[offset] = self.ever[offset] = record
        self.end = offset + 1

    def cut(self, end: int) -> None:
        """Lose the end; another leader goes on."""
        epoch = self.epoch_starts[-1][0] + 1
        for held in (self.records, self.ever, self.lacking):
            for offset in [each for each in held if each >= end]:
                del held[offset]
        self.end, self.start = end, min(self.start, end)
        kept = [each for each in self.epoch_starts if each[1] < end]
        self.epoch_starts = [*kept, (epoch, end)]

    def delete(self, start: int) -> None:
        """Lose the beginning."""
        self.start = max(self.start, min(start, self.end))
        for offset in [each for each in self.records if each < self.start]:
            del self.records[offset]

    def end_of(self, epoch: int) -> int:
        """Return where the records of a leader epoch end."""
        later = [start for each, start in self.epoch_starts if each > epoch]
        return min(later, default=self.end)
