"""The home of a group: the one cluster per group and topic whose position counts.

A cluster is *active* for a group and topic when the group commits there by itself, or has members there; it is silent
when both ended a while ago. Activity before the last ``cutover`` counts only at the cluster that it moved the group
to::

                     silence
    dc1   c  c  c |-----------|                 home is dc1 until it has been silent for so long,
    dc2               c   c   c  c              COMMITTED_AT_BOTH meanwhile, then home is dc2

    dc1   c  c  c
    dc2              cutover                    home is dc2 at once, idle partitions too

All times are by the clock of ``sync_offsets``; ``cluster_clock.py`` converts those of brokers to it. Errs
to COMMITTED_AT_BOTH, in which nothing is written: the group's positions wait, and none is moved past what it has read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s

NO_HOME = -1
UNCERTAIN_MS = 2_000
"""Times of two clusters that are no further apart count as simultaneous, even if the clocks are right."""


_UNKNOWN = 2


def clusters_text(code: int, clusters: Sequence[str]) -> str:
    """Return the *clusters* in a *code*, which has two bits for each: 0 no, 1 yes, 2 unknown; as ``dc1, dc2?``."""
    said = ((code >> 2 * number & 3, alias) for number, alias in enumerate(clusters))
    return ", ".join(f"{alias}?" if each == _UNKNOWN else alias for each, alias in said if each)


def clusters_code(text: str, clusters: Sequence[str]) -> int:
    """Return the code of a text of :func:`clusters_text`; other clusters are left out."""
    said = text.split(", ")
    codes = (_UNKNOWN if f"{alias}?" in said else int(alias in said) for alias in clusters)
    return sum(code << 2 * number for number, code in enumerate(codes))


class Activity(NamedTuple):
    """Activity of groups and topics, shape (clusters, n) or (n,); times in ms, ABSENT where there is none.

    *committed_ms* is the latest, *since_ms* the earliest time at which the group may have made its own newest commit at
    each cluster: the same unless commits are polled. *members_ms* is when it was last seen to have members there.
    *moved_to* is the cluster of the last ``cutover apply`` (:data:`NO_HOME`: none), *moved_ms* its time.
    """

    committed_ms: Int64s
    since_ms: Int64s
    members_ms: Int64s
    moved_to: NDArray[np.intp]
    moved_ms: Int64s


class Homes(NamedTuple):
    """The home of each group and topic, :data:`NO_HOME` where it never committed, and where two clusters are active.

    Where *is_contested*, *home* is the cluster that was active last.
    """

    home: NDArray[np.intp]
    is_contested: NDArray[np.bool_]


def last_active(activity: Activity) -> tuple[Int64s, Int64s]:
    """Return the earliest and latest time at which each cluster may have been active last, shape (clusters, n).

    The latest is ABSENT where it was not since the last cutover; the earliest says nothing then. A polled commit that
    may have been made before it was: the group's consumers were stopped then.
    """
    committed_ms, since_ms, members_ms, moved_to, moved_ms = activity
    number = np.arange(len(committed_ms))[:, np.newaxis]
    is_moved_here = (number == moved_to) & (moved_to != NO_HOME)
    is_over = (moved_to != NO_HOME) & ~is_moved_here & (since_ms <= moved_ms)
    latest: Int64s = np.where(is_over, ABSENT, committed_ms)
    latest = np.where(is_moved_here, np.maximum(latest, moved_ms), latest)
    return np.maximum(since_ms, members_ms), np.where(latest != ABSENT, np.maximum(latest, members_ms), latest)


def homes(activity: Activity, now_ms: int, silence_ms: int, uncertain_ms: Int64s | None = None) -> Homes:
    """Return the homes of groups at *now_ms*, where a cluster counts as silent after *silence_ms*.

    *uncertain_ms* is how far the times of each cluster may be off, shape (clusters,), where its clock is wrong.
    With a silence of 0 the newest commit wins, at equal times the first cluster, an order that all drivers share.
    """
    if silence_ms == 0:
        activity = activity._replace(members_ms=np.full_like(activity.members_ms, ABSENT))
    earliest_ms, active_ms = last_active(activity)
    home: NDArray[np.intp] = active_ms.argmax(axis=0)
    newest = active_ms.max(axis=0)
    home[newest == ABSENT] = NO_HOME
    if silence_ms == 0:
        return Homes(home, np.zeros(len(home), np.bool_))
    last_but_one, last = active_ms.argsort(axis=0, kind="stable")[-2:]
    second = np.take_along_axis(active_ms, last_but_one[np.newaxis], axis=0)[0]
    if uncertain_ms is None:
        uncertain_ms = np.zeros(len(active_ms), np.int64)
    first = np.take_along_axis(earliest_ms, last[np.newaxis], axis=0)[0]
    is_near = first - second <= np.maximum(uncertain_ms[last] + uncertain_ms[last_but_one], UNCERTAIN_MS)
    is_contested = (second != ABSENT) & ((second > now_ms - silence_ms) | is_near)
    return Homes(home, is_contested)


class Move(NamedTuple):
    """``cutover apply`` has moved a group and stream to a cluster, at *at_ms* by our clock or before.

    *is_decided*: it has not; a command makes that cluster the home as long as it runs.
    """

    group_id: str
    stream: str
    cluster: str
    at_ms: int
    is_decided: bool = False


class GroupHomes:
    """One row per group and stream of *keys*; *silence_ms* is ``sync.home_silence``."""

    def __init__(self, clusters: Sequence[str], keys: KeyIndex, silence_ms: int) -> None:
        self._clusters, self._keys, self.silence_ms = list(clusters), keys, silence_ms
        self._committed, self._since = (ColumnStore(dict.fromkeys(clusters, ABSENT)) for _ in range(2))
        self._with_members: dict[str, frozenset[str] | None] = dict.fromkeys(clusters)  # None: it did not answer
        self._seen_ms: dict[str, dict[str, int]] = {alias: {} for alias in clusters}  # when groups last had members
        self._moves = ColumnStore({"to": NO_HOME, "at_ms": ABSENT, "is_decided": False})

    def note_commits(self, alias: str, rows: KeyRows, made_ms: Int64s, since_ms: Int64s | None = None) -> None:
        """Note the groups' own commits at a cluster, by the row of their key; shapes (commits,).

        *made_ms* is the latest, *since_ms* the earliest time at which they may have been made, by our clock; None: the
        same.
        """
        streams = self._keys.streams_of(rows)
        self._fit()
        np.maximum.at(self._committed[alias], streams, made_ms)
        np.maximum.at(self._since[alias], streams, made_ms if since_ms is None else since_ms)

    def note_members(self, alias: str, groups: Collection[str] | None, now_ms: int) -> None:
        """Note which groups have members at a cluster now; all others have none. None: it did not answer.

        Then nobody counts as a member there, and what is published says that it is unknown. Members count also for
        topics on which a group first commits later. Errs, as a restart does, to the cluster of the newest commit.
        """
        self._with_members[alias] = frozenset(groups) if groups is not None else None
        seen, known = self._seen_ms[alias], {group_id for group_id, _ in self._keys.streams}
        kept = {group: at_ms for group, at_ms in seen.items() if at_ms > now_ms - self.silence_ms or group in known}
        self._seen_ms[alias] = kept | dict.fromkeys(groups or (), now_ms)

    def with_members(self, alias: str) -> frozenset[str]:
        """Return the groups that had members at a cluster when they were noted last."""
        return self._with_members[alias] or frozenset()

    def members(self, rows: KeyRows) -> Int64s:
        """Return where the group of each row had members when they were noted last, see :func:`clusters_text`."""
        found, groups = np.zeros(len(rows), np.int64), self._groups_of(self._keys.streams_of(rows))
        for number, alias in enumerate(self._clusters):
            here = self._with_members[alias]
            codes = [_UNKNOWN if here is None else int(group_id in here) for group_id in groups]
            found |= np.array(codes, np.int64) << 2 * number
        return found

    def _groups_of(self, streams: KeyRows) -> list[str]:
        names = [*self._keys.streams]
        return [names[number][0] for number in streams.tolist()]

    def note_moves(self, moves: Iterable[Move]) -> None:
        """Note moves; of several of one group and stream the last counts."""
        for group_id, stream, cluster, at_ms, is_decided in moves:
            number = self._keys.stream(group_id, stream)
            self._fit()
            if cluster in self._clusters:
                self._moves["to"][number], self._moves["at_ms"][number] = self._clusters.index(cluster), at_ms
                self._moves["is_decided"][number] = is_decided

    def of(self, rows: KeyRows, now_ms: int, uncertain_ms: Int64s | None = None) -> Homes:
        """Return the home of each of *rows*, shape (keys,), as the number of its cluster; see :func:`homes`."""
        streams, place = np.unique(self._keys.streams_of(rows), return_inverse=True)
        found = homes(self._activity(streams), now_ms, self.silence_ms, uncertain_ms)
        return Homes(found.home[place], found.is_contested[place])

    def committed_ms(self, rows: KeyRows) -> Int64s:
        """Return when the group of each row committed last by itself, per cluster, shape (clusters, keys)."""
        streams = self._keys.streams_of(rows)
        self._fit()
        return np.array([self._committed[alias][streams] for alias in self._clusters])

    def active_ms(self, rows: KeyRows) -> Int64s:
        """Return when each cluster may have been active last for the group of each row, as :func:`last_active` does."""
        return last_active(self._activity(self._keys.streams_of(rows)))[1]

    def moved_ms(self, rows: KeyRows, alias: str) -> Int64s:
        """Return when ``cutover`` moved the group of each row to a cluster; ABSENT: never, or on to another one."""
        streams = self._keys.streams_of(rows)
        self._fit()
        is_there = self._moves["to"][streams] == self._clusters.index(alias)
        return np.where(is_there, self._moves["at_ms"][streams], ABSENT)

    def is_decided(self, rows: KeyRows) -> NDArray[np.bool_]:
        """Return for which rows a command has decided the home."""
        streams = self._keys.streams_of(rows)
        self._fit()
        found: NDArray[np.bool_] = self._moves["is_decided"][streams]
        return found

    def _activity(self, streams: KeyRows) -> Activity:
        self._fit()
        groups = self._groups_of(streams)
        seen_ms = [[of_cluster.get(group_id, ABSENT) for group_id in groups] for of_cluster in self._seen_ms.values()]
        return Activity(
            np.array([self._committed[alias][streams] for alias in self._clusters]),
            np.array([self._since[alias][streams] for alias in self._clusters]),
            np.array(seen_ms, np.int64),
            self._moves["to"][streams],
            self._moves["at_ms"][streams],
        )

    def _fit(self) -> None:
        for store in (self._committed, self._since, self._moves):
            store.fit(len(self._keys.streams))


class UnreadLogs:
    """Clusters whose commit logs are unread: none, until a job that reads them says so. Guarded by the state's lock.

    A cluster that cannot be read at the start must not block the others for ever, so they go on without it. But its
    unread commits may be newer than all that the others hold: a group may have been set back there. Which commits of
    another cluster count meanwhile::

        answered by a driver before    still counts: that driver knew no more of the unread log
        made before this start         waits: the unread log may hold a newer commit
        made after it                  counts: the group is active there now

    After the start is by position in the log, not by a clock: the commit came after its own log had been read to its
    end. Of the unread cluster itself the commits in the tables still count, for in a disaster there is nothing else;
    those being read count once its log is read to its end.
    """

    def __init__(self) -> None:
        self._unread: set[str] = set()
        self._brought: dict[str, set[int]] = {}

    @property
    def aliases(self) -> frozenset[str]:
        """The clusters whose logs are not yet read to their ends."""
        return frozenset(self._unread)

    def begin(self, aliases: Iterable[str]) -> None:
        """Note which clusters a driver that has just started is going to read."""
        self._unread = set(aliases)
        self._brought = {alias: set() for alias in self._unread}

    def note_read(self, aliases: Collection[str]) -> list[str]:
        """Note which logs are read to their ends by now; return those that were not before."""
        fresh = sorted(self._unread.intersection(aliases))
        for alias in fresh:
            self._unread.remove(alias)
            self._brought[alias] = set()  # these may be from before the start
        return fresh

    def note_brought(self, alias: str, rows: KeyRows) -> None:
        """Note the keys, shape (commits,), of genuine commits just read from the log of *alias*."""
        if self._unread:
            self._brought[alias].update(rows.tolist())

    def may_count(self, source: str, rows: KeyRows, is_answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of *rows* that *source* owns may be answered, shape (keys,); *is_answered*: it was already.

        Errs to waiting.
        """
        counts = np.ones(len(rows), np.bool_)
        if not self._unread:
            return counts
        is_brought = np.isin(rows, [*self._brought[source]])
        if source in self._unread:
            counts = ~is_brought
        if self._unread - {source}:
            counts &= is_answered | is_brought
        return counts
