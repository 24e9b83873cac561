"""Recognise commits at a target that the previous driver wrote and did not record: answers to the last commits.

A driver commits first and records afterwards. If it dies in between, its commit matches no write that the next driver
knows, and would count as the group's own: the target would be the home until the group commits elsewhere. So on the
next start a commit counts as ours if it answers a commit that was the newest elsewhere when it was made, or nearly so,
and the group has no members there::

    dc1    100           150                    200, 250        read at the start, as is dc2's commit
    dc2                        152, and we die                  152 = t(150), and no members there: ours

An answer that waited for the index was the end of the target's index at that time, or the answer to the end of the
source's, and is higher today. It counts as ours if the source is the group's home, no other cluster is active, and it
was made in the last moments of the previous driver.

An answer below the target's log start was written as the log start, which has advanced since. So offsets from the
answer to today's log start count as ours. A reset to there while no driver ran is forgotten: what it would repeat is
deleted.

An answer that is recorded already does not count, as its commit record was read before. So a reset to an earlier
position is the group's own.

A driver answers from the index, so the source's index alone answers here; later elections and truncations are ignored.
A driver that reached the source has passed holes that have aged since the index last grew, one that did not has not: a
commit counts as ours if it is the answer of either.

Errs to the group's own: the cluster of an unrecognised commit becomes the home for a while. That is dangerous where the
commit is past records that the group has not read, or is to read again: above a truncation of the target, where it was
raised to the log start, and if the group has stepped back since.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, ClusterPartition, Outcome, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Fetcher, Snapshot
from offset_sync.state.committed_offsets import LAST_MOMENTS_MS, CommitRecords
from offset_sync.state.group_homes import UNCERTAIN_MS
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import IS_HELD, OF_OURS
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Pair, Translator
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import GivenOffsets

PATIENCE_S = 20.0
"""How long a start waits, in all, for the commits of the other clusters and for a target's metadata."""
_POLL_S = 0.2
_GONE = int(Outcome.GONE)
_NOT_ASKED = "not queried: its index is used"
_INDEXED_BEFORE_MS, _INDEXED_AFTER_MS = 1_000, 2_000
"""How far the time of an answer may be from the indexing time of the end of the index that it equals."""


class _Commits(NamedTuple):
    """Commits at a cluster: key rows, offsets, times by its clock and by ours, whether ours; shape (commits,)."""

    rows: KeyRows
    offset: Int64s
    at_ms: Int64s
    made_ms: Int64s
    is_own: NDArray[np.bool_]

    def take(self, chosen: NDArray[Any]) -> _Commits:
        return _Commits(*(each[chosen] for each in self))


_NO_NUMBERS = np.empty(0, np.int64)
_NONE = _Commits(np.empty(0, np.intp), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, np.empty(0, np.bool_))


