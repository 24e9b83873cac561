"""Commits that show that the group's consumers skip: what Offset Sync reads before it promises a move without repeats.

A mark below the group's commit, or none, withholds that promise. So while it polls, a consumer marks a partition only
if it has had records of it within the last minute: an older one may be another member's by now. As it closes it marks
all that it has read since its last marks, but not below a mark that stands: another member, to which the partition
went, may have read on. No failure here reaches the records.
"""

from __future__ import annotations

import logging

from confluent_kafka import KafkaException

from offset_sync_consumer.group_commits import REFUSED, SEEN, GroupCommits, Place, Written
from offset_sync_consumer.progress import Commit, Progress
from offset_sync_consumer.read_lists import ReadLists
from offset_sync_consumer.version import __version__

_LOG = logging.getLogger("offset_sync_consumer")
_EVERY_MS = 60_000


class Marks:
    """Writes marks with the first records of a partition, then once a minute, and at the end."""

    def __init__(self, commits: GroupCommits, are_wanted: bool, client_id: str) -> None:
        self._commits, self._client_id = commits, client_id
        self.are_wanted = are_wanted
        """False once marks are refused, or switched off."""
        self._touched: dict[Place, tuple[int, float]] = {}
        self._marked: set[Place] = set()
        self._is_new = False
        """Whether a touched partition has no mark yet."""
        self._pending: Written | None = None
        self._has_failed = False
        self._written_at = float("-inf")

    def touch(self, place: Place, next_offset: int, now: float) -> None:
        """Note that a partition is this consumer's, and its next offset."""
        if self.are_wanted:
            self._touched[place] = next_offset, now
            self._is_new = self._is_new or place not in self._marked

    def write(self, lists: ReadLists, now: float) -> None:
        """Start to write marks if a minute has passed or a partition has none. Waits for nothing."""
        is_due = now - self._written_at >= _EVERY_MS
        is_wanted = is_due or self._is_new
        if not self.are_wanted or (self._pending is None and not is_wanted):
            return
        try:
            if self._pending is not None and not self._pending.is_done() and not is_due:
                return
            self._settle(0)
            if is_wanted and self.are_wanted:
                self._written_at = now
                self._start(lists, now - _EVERY_MS)
        except Exception as failure:
            self._fail(failure)

    def write_last(self, lists: ReadLists, wait_ms: int) -> None:
        """Write the marks of what was read since the last ones, above those that stand; wait *wait_ms* for each."""
        try:
            self._settle(wait_ms)
            if self.are_wanted and self._touched:
                standing = self._commits.standing(list(self._touched), wait_ms)
                self._touched = {
                    place: (next_offset, at)
                    for place, (next_offset, at) in self._touched.items()
                    if standing.get(place, -1) < next_offset
                }
                self._start(lists, float("-inf"))
                self._settle(wait_ms)
        except Exception as failure:
            self._fail(failure)

    def _start(self, lists: ReadLists, since: float) -> None:
        """Start to write the marks of what was read after *since*."""
        self._is_new = False
        marks = {
            place: Commit(next_offset, self._text(lists.of(place)))
            for place, (next_offset, at) in self._touched.items()
            if at > since
        }
        self._touched = {place: each for place, each in self._touched.items() if place not in marks}
        self._marked.update(marks)
        self._pending = self._commits.mark(marks) if marks else None

    def _settle(self, wait_ms: int) -> None:
        """Take the outcome of the last marks. What is not done after *wait_ms* has failed."""
        written, self._pending = self._pending, None
        if written is None:
            return
        try:
            written.wait(wait_ms / 1000)
            self._has_failed = False
        except Exception as failure:
            if isinstance(failure, KafkaException) and failure.args[0].code() in REFUSED:
                self._refuse(failure)
            else:
                self._fail(failure)

    def _fail(self, failure: Exception) -> None:
        """Log the first failure of a series. The next marks are due in a minute, and get another client."""
        self._pending = None  # to poll a client that is being closed would wait for that
        self._commits.close(SEEN)
        if not self._has_failed:
            self._has_failed = True
            group = self._commits.group
            _LOG.warning("Marks of group %s cannot be written, the next try is in a minute: %r", group, failure)

    def _refuse(self, failure: KafkaException) -> None:
        self.are_wanted = False
        self._touched.clear()
        needs = f"its principal needs Read on group {SEEN}{self._commits.group}"
        _LOG.warning("Group %s skips without marks: %s (%r)", self._commits.group, needs, failure)

    def _text(self, progress: Progress) -> str:
        told = f"skipped={progress.skipped} list={progress.list_start}"
        return f"offset-sync/1 {__version__} {told} by {self._client_id}"
