"""How every group stands between every two clusters: from the tables and both clusters' ends to rows of sync_status."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from offset_sync.comparing import Question
from offset_sync.config import Config
from offset_sync.errors import ClusterError
from offset_sync.measuring import Measured, Sides, measure
from offset_sync.model import TopicPartition
from offset_sync.settlement import Commits, Index, Looks, Seen
from offset_sync.status import STATUSES, Facts, Status, decide, is_comparable, reasons
from offset_sync.status_rows import Found, Rows, joined_rows, to_columns
from offset_sync.streams import Streams
from offset_sync.translate.commits import CommitBook
from offset_sync.translate.keys import KeyPlaces, Keys
from offset_sync.translate.pairstate import PairState
from offset_sync.translate.runs import Int64s
from offset_sync.translating import Translator, owned_keys, to_commits

LookAt = Callable[[Collection[str], Collection[TopicPartition]], Looks]
ActiveGroups = Callable[[str], "Collection[str] | ClusterError"]
"""The groups of a cluster that have members."""
Compare = Callable[[Collection[Question]], "Mapping[Question, str | None]"]
"""For each question None where the next record is the same on both sides, else why it is not."""
NEVER = -1


@dataclass(frozen=True)
class Around:
    """What a report knows beside the logs: the target's groups with members, how far the jobs have read, the time."""

    active: Collection[str] | ClusterError
    streams: Streams
    now_ms: int

    def is_active(self, found: Found) -> list[bool | None]:
        """Return of each row whether its group has members at the target; None: nobody could ask."""
        return [None if isinstance(self.active, ClusterError) else key[0] in self.active for key in found.keys]

    def unread_commits(self, found: Found, group_id: str) -> int:
        """Return how many commits of either cluster may still change where the group stands."""
        return sum(self.streams.unread_commits(alias, group_id) for alias in (found.source, found.target))


