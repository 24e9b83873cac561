"""The lists of the partitions that one consumer reads, asked for when records need them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from offset_sync_consumer.group_commits import GroupCommits, Place
from offset_sync_consumer.progress import Commit, Progress
from offset_sync_consumer.read_list import ReadList, decode_read_list

_LOG = logging.getLogger("offset_sync_consumer")
_REPEATED_WAIT_MS = 1_000
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 10_000
_MOST_DOUBLINGS = 10


@dataclass
class Counters:
    """What one consumer has done: records taken out, times that it asked, times that something failed."""

    skipped: int = 0
    asked: int = 0
    failed: int = 0


class ReadLists:
    """Asks for lists.

    Errs to delivering: whatever fails while it asks leaves the partitions concerned without a list. A later poll asks
    again, after a pause that doubles from 100 ms to 10 s.
    """

    def __init__(self, commits: GroupCommits, counters: Counters, client_id: str, wait_ms: int) -> None:
        self._commits, self._counters = commits, counters
        self._client_id, self._wait_ms = client_id, wait_ms
        self._partitions: dict[Place, Progress] = {}
        self._sought: set[Place] = set()
        self._failures = 0
        self._paused_until = float("-inf")
        self.interrupt: BaseException | None = None
        """What ended the last question and was not an Exception, such as a KeyboardInterrupt."""

    def of(self, place: Place) -> Progress:
        """Return what is known of a partition."""
        found = self._partitions.get(place)
        if found is None:
            found = self._partitions[place] = Progress()
        return found

    def note_sought(self, places: Iterable[Place]) -> None:
        """Note that the application has set the position of these partitions."""
        self._sought.update(places)

    def ask(self, firsts: Mapping[Place, int], cluster: str, now: float) -> None:
        """Ask *cluster* for all of these partitions that are due; *firsts* are their next records. Raises nothing."""
        due = {place: first for place, first in firsts.items() if self.of(place).is_due(first, now)}
        for place, first in due.items():
            self.of(place).begin(first)
        if not due or now < self._paused_until:
            return
        self._counters.asked += 1
        try:
            self._take_answer(due, cluster, now)
            self._failures = 0
        except BaseException as failure:
            for place in due:
                self.of(place).forget()
            self._fail(failure, now)

    def clear(self) -> None:
        """Forget all partitions."""
        self._partitions.clear()

    def in_use(self, now: float) -> int:
        """Forget lists that were not used for long, and return how many are in use."""
        for each in list(self._partitions.values()):
            each.forget_unused(now)
        return sum(each.read_list is not None for each in list(self._partitions.values()))

    def _take_answer(self, due: Mapping[Place, int], cluster: str, now: float) -> None:
        wait_ms = self._wait_ms if self._failures == 0 else min(self._wait_ms, _REPEATED_WAIT_MS)
        asked_at = time.monotonic()
        answer = self._commits.read(list(due), cluster, wait_ms)
        uses: dict[Place, Commit] = {}
        for place, first in due.items():
            own = answer.own.get(place)
            if own is not None and place not in self._sought:
                # What is above has been committed since: librdkafka commits in a thread of its own.
                own = min(own, first)
            found = _list_of(answer.lists.get(place), cluster)
            use = self.of(place).take(found, own, answer.used.get(place), first, now, self._client_id)
            if use is not None:
                uses[place] = use
        if uses:
            gone_ms = (time.monotonic() - asked_at) * 1000
            self._commits.use(uses, max(1, int(wait_ms - gone_ms)))
        self._sought.difference_update(due)

    def _fail(self, failure: BaseException, now: float) -> None:
        """Count a failure, log the first of a series, and start the pause."""
        self._paused_until = now + min(_LONGEST_PAUSE_MS, _FIRST_PAUSE_MS << self._failures)
        self._failures = min(self._failures + 1, _MOST_DOUBLINGS)
        self._counters.failed += 1
        if not isinstance(failure, Exception):
            self.interrupt = failure
        if self._failures == 1:
            _LOG.warning(
                "SkipRead of group %s cannot read its lists, so records are delivered without them: %r",
                self._commits.group,
                failure,
            )


def _list_of(commit: Commit | None, cluster: str) -> ReadList | None:
    """Return the list that a commit holds; None if it is not a list for its offset and for this cluster."""
    found = None if commit is None else decode_read_list(commit.metadata)
    return found if commit and found and found.start == commit.offset and found.cluster == cluster else None
