"""What is known of groups beside their offsets: where they were active, where they have members, where they were moved.

The rule that makes a home of it is in ``home.py``. Guarded by the lock of the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.home import NO_HOME, Activity, Homes, homes
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.translate.index.runs import Int64s


class Move(NamedTuple):
    """``cutover apply`` has moved a group and stream to a cluster, at most *at_ms* by our clock."""

    group_id: str
    stream: str
    cluster: str
    at_ms: int


class GroupHomes:
    """One row per group and stream of *keys*; *silence_ms* is ``sync.home_silence``."""

    def __init__(self, clusters: Sequence[str], keys: KeyIndex, silence_ms: int) -> None:
        self._clusters, self._keys, self.silence_ms = list(clusters), keys, silence_ms
        self._committed = ColumnStore(dict.fromkeys(clusters, ABSENT))
        self._members = ColumnStore(dict.fromkeys(clusters, ABSENT))
        self._with_members = dict.fromkeys(clusters, frozenset[str]())
        self._seen_ms: dict[str, dict[str, int]] = {alias: {} for alias in clusters}  # when groups last had members
        self._known = 0  # of so many streams it is in the columns who has members
        self._moves = ColumnStore({"to": NO_HOME, "at_ms": ABSENT})

    def note_commits(self, alias: str, rows: KeyRows, made_ms: Int64s) -> None:
        """Note commits of the groups' own at a cluster, by the row of their key and our clock; shapes (commits,)."""
        streams = self._keys.streams_of(rows)
        self._fit()
        np.maximum.at(self._committed[alias], streams, made_ms)

    def note_members(self, alias: str, groups: Collection[str], now_ms: int) -> None:
        """Note which groups have members at a cluster now: all that are not named have none, or nobody can tell.

        It counts for topics too on which a group commits for the first time later.
        """
        self._fit()
        self._with_members[alias] = frozenset(groups)
        self._seen_ms[alias] |= dict.fromkeys(groups, now_ms)
        has_members = np.array([group_id in groups for group_id, _ in self._keys.streams], np.bool_)
        self._members[alias][has_members] = now_ms

    def with_members(self, alias: str) -> frozenset[str]:
        """Return the groups that had members at a cluster when they were noted last."""
        return self._with_members[alias]

    def note_moves(self, moves: Iterable[Move]) -> None:
        """Note moves; of several of one group and stream the last counts."""
        for group_id, stream, cluster, at_ms in moves:
            number = self._keys.stream(group_id, stream)
            self._fit()
            if cluster in self._clusters:
                self._moves["to"][number], self._moves["at_ms"][number] = self._clusters.index(cluster), at_ms

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

    def moved_ms(self, rows: KeyRows, alias: str) -> Int64s:
        """Return when ``cutover`` has moved the group of each row to a cluster; ABSENT: not, or on to another one."""
        streams = self._keys.streams_of(rows)
        self._fit()
        is_there = self._moves["to"][streams] == self._clusters.index(alias)
        return np.where(is_there, self._moves["at_ms"][streams], ABSENT)

    def _activity(self, streams: KeyRows) -> Activity:
        self._fit()
        return Activity(
            np.array([self._committed[alias][streams] for alias in self._clusters]),
            np.array([self._members[alias][streams] for alias in self._clusters]),
            self._moves["to"][streams],
            self._moves["at_ms"][streams],
        )

    def _fit(self) -> None:
        streams = self._keys.streams
        for store in (self._committed, self._members, self._moves):
            store.fit(len(streams))
        if len(streams) > self._known:
            fresh = [group_id for group_id, _ in islice(streams, self._known, None)]
            for alias, seen_ms in self._seen_ms.items():
                self._members[alias][self._known :] = [seen_ms.get(group_id, ABSENT) for group_id in fresh]
            self._known = len(streams)