class Reporter:
    """Reports on the keys of *book*; *lock* guards the book and the index, and is not held while clusters are asked."""

    def __init__(
        self,
        config: Config,
        book: CommitBook,
        index: Index,
        look: LookAt,
        active_groups: ActiveGroups,
        compare: Compare,
        lock: threading.RLock,
    ) -> None:
        self._config = config
        self._book = book
        self._index = index
        self._look = look
        self._active_groups = active_groups
        self._compare = compare
        self._lock = lock
        self._places = KeyPlaces(book, config.is_group_included, config.is_topic_included)
        self._translator = Translator(config, book, self._places, index)
        self._pairs = {pair: PairState() for pair in config.pairs()}
        self._behind_since: dict[tuple[str, str, str, str, int], int] = {}

    def report(self, now_ms: int, streams: Streams, keys: Keys | None = None) -> Rows:
        """Return a row for every owned key, or for *keys*, and every cluster that it is translated to.

        *streams* were asked before the book was brought up to date, so what they call read is in it.
        """
        self._index.refresh()
        rows: list[Rows] = []
        for target in dict.fromkeys(target for _, target in self._pairs):
            with self._lock:
                chosen = np.arange(len(self._book.keys)) if keys is None else keys
                owned = owned_keys(self._book, self._places, self._pairs, target, chosen)
                commits = {source: to_commits(self._book, source, key) for source, key in owned.items() if len(key)}
                partitions = {place for each in commits.values() for place in self._places.partitions_of(each.key)}
                frontiers = self._translator.frontiers([target, *commits], partitions)
            if not partitions:
                continue
            looks, active = self._look([target, *commits], partitions), self._active_groups(target)
            seen, around = Seen(looks, frontiers), Around(active, streams, now_ms)
            rows += [self._of_pair(source, target, each, seen, around) for source, each in commits.items()]
        return joined_rows(rows)

    def _of_pair(self, source: str, target: str, commits: Commits, seen: Seen, around: Around) -> Rows:
        found = self._find(source, target, commits, seen, around.now_ms)
        is_active = around.is_active(found)
        facts = self._facts(found, np.array([bool(one) for one in is_active], np.bool_), around)
        stalled_after_ms = self._ms(self._config.status.stalled_after)
        status = decide(facts, stalled_after_ms)
        why = reasons(facts, status, stalled_after_ms)
        self._prove(found, status, why, is_comparable(facts, status))
        return to_columns(found, facts, status, why, is_active)

    def _find(self, source: str, target: str, commits: Commits, seen: Seen, now_ms: int) -> Found:
        """Translate and measure, under the lock."""
        with self._lock:
            pair = self._pairs[source, target]
            pair.columns.fit(len(self._book.keys))
            answers = self._translator.translate(pair, source, target, commits, seen, now_ms)
            there = self._book.clusters[target].columns
            standing = np.where(there["is_deleted"][commits.key], -1, there["actual_offset"][commits.key])
            parts = [
                measure(
                    self._sides(source, target, place, seen, now_ms),
                    commits.offset[rows], answers.wanted[rows], standing[rows],
                )
                for place, rows in self._places.slices(commits.key)
            ]  # fmt: skip
            keys = [self._book.keys[key] for key in commits.key.tolist()]
        silent = isinstance(seen.looks[source], ClusterError)
        return Found(source, target, keys, commits, answers, standing, Measured.joined(parts), silent)

    def _sides(self, source: str, target: str, place: TopicPartition, seen: Seen, now_ms: int) -> Sides:
        index, status = self._index, self._config.status
        return Sides(
            source_code=index.code(source),
            target_code=index.code(target),
            source=index.log(source, place.topic, place.partition),
            target=index.log(target, place.topic, place.partition),
            source_view=self._translator.view(source, place, seen),
            target_view=self._translator.view(target, place, seen),
            origins={index.code(alias): alias for alias in self._config.clusters},
            now_ms=now_ms,
            young_since_ms=now_ms - self._ms(self._config.sync.hole_grace),
            share_since_ms=now_ms - self._ms(status.shape_window),
        )

    def _facts(self, found: Found, is_active: NDArray[np.bool_], around: Around) -> Facts:
        answers, measured, streams, count = found.answers, found.measured, around.streams, len(found.keys)
        is_there = (found.standing >= 0) & (measured.repeats == 0) & (measured.skipped == 0)
        return Facts(
            state=answers.state,
            wanted=answers.wanted,
            standing=found.standing,
            repeats=np.maximum(measured.repeats, 0),
            skipped=measured.skipped,
            duplicates_at_most=answers.duplicates_at_most,
            unread=measured.unread,
            late=measured.late,
            unknown=measured.unknown,
            unread_commits=np.array([around.unread_commits(found, key[0]) for key in found.keys], np.int64),
            is_target_active=is_active,
            is_source_silent=np.full(count, found.is_source_silent),
            staleness_ms=self._staleness_ms(found, is_there | (answers.wanted < 0), around.now_ms),
            mirror_lag_ms=measured.mirror_lag_ms,
            sync_silent_ms=np.full(count, streams.sync_silent_ms(found.source, found.target)),
            index_silent_ms=np.where(measured.unknown > 0, streams.index_still_ms(found.source, found.target), 0),
        )

    def _staleness_ms(self, found: Found, is_settled: NDArray[np.bool_], now_ms: int) -> Int64s:
        """Return since when each row has been behind: since its commit, or since a report first saw it so."""
        stale = np.zeros(len(found.keys), np.int64)
        for row, (key, is_done) in enumerate(zip(found.keys, is_settled.tolist(), strict=True)):
            place = (found.source, found.target, *key)
            if is_done:
                self._behind_since[place] = NEVER
                continue
            since = self._behind_since.get(place)
            if since is None or since == NEVER:
                since = int(found.commits.at_ms[row]) if since is None else now_ms
                self._behind_since[place] = since
            stale[row] = max(0, now_ms - max(since, int(found.commits.at_ms[row])))
        return stale

    def _prove(
        self, found: Found, status: NDArray[np.intp], why: list[str | None], is_asked: NDArray[np.bool_]
    ) -> None:
        """Compare the next records of what would be in sync; where they differ it is not."""
        questions = {
            row: Question(
                found.source, found.target, TopicPartition(found.keys[row][1], found.keys[row][2]),
                int(found.commits.offset[row]), int(found.standing[row]),
            )
            for row in np.flatnonzero(is_asked).tolist()
        }  # fmt: skip
        differences = self._compare(list(dict.fromkeys(questions.values()))) if questions else {}
        for row, question in questions.items():
            difference = differences[question]
            if difference is not None:
                status[row], why[row] = STATUSES.index(Status.MIRRORING), difference

    @staticmethod
    def _ms(duration: timedelta) -> int:
        return int(duration.total_seconds() * 1000)