class LeftWrites:
    """Recognises them from *state*; *translator* answers, *fetcher* queries the clusters.

    *is_read* tells whether a cluster's commits from before the start are all read; it raises when the job is to end.
    """

    def __init__(
        self,
        state: SyncState,
        translator: Translator,
        fetcher: Fetcher,
        is_read: Callable[[str], bool],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._state, self._translator, self._fetcher, self._is_read = state, translator, fetcher, is_read
        self._patience_s, self._until = patience_s, math.inf
        self._is_whole = dict[str, bool]()  # by cluster with commits read, whether these are all
        self._commits = {alias: [_NONE] for alias in state.offsets.clusters}
        self._alive_ms = ABSENT

    def begin(self) -> None:
        """Note the last commits and when previous drivers ran, from the tables; before any log is read further."""
        with self._state.lock:
            for pair in self._state.last_translations:
                at_ms = self._state.last(*pair).columns["restored_ms"]
                self._alive_ms = max(self._alive_ms, int(at_ms[at_ms != OF_OURS].max(initial=ABSENT)))
            for alias, each in self._state.offsets.clusters.items():
                column = each.columns
                self._alive_ms = max(self._alive_ms, int(column["captured_ms"].max(initial=ABSENT)))
                for kind in ("genuine", "actual"):
                    rows = np.flatnonzero(column[f"{kind}_offset"] >= 0)
                    offset, at_ms, made_ms = (column[f"{kind}_{name}"][rows] for name in ("offset", "at_ms", "made_ms"))
                    is_own = column["actual_is_own"][rows] & (kind == "actual")
                    self._commits[alias].append(_Commits(rows, offset, at_ms, made_ms, is_own))

    def note(
        self, alias: str, rows: KeyRows, records: CommitRecords, is_own: NDArray[np.bool_], *, is_whole: bool
    ) -> None:
        """Note commits read from a cluster since the start, in the *rows* of their keys; *is_whole*: these are all."""
        commits = _Commits(rows, records.offset, records.committed_at_ms, records.made_ms, is_own)
        self._commits[alias].append(commits.take(records.is_position))
        self._is_whole[alias] = is_whole

    def forget(self) -> None:
        """Drop the noted commits once every log is read to its end: no later record is of a previous driver."""
        self._commits = {alias: [_NONE] for alias in self._commits}

    def of(self, target: str, rows: KeyRows, offset: Int64s, made_ms: Int64s) -> NDArray[np.bool_]:
        """Return which commits of *offset* at *target*, in the rows of their keys, are answers; shapes (commits,).

        *made_ms* is when they were made by our clock; the commits that they answer are older.
        """
        is_ours = np.zeros(len(rows), np.bool_)
        written = _Commits(rows, offset, made_ms, made_ms, is_ours)
        sources = [source for source, other in self._state.last_translations if other == target]
        self._until = min(self._until, time.monotonic() + self._patience_s)
        while not all(map(self._is_taken_in, sources)) and time.monotonic() < self._until:
            time.sleep(_POLL_S)
        # Skip clusters read in part: their newest commit is unknown. That of a silent one is in the tables.
        sources = [each for each in sources if each not in self._is_whole or self._is_taken_in(each)]
        self._state.index.refresh()
        members = self._state.homes.with_members(target)
        is_asked = np.array([self._state.offsets.keys[row].group_id not in members for row in rows.tolist()], np.bool_)
        for source in sources:
            is_ours |= is_asked & self._answers(source, target, written)
        return is_ours

    def _is_taken_in(self, alias: str) -> bool:
        return self._is_read(alias) or self._is_whole.get(alias, False)

    def _said(self, target: str, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        """Return the metadata of *target*, once it covers all *partitions*.

        Truncations since are ignored: the previous driver answered from the index.
        """
        said = self._fetcher.fetch([target], partitions)[target]
        while not _tells_all(said, partitions) and time.monotonic() < self._until:
            time.sleep(_POLL_S)
            self._is_read(target)  # raises where the job is to end
            said = self._fetcher.fetch([target], partitions)[target]
        none = frozenset[TopicPartition]()
        return said if isinstance(said, ClusterError) else replace(said, cut=none, unsettled=none)

    def _answers(self, source: str, target: str, written: _Commits) -> NDArray[np.bool_]:
        state, found = self._state, np.zeros(len(written.rows), np.bool_)
        with state.lock:
            commits, recorded = self._asked(source, target, written), self._recorded(source, target)[written.rows]
            partitions = state.keys.partitions_of(np.unique(commits.rows))
            if not partitions:
                return found
        metadata = {target: self._said(target, partitions), source: ClusterError(source, _NOT_ASKED)}
        uncut = dict.fromkeys((ClusterPartition(target, *each) for each in partitions), 0)
        snapshot = Snapshot(metadata, uncut, state.now_ms())
        pair = Pair(state.last(source, target), source, target, snapshot, state.now_ms())
        watched = pair._replace(is_watched=True)
        for partition in partitions:
            keys = state.keys.keys_in(partition)
            asked = commits.take(np.isin(commits.rows, keys))
            of_either = [self._translated(each, partition, asked.offset) for each in (pair, watched)]
            most = np.maximum(*(greatest for _, greatest in of_either))
            # Most of the groups' own commits are above all answers.
            may_be = np.isin(written.rows, keys) & (written.offset <= _greatest(asked.rows, most, written.rows))
            to_ends: dict[tuple[int, int], Int64s] = {}
            for row in np.flatnonzero(may_be & (written.offset != recorded)).tolist():
                key, offset, made_ms = (int(each[row]) for each in (written.rows, written.offset, written.made_ms))
                newest = _newest_then(asked, key, made_ms)
                is_answer = any(((a[newest] <= offset) & (offset <= b[newest])).any() for a, b in of_either)
                found[row] = is_answer or (
                    offset <= most[newest].max(initial=ABSENT)
                    and self._may_have_waited(source, key, made_ms)
                    and self._was_end_of_index(pair, partition, offset, made_ms, to_ends)
                )
        return found

    def _asked(self, source: str, target: str, written: _Commits) -> _Commits:
        """Return the commits at *source* that were made before those *written* for the same keys.

        Commits older than the last one answered are left out: drivers answer the newest only.
        """
        found = _Commits(*(np.concatenate(each) for each in zip(*self._commits[source], strict=True)))
        found = found.take(np.isin(found.rows, written.rows) & self._state.keys.is_included(found.rows))
        written_ms = _greatest(written.rows, written.made_ms, found.rows)
        found = found.take(found.made_ms <= written_ms + UNCERTAIN_MS)
        is_at_home = self._state.homes_of(found.rows).home == list(self._commits).index(source)
        found = found._replace(is_own=found.is_own & ~is_at_home)  # there it is the group's position
        last = self._state.last(source, target).columns
        return found.take(
            ~(self._is_recorded(source, target)[found.rows] & (found.at_ms < last["source_at_ms"][found.rows]))
        )

    def _recorded(self, source: str, target: str) -> Int64s:
        """Return the last recorded answer of each key; ABSENT: none."""
        return np.where(self._is_recorded(source, target), self._state.last(source, target).columns["wanted"], ABSENT)

    def _is_recorded(self, source: str, target: str) -> NDArray[np.bool_]:
        last = self._state.last(source, target).columns
        is_told = IS_HELD[last["outcome"]] | (last["outcome"] == _GONE)  # a home that was left keeps its answer
        found: NDArray[np.bool_] = is_told & (last["source_offset"] != ABSENT)
        return found

    def _may_have_waited(self, source: str, key: int, made_ms: int) -> bool:
        """Return whether a previous driver may have answered with the end of the index; errs to False."""
        state = self._state
        with state.lock:
            homes = state.homes_of(np.array([key]))
            is_at_home = homes.home[0] == list(state.offsets.clusters).index(source) and not homes.is_contested[0]
        return bool(is_at_home and abs(made_ms - self._alive_ms) < LAST_MOMENTS_MS)

    def _was_end_of_index(
        self, pair: Pair, partition: TopicPartition, offset: int, made_ms: int, answers: dict[tuple[int, int], Int64s]
    ) -> bool:
        """Return whether *offset* may have been the end of the target's index, or the answer to the source's end.

        No answer is above the end of the target's index. *answers* caches those to ends of the source.
        """
        first, last = self._ends_then(pair.target, partition, made_ms)
        if offset > last:
            return False
        if first <= offset:
            return True
        ends = self._ends_then(pair.source, partition, made_ms)
        if ends not in answers:
            answers[ends], _ = self._translated(pair, partition, np.array(ends, np.int64))
        least, most = answers[ends].tolist()
        return bool(ABSENT < least <= offset <= most)

    def _ends_then(self, alias: str, partition: TopicPartition, made_ms: int) -> tuple[int, int]:
        """Return the least and greatest offset where a log's index may have ended then; NO_LIMIT: where it ends today.

        If nothing was indexed before, there was no end: a reset to the beginning is the group's own.
        """
        with self._state.lock:
            log = self._state.index.log(alias, *partition)
            if log is None:
                return NO_LIMIT, ABSENT
            times, frontier = log.indexing_times, log.frontier
            began = times.first_since(0)
            first, last = (times.first_since(made_ms + each) for each in (-_INDEXED_BEFORE_MS, _INDEXED_AFTER_MS))
        most = frontier if last is None else last
        if first is None:
            return NO_LIMIT, most
        return first + 1 if first == began else first, most

    def _translated(self, pair: Pair, partition: TopicPartition, offset: Int64s) -> tuple[Int64s, Int64s]:
        """Return the least and greatest that answers to *offset* may have been, shapes (commits,); ABSENT: none.

        Answers below the log start were raised to the log start at the time, which is no longer known.
        """
        unknown, now = np.full(len(offset), ABSENT, np.int64), np.full(len(offset), pair.now_ms, np.int64)
        asked = self._translator.ask_given(pair, partition, GivenOffsets(offset, now, unknown, [None] * len(offset)))
        self._translator.compute(asked)
        answers = self._translator.answers(asked)
        least = np.where(answers.wanted != ABSENT, np.minimum(answers.offset, answers.wanted), ABSENT)
        return least, answers.wanted


def _tells_all(said: ClusterMetadata | ClusterError, partitions: Collection[TopicPartition]) -> bool:
    return not isinstance(said, ClusterError) and all(
        each.topic in said.refused or said.log_end(each) is not None for each in partitions
    )


def _greatest(rows: KeyRows, values: Int64s, asked: KeyRows) -> Int64s:
    """Return, for the key of each of *asked*, the greatest of the *values* of its *rows*; ABSENT: none."""
    found = np.full(int(max(rows.max(initial=-1), asked.max(initial=-1))) + 1, ABSENT, np.int64)
    np.maximum.at(found, rows, values)
    return found[asked]


def _newest_then(commits: _Commits, key: int, made_ms: int) -> NDArray[np.intp]:
    """Return the rows of a key's *commits* that may have been the newest at *made_ms*, and answered."""
    rows = np.flatnonzero((commits.rows == key) & (commits.made_ms <= made_ms + UNCERTAIN_MS))
    rows = rows[np.argsort(commits.made_ms[rows], kind="stable")]
    followed_ms = np.append(commits.made_ms[rows][1:], made_ms)[: len(rows)]
    rows = rows[followed_ms > made_ms - LAST_MOMENTS_MS]
    return rows[~commits.is_own[rows]]
