"""Which commits at a target were written by a driver that died before it recorded them: answers to the last commits.

A driver commits first and records afterwards. What it leaves in between matches no write that is known to the next one,
and would count as the group's own: its cluster would be the home, as long as the group commits nowhere else. So at a
start after such an end a commit counts as ours if it is the answer to the last commit elsewhere, and the group has no
members there::

    dc1    the group commits 100
    dc2                           we commit 102, and die        102 = t(100), and nobody reads there: ours

What was answered may be known no more: the group has committed again since, or the index has grown. Then the answer
lies between what we had written there before and the answer to the newest commit, for both only grow::

    dc1    100          150                   200, 250          home, and nobody else commits
    dc2        102          154, and we die                     102 is ours, t(250) = 257: 154 is ours

Where nobody had written anything there before, it was at the end of what was indexed then. All this holds at the
group's home alone, where no other cluster is active, and for commits of the driver's last moments.

An answer below the target's log start was written as that log start, which has moved on since: so does what lies
between count as ours. A reset to there while nobody drove is forgotten: what it repeats is there no more.

Not an answer that is recorded as given: its record was read. So a reset to an earlier position is the group's own.

What is taken for ours wrongly is a reset to what its group has read elsewhere: the target is set to the answer again.
Errs to the group's own: a driver that goes back with the group, and dies before it records that, may be forgotten.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, TopicPartition
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import IS_HELD, LastTranslations
from offset_sync.state.snapshot import Snapshot, frontiers
from offset_sync.state.source_memory import OF_OURS
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translation import Pair
from offset_sync.state.translator import Translator
from offset_sync.sync.reconciliation import Fetcher
from offset_sync.translate.given_offsets import GivenOffsets
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s

PATIENCE_S = 3.0
"""So long the commits of the other clusters are waited for: theirs may come with a micro-batch beside."""
_LAST = (("actual_offset", "actual_made_ms"), ("genuine_offset", "genuine_made_ms"))
"""What may have been answered last, and when it was committed."""
_BEFORE = -2
_LAST_MOMENTS_MS = 30_000
"""So long after a driver has recorded anything it may have written what it has not recorded."""


class LeftWrites:
    """Tells them by what *state* knows; *translator* answers, *fetcher* asks the clusters."""

    def __init__(
        self, state: SyncState, translator: Translator, fetcher: Fetcher, patience_s: float = PATIENCE_S
    ) -> None:
        self._state, self._translator, self._fetcher, self._patience_s = state, translator, fetcher, patience_s
        self._taken_in = {alias: threading.Event() for alias in state.offsets.clusters}
        self._held: dict[str, Int64s] = {}
        self._alive_ms = ABSENT

    def begin(self) -> None:
        """Note what the tables say, before any log is read on: what is held, and when the driver before was alive."""
        with self._state.lock:
            for alias, each in self._state.offsets.clusters.items():
                actual, is_own = each.columns["actual_offset"], each.columns["actual_is_own"]
                is_genuine = ~is_own & ((actual != ABSENT) | (each.columns["genuine_offset"] != ABSENT))
                self._held[alias] = np.where(is_genuine, NO_LIMIT, actual)
                self._alive_ms = max(self._alive_ms, int(each.columns["captured_ms"].max(initial=ABSENT)))
            for pair in self._state.last_translations:
                at_ms = self._state.last(*pair).columns["restored_ms"]
                self._alive_ms = max(self._alive_ms, int(at_ms[at_ms != OF_OURS].max(initial=ABSENT)))

    def note_taken_in(self, alias: str) -> None:
        """Note that commits of a cluster were taken in since the start."""
        self._taken_in[alias].set()

    def of(self, target: str, rows: KeyRows, offset: Int64s, made_ms: Int64s) -> NDArray[np.bool_]:
        """Return which commits of *offset* at *target*, in the rows of their keys, are answers; shapes (commits,).

        *made_ms* is when they were made by our clock: what they answer was committed before.
        """
        is_ours = np.zeros(len(rows), np.bool_)
        sources = [source for source, other in self._state.last_translations if other == target]
        for source in sources:
            self._taken_in[source].wait(self._patience_s)
        self._state.index.refresh()
        members = self._state.homes.with_members(target)
        is_asked = np.array([self._state.offsets.keys[row].group_id not in members for row in rows.tolist()], np.bool_)
        for source in sources:
            is_ours |= is_asked & self._answers(source, target, rows, offset, made_ms)
        return is_ours

    def _answers(self, source: str, target: str, rows: KeyRows, offset: Int64s, made_ms: Int64s) -> NDArray[np.bool_]:
        state, found = self._state, np.zeros(len(rows), np.bool_)
        with state.lock:
            column, keys = state.offsets.clusters[source].columns, np.unique(rows)
            keys = keys[state.keys.is_included(keys) & (column["last_offset"][keys] != ABSENT)]
            commits = np.stack([column[name][keys] for name, _ in _LAST])
            times = np.stack([column[name][keys] for _, name in _LAST])
            last = state.last(source, target)
            recorded = _recorded(last, column, keys, commits)
            given = self._given(source, target, keys)
            partitions = state.keys.partitions_of(keys)
            if not partitions:
                return found
            known_to, asked_at_ms = frontiers(state.index, [target, source], set(partitions)), state.now_ms()
        snapshot = Snapshot(self._fetcher.fetch([target, source], partitions), known_to, asked_at_ms)
        pair = Pair(state.last(source, target), source, target, snapshot, state.now_ms())
        for partition in partitions:
            place = np.flatnonzero(np.isin(keys, state.keys.keys_in(partition)))
            least, most = self._translated(pair, partition, commits[:, place])
            for row in np.flatnonzero(np.isin(rows, keys[place])).tolist():
                number = int(np.searchsorted(keys[place], rows[row]))
                mine = times[:, place[number]]
                is_answer = (least[:, number] <= offset[row]) & (offset[row] <= most[:, number])
                is_answer &= mine <= made_ms[row]
                if made_ms[row] <= self._alive_ms + _LAST_MOMENTS_MS:
                    before = int(given[place[number]])
                    if before == ABSENT:
                        before = self._indexed_end(target, partition, int(made_ms[row])) - 1
                    is_answer |= (before < offset[row]) & (offset[row] <= most[:, number])
                is_answer &= recorded[:, place[number]] != _BEFORE
                is_answer &= recorded[:, place[number]] != offset[row]
                found[row] = is_answer.any()
        return found

    def _given(self, source: str, target: str, keys: KeyRows) -> Int64s:
        """Return what we had written at *target* before, for *keys* at home at *source*; ABSENT where nobody had.

        Above all offsets where nothing can be said: the group had committed there, or may be at home elsewhere.
        """
        state, known = self._state, len(self._held[target])
        homes, last = state.homes_of(keys), state.last(source, target).columns
        is_at_home = (homes.home == list(state.offsets.clusters).index(source)) & ~homes.is_contested
        held = np.where(keys < known, self._held[target][np.minimum(keys, known - 1)], ABSENT) if known else ABSENT
        recorded = np.where(IS_HELD[last["outcome"][keys]], last["wanted"][keys], ABSENT)
        return np.where(is_at_home, np.maximum(held, recorded), NO_LIMIT)

    def _indexed_end(self, target: str, partition: TopicPartition, at_ms: int) -> int:
        """Return an offset that the index had not passed at *at_ms*; errs to less, by a second."""
        log = self._state.index.log(target, *partition)
        since = log.indexing_times.first_since(at_ms - 1_000) if log is not None else None
        return int(NO_LIMIT) if since is None else since

    def _translated(self, pair: Pair, partition: TopicPartition, commits: Int64s) -> tuple[Int64s, Int64s]:
        """Return between what the answers to *commits* of keys were, all of shape (kinds, keys); ABSENT: there is none.

        One that retention has passed was raised to the log start of then, which nobody knows any more.
        """
        offset = commits.ravel()
        unknown = np.full(len(offset), ABSENT, np.int64)
        now = np.full(len(offset), pair.now_ms, np.int64)
        given = GivenOffsets(np.maximum(offset, 0), now, unknown, [None] * len(offset))
        asked = self._translator.ask_given(pair, partition, given)
        self._translator.compute(asked)
        answers, is_there = self._translator.answers(asked), offset != ABSENT
        most = np.where(is_there, answers.wanted, ABSENT)
        least = np.where(is_there & (answers.wanted != ABSENT), np.minimum(answers.offset, answers.wanted), ABSENT)
        return least.reshape(commits.shape), most.reshape(commits.shape)


def _recorded(last: LastTranslations, column: ColumnStore, keys: KeyRows, commits: Int64s) -> Int64s:
    """Return what the driver before has recorded as the answer to *commits*, shape (kinds, keys) as in ``_LAST``.

    ABSENT for those after the last one that it recorded, and :data:`_BEFORE` for those before: the newest is answered.
    """
    answered, at_ms, wanted = (last.columns[name][keys] for name in ("source_offset", "source_at_ms", "wanted"))
    is_answered = IS_HELD[last.columns["outcome"][keys]] & (answered != ABSENT)
    found = np.full(commits.shape, ABSENT, np.int64)
    for kind, name in enumerate(("actual_at_ms", "genuine_at_ms")):
        found[kind] = np.where(
            column[name][keys] < at_ms, _BEFORE, np.where(column[name][keys] == at_ms, wanted, ABSENT)
        )
    return np.where(is_answered, found, ABSENT)
