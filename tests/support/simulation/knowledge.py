"""What a driver was told of groups beside their offsets, and where they are at home by that: not by the code itself.

Times and authors are judged when a record is written down: the oracle need not guess what a wrong clock makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import NamedTuple

from offset_sync.model.values import ABSENT

UNCERTAIN_MS = 2_000
Stream = tuple[str, str]
"""A group and a topic."""
Span = tuple[int, int]
"""The earliest and the latest time at which a commit may have been made: the same unless commits are polled."""
_NEVER = ABSENT, ABSENT


def later(one: Span, other: Span) -> Span:
    """Return when the later of two commits was made."""
    return max(one[0], other[0]), max(one[1], other[1])


class Home(NamedTuple):
    """Where a group is at home (None: it never committed), and whether two clusters are active."""

    cluster: str | None
    is_contested: bool


class Moved(NamedTuple):
    """To where, and when, by the clock of the driver that noticed it."""

    cluster: str
    at_ms: int


@dataclass
class Knowledge:
    """Of one driver: the last commits of groups' own by cluster and partition, the newest of all, members, moves."""

    clusters: tuple[str, ...]
    silence_ms: int
    uncertain_ms: Callable[[str], int] = lambda _alias: 0
    last: dict[tuple[str, str, str, int], Span] = field(default_factory=dict)
    by_log: dict[tuple[str, str, str, int], Span] = field(default_factory=dict)  # the same without polls
    newest: dict[tuple[str, str, str], Span] = field(default_factory=dict)
    polled: frozenset[str] = frozenset()
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    seen_ms: dict[tuple[str, str], int] = field(default_factory=dict)
    moved: dict[Stream, list[Moved]] = field(default_factory=dict)

    def note(self, alias: str, commits: Iterable[tuple[tuple[str, str, int], Span]]) -> None:
        """Note genuine commits: key and when each was made, by our clock."""
        for (group, topic, partition), made in commits:
            self.last[alias, group, topic, partition] = made
            if made[0] == made[1]:
                self.by_log[alias, group, topic, partition] = made
            newest = self.newest.get((alias, group, topic), _NEVER)
            self.newest[alias, group, topic] = later(newest, made)

    def note_members(self, members: Mapping[str, frozenset[str]], now_ms: int) -> None:
        """Note which groups have members at the clusters that answer now."""
        self.members = dict(members)
        self.seen_ms |= {(alias, group): now_ms for alias, groups in members.items() for group in groups}

    def homes(self, group: str, topic: str, now_ms: int) -> set[Home]:
        """Return where the group may be at home now: a start knows of each partition its last commit, no other.

        Members of long ago may be forgotten: those of a group of which no commit was read at that time are.
        """
        found, since_ms = set(), now_ms - self.silence_ms
        recent = {each: at_ms for each, at_ms in self.seen_ms.items() if at_ms > since_ms}
        moves: list[Moved | None] = [*self.moved.get((group, topic), [])] or [None]
        choices = [self._active(alias, group, topic) for alias in self.clusters]
        for moved, seen_ms in product(moves, (self.seen_ms, recent)):
            for committed in product(*choices):
                found |= self._homes(dict(zip(self.clusters, committed, strict=True)), group, moved, seen_ms, now_ms)
        return found

    def _active(self, alias: str, group: str, topic: str) -> list[Span]:
        newest = self.newest.get((alias, group, topic), _NEVER)
        of_topic = {key: at for key, at in self.last.items() if key[:3] == (alias, group, topic)}
        found = {newest, reduce(later, of_topic.values(), _NEVER)}
        if alias not in self.polled:  # a log dates again what polls have found
            found.add(reduce(later, (self.by_log.get(key, at) for key, at in of_topic.items()), _NEVER))
        return sorted(found)

    def _homes(
        self,
        committed: Mapping[str, Span],
        group: str,
        moved: Moved | None,
        seen: Mapping[tuple[str, str], int],
        now_ms: int,
    ) -> set[Home]:
        active = dict[str, int]()  # at the latest
        since = dict[str, int]()  # at the earliest
        for alias, (since_ms, at_ms) in committed.items():
            since[alias], active[alias] = since_ms, at_ms
            if moved is not None and alias == moved.cluster:
                since[alias], active[alias] = later((since_ms, at_ms), (moved.at_ms, moved.at_ms))
            elif moved is not None and since_ms <= moved.at_ms:  # of before: its consumers were stopped
                since[alias], active[alias] = _NEVER
            if self.silence_ms and active[alias] != ABSENT:
                seen_ms = seen.get((alias, group), ABSENT)
                since[alias], active[alias] = later((since[alias], active[alias]), (seen_ms, seen_ms))
        ordered = sorted(self.clusters, key=lambda alias: (-active[alias], self.clusters.index(alias)))
        if active[ordered[0]] == ABSENT:
            return {Home(None, is_contested=False)}
        first, second = since[ordered[0]], active[ordered[1]]
        may_contest = bool(self.silence_ms) and second != ABSENT
        is_near = second > now_ms - self.silence_ms or first - second <= UNCERTAIN_MS
        found = {Home(ordered[0], may_contest and is_near)}
        # Of a clock that is wrong the driver may know less than the truth, and wait.
        if may_contest and first - second <= sum(self.uncertain_ms(alias) for alias in ordered[:2]):
            found.add(Home(ordered[0], is_contested=True))
        return found
