"""Where a group is at home: GroupHomes, the logs that are unread and the members, against their events one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.cluster_clock import ClockOffset
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.group_homes import NO_HOME, GroupHomes, Move, UnreadLogs, clusters_code, clusters_text
from offset_sync.state.key_index import KeyIndex

SILENCE_MS, SAME_MS, LATE_MS = 300_000, 2_000, 90_000
ALIASES = "XYZ"
NOWHERE = "not of ours"


class Event(NamedTuple):
    """So long after the one before a group is met, commits, is moved, or has members at *alias* and no other has.

    It is *special*: a poll found the commit, which may be that old, or it was read so late; a command has decided the
    move; none has members.
    """

    gap_ms: int
    kind: str
    alias: str
    key: GroupPartition
    special_ms: int


G = GroupPartition("g", "orders", 0)
KEYS = [G, G, G, G, G, G._replace(partition=1), G._replace(topic="pay"), G._replace(group_id="h")]
KINDS = ["commit", "commit", "commit", "commit", "members", "members", "move", "meet"]
GAPS = [0, 1, SAME_MS, SAME_MS, SAME_MS + 1, 60_000, SILENCE_MS - 60_000, SILENCE_MS - 1, SILENCE_MS]
SPECIAL = [0, 0, 0, 1, 5_000, LATE_MS]


def any_history(rng: random.Random) -> list[Event]:
    choices = (GAPS, KINDS, "XXXYYYZ", KEYS, SPECIAL)
    return [Event(*map(rng.choice, choices)) for _ in range(rng.randrange(1, 7))]


class Stream:
    """What is known of a group and topic: of each cluster the times of its last commit, and of its last members."""

    def __init__(self, members_ms: Sequence[int]) -> None:
        self.committed, self.since, self.members = [ABSENT] * 3, [ABSENT] * 3, [*members_ms]
        self.moved_to, self.moved_ms, self.is_decided = NO_HOME, ABSENT, False

    def active(self, silence_ms: int) -> dict[int, int]:
        """Return when each cluster was active last; a move forgets all that others did before it, and acts itself."""
        found = {}
        for number in range(3):
            at_ms = self.committed[number]
            if number == self.moved_to:
                at_ms = max(at_ms, self.moved_ms)
            elif self.moved_to != NO_HOME and self.since[number] <= self.moved_ms:
                continue
            if at_ms != ABSENT:
                found[number] = max(at_ms, self.members[number] if silence_ms else ABSENT)
        return found

    def home(self, now_ms: int, silence_ms: int, wrong_ms: Sequence[int]) -> tuple[int, bool]:
        """Return the home, and whether two clusters are active."""
        active = self.active(silence_ms)
        order = sorted(active, key=lambda number: (active[number], number))
        home = min((number for number in order if active[number] == active[order[-1]]), default=NO_HOME)
        if silence_ms == 0 or len(order) < 2:
            return home, False
        second, last = order[-2:]
        apart_ms = max(self.since[last], self.members[last]) - active[second]
        is_near = apart_ms <= max(SAME_MS, wrong_ms[last] + wrong_ms[second])
        return home, is_near or now_ms - active[second] < silence_ms


@pytest.mark.parametrize("seed", range(8))
def test_homes_are_what_the_events_one_by_one_say(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        silence_ms = rng.choice([0, 1, 1, SILENCE_MS, SILENCE_MS, SILENCE_MS])
        wrong_ms = rng.choice([(0, 0, 0), (0, 0, 0), (3_000, 0, 0), (3_000, 4_000, 90_000)])
        check_homes(any_history(rng), silence_ms, wrong_ms, rng.choice(GAPS))


class Known:
    """Homes, and what the events one by one say of them."""

    def __init__(self, silence_ms: int) -> None:
        self.offsets, self.now_ms, self.silence_ms = CommittedOffsets(ALIASES), 1_000_000, silence_ms
        keys = KeyIndex(self.offsets, lambda _group: True, lambda _topic: True)
        self.homes = GroupHomes(ALIASES, keys, silence_ms)
        self.streams, self.seen = dict[tuple[str, str], Stream](), [dict[str, int]() for _ in ALIASES]
        self.with_members, self.silent = [frozenset[str]()] * 3, {*ALIASES}

    def happens(self, event: Event) -> None:
        self.now_ms += event.gap_ms
        number, group = ALIASES.index(event.alias), event.key.group_id
        if event.kind == "members":
            self._note_members(number, set() if event.special_ms else {group})
            return
        stream = self.streams.setdefault(event.key[:2], Stream([of.get(group, ABSENT) for of in self.seen]))
        rows = self.offsets.ids([event.key])
        if event.kind == "commit":
            made_ms = self.now_ms - LATE_MS * (event.special_ms == LATE_MS)
            since_ms = self.now_ms - event.special_ms
            earliest = np.array([since_ms]) if since_ms < made_ms else None
            self.homes.note_commits(event.alias, rows, np.array([made_ms]), earliest)
            stream.committed[number] = max(stream.committed[number], made_ms)
            stream.since[number] = max(stream.since[number], since_ms)
        elif event.kind == "move":
            is_decided = event.special_ms > 0
            places = (NOWHERE, event.alias, NOWHERE)
            self.homes.note_moves([Move(*event.key[:2], alias, self.now_ms, is_decided) for alias in places])
            stream.moved_to, stream.moved_ms, stream.is_decided = number, self.now_ms, is_decided

    def _note_members(self, number: int, groups: set[str]) -> None:
        self.homes.note_members(ALIASES[number], groups, self.now_ms)
        self.with_members[number] = frozenset(groups)
        self.silent.discard(ALIASES[number])
        known, seen = {group for group, _ in self.streams}, self.seen[number]
        seen = {each: at for each, at in seen.items() if each in known or self.now_ms - at < self.silence_ms}
        self.seen[number] = seen | dict.fromkeys(groups, self.now_ms)
        for (of, _), each in self.streams.items():
            each.members[number] = self.now_ms if of in groups else each.members[number]


def check_homes(history: Sequence[Event], silence_ms: int, wrong_ms: Sequence[int], gap_ms: int) -> None:
    known = Known(silence_ms)
    for event in history:
        known.happens(event)
    homes, rows, now_ms = known.homes, np.arange(len(known.offsets.keys)), known.now_ms + gap_ms
    streams = [known.streams[key[:2]] for key in known.offsets.keys]
    found = homes.of(rows, now_ms, np.array(wrong_ms))
    wanted = [each.home(now_ms, silence_ms, wrong_ms) for each in streams]
    assert list(zip(found.home.tolist(), found.is_contested.tolist(), strict=True)) == wanted
    assert homes.of(rows, now_ms).home.tolist() == found.home.tolist()
    assert homes.committed_ms(rows).T.tolist() == [each.committed for each in streams]
    active = [each.active(SILENCE_MS) for each in streams]
    assert homes.active_ms(rows).T.tolist() == [[each.get(number, ABSENT) for number in range(3)] for each in active]
    assert homes.is_decided(rows).tolist() == [each.is_decided for each in streams]
    for key, code in zip(known.offsets.keys, homes.members(rows).tolist(), strict=True):
        there = [each for each, of in zip(ALIASES, known.with_members, strict=True) if key.group_id in of]
        text = ", ".join(each + "?" * (each in known.silent) for each in ALIASES if each in known.silent.union(there))
        assert (clusters_text(code, ALIASES), clusters_code(text, ALIASES)) == (text, code)
    for number, alias in enumerate(ALIASES):
        moved = [each.moved_ms if each.moved_to == number else ABSENT for each in streams]
        assert homes.moved_ms(rows, alias).tolist() == moved
        assert homes.with_members(alias) == known.with_members[number]
        assert homes._seen_ms[alias] == known.seen[number], "whose members have left is forgotten after the silence"


# Whose commits count while a cluster's log of commits has not been read since the start

_some_rows = st.lists(st.integers(0, 3), max_size=3)
steps = st.lists(
    st.tuples(st.sampled_from(["begin", "read", "brought", "brought", "brought"]), st.sampled_from("XY"), _some_rows)
)


@law(600)
@given(steps, _some_rows)
def test_which_commits_count_while_logs_are_unread(history: list[tuple[str, str, list[int]]], told: list[int]) -> None:
    logs, unread, brought = UnreadLogs(), set[str](), dict[str, set[int]]()
    assert (logs.aliases, logs.may_count("X", np.arange(4), np.zeros(4, np.bool_)).all()) == (frozenset(), True)
    for kind, alias, rows in [("begin", "X", []), *history]:
        if kind == "begin":
            logs.begin("XY")
            unread, brought = {"X", "Y"}, {alias: set() for alias in "XY"}
        elif kind == "read":
            assert logs.note_read([alias, "Z"]) == [alias] * (alias in unread)
            if alias in unread:
                brought[alias].clear()
            unread.discard(alias)
        else:
            logs.note_brought(alias, np.array(rows, np.intp))
            brought[alias].update(rows if unread else [])
    assert logs.aliases == unread
    every = np.arange(4)
    for alias in "XY":
        is_unread, others = alias in unread, unread - {alias}
        counts = [row in told if others and (is_unread or row not in brought[alias]) else True for row in range(4)]
        if is_unread:
            counts = [each and row not in brought[alias] for row, each in enumerate(counts)]
        assert logs.may_count(alias, every, np.isin(every, told)).tolist() == counts
        assert logs.may_count(alias, every[:0], every[:0] > 0).tolist() == []


@law(200)
@given(st.integers(-(10**6), 10**6), st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 10_000)), min_size=2))
def test_how_far_clocks_may_differ_is_never_less_than_it_is(ahead_ms: int, batches: list[tuple[int, int]]) -> None:
    clock, writer_ms = ClockOffset(), 10**12
    for pause_ms, latency_ms in batches:
        writer_ms += pause_ms
        clock.observe(writer_ms, writer_ms + latency_ms + ahead_ms)
        writer_ms += latency_ms
    assert clock.at_most() >= ahead_ms
