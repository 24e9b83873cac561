"""Where a group is at home: against its events read one by one, and what no order of them may break."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.group_homes import NO_HOME, Activity, GroupHomes, Move, UnreadLogs, homes
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.members import Members

SILENCE_MS = 300_000
SAME_MS = 2_000
CLUSTERS = 3


class Event(NamedTuple):
    """A group commits at a cluster, or is moved there."""

    at_ms: int
    kind: str
    cluster: int


Found = tuple[int, bool]
"""The home, and whether two clusters are active."""


def found_of(events: Sequence[Event], now_ms: int, silence_ms: int, members: frozenset[int] = frozenset()) -> Found:
    """Return what is told of *events* by then."""
    committed, moved_to, moved_ms = np.full((CLUSTERS, 2), ABSENT), NO_HOME, ABSENT
    for at_ms, kind, cluster in events:
        if kind == "commit":
            committed[cluster, 0] = at_ms
        else:
            moved_to, moved_ms = cluster, at_ms
    members_ms = np.array([[now_ms if cluster in members else ABSENT] * 2 for cluster in range(CLUSTERS)])
    moved = np.array([moved_to, NO_HOME]), np.array([moved_ms, ABSENT])
    home, is_contested = homes(Activity(committed, committed, members_ms, *moved), now_ms, silence_ms)
    assert (home.dtype, is_contested.dtype) == (np.intp, np.bool_)
    assert (home[1], is_contested[1]) == (NO_HOME, False), "a group that never committed"
    return int(home[0]), bool(is_contested[0])


def by_events(events: Sequence[Event], now_ms: int, silence_ms: int, members: frozenset[int]) -> Found:
    """Return the same, event by event: a move forgets all that others did, and is something that its cluster did."""
    acts: dict[int, list[int]] = {}
    for at_ms, kind, cluster in events:
        if kind == "move":
            acts = {cluster: acts.get(cluster, [])}
        acts.setdefault(cluster, []).append(at_ms)
    if not acts:
        return NO_HOME, False
    if silence_ms:
        acts = {cluster: [*times, now_ms] if cluster in members else times for cluster, times in acts.items()}
    home = min(acts, key=lambda cluster: (-acts[cluster][-1], cluster))
    others = [times[-1] for cluster, times in acts.items() if cluster != home]
    is_alive = [now_ms - at_ms < silence_ms or acts[home][-1] - at_ms <= SAME_MS for at_ms in others]
    return home, silence_ms > 0 and any(is_alive)


clusters = st.integers(0, CLUSTERS - 1)
gaps = st.sampled_from([1, SAME_MS, SAME_MS + 1, 60_000, SILENCE_MS - 1, SILENCE_MS, 2 * SILENCE_MS])
some_members = st.frozensets(clusters)


@st.composite
def histories(draw: st.DrawFn, kinds: Sequence[str] = ("commit", "commit", "commit", "move")) -> list[Event]:
    """Return events in order, some of them close to each other."""
    at_ms, events = 1_000_000, list[Event]()
    for gap in draw(st.lists(gaps, max_size=8)):
        at_ms += gap
        events.append(Event(at_ms, draw(st.sampled_from(kinds)), draw(clusters)))
    return events


def end_of(events: Sequence[Event]) -> int:
    return events[-1].at_ms if events else 1_000_000


# Laws


@law(200)
@given(histories(), gaps, some_members)
def test_a_home_is_what_the_events_one_by_one_say(events: list[Event], gap: int, members: frozenset[int]) -> None:
    now_ms = end_of(events) + gap
    for silence_ms in (0, 1, SILENCE_MS):
        assert found_of(events, now_ms, silence_ms, members) == by_events(events, now_ms, silence_ms, members)


def test_of_no_groups_there_are_no_homes() -> None:
    none = np.empty((CLUSTERS, 0), np.int64)
    found = homes(Activity(none, none, none, np.empty(0, np.intp), np.empty(0, np.int64)), 5, SILENCE_MS)
    assert (found.home.tolist(), found.is_contested.tolist()) == ([], [])
    assert (found.home.dtype, found.is_contested.dtype) == (np.intp, np.bool_)


@pytest.mark.parametrize(("apart_ms", "is_decided"), [(7_000, False), (7_001, True)])
def test_of_clocks_that_may_be_wrong_the_two_that_were_active_last_count(apart_ms: int, is_decided: bool) -> None:
    committed = np.array([[1_000_000], [1_000_000 + apart_ms], [1]])
    none = np.full_like(committed, ABSENT)
    activity = Activity(committed, committed, none, np.array([NO_HOME]), np.array([ABSENT]))
    found = homes(activity, 9_000_000, SILENCE_MS, np.array([3_000, 4_000, 90_000]))
    assert (found.home.tolist(), found.is_contested.tolist()) == ([1], [not is_decided])


# Of groups and topics


class Known:
    """Homes of the groups at X and Y, with keys that a test names."""

    def __init__(self, silence_ms: int = SILENCE_MS) -> None:
        self.offsets = CommittedOffsets(["X", "Y"])
        keys = KeyIndex(self.offsets, lambda _group: True, lambda _topic: True)
        self.homes = GroupHomes(["X", "Y"], keys, silence_ms)

    def rows(self, *topics: str, group: str = "g") -> KeyRows:
        return self.offsets.ids([GroupPartition(group, topic, 0) for topic in topics])

    def commit(self, alias: str, at_ms: int, topic: str = "orders", partition: int = 0, group: str = "g") -> None:
        rows = self.offsets.ids([GroupPartition(group, topic, partition)])
        self.homes.note_commits(alias, rows, np.array([at_ms]))

    def home(self, now_ms: int, topic: str = "orders", partition: int = 0, group: str = "g") -> str | None:
        """Return the home, None where two clusters are active."""
        rows = self.offsets.ids([GroupPartition(group, topic, partition)])
        home, is_contested = self.homes.of(rows, now_ms)
        return None if is_contested[0] else ["X", "Y", "nowhere"][int(home[0])]


def test_a_move_holds_for_partitions_and_groups_that_are_met_only_later() -> None:
    known = Known()
    known.homes.note_moves([Move("g", "orders", "Y", 1_000_000), Move("g", "pay", "nowhere of ours", 1_000_000)])
    known.commit("X", 999_999, partition=3)
    known.commit("X", 999_999, "pay")
    assert [known.home(1_000_001, partition=number) for number in (0, 3)] == ["Y", "Y"]
    assert known.home(1_000_001, "pay") == "X"


def test_what_is_known_of_each_row_is_that_of_its_group_and_topic() -> None:
    known = Known()
    rows = known.rows("orders", "pay", "never", "pay")
    assert known.homes.is_decided(rows).tolist() == [False] * 4
    known.homes.note_commits("X", rows[:2], np.array([5, 6]), np.array([3, 6]))
    known.homes.note_commits("X", known.rows("orders"), np.array([4]))
    known.commit("Y", 7, "pay")
    moves = [Move("g", "pay", "Y", 2), Move("g", "pay", "X", 9, is_decided=True), Move("g", "orders", "Z", 9)]
    known.homes.note_moves(moves)
    known.homes.note_members("Y", {"other"}, 8)
    known.homes.note_members("X", {"g"}, 8)
    assert known.homes.committed_ms(rows).tolist() == [[5, 6, -1, 6], [-1, 7, -1, 7]]
    assert known.homes.active_ms(rows).tolist() == [[8, 9, -1, 9], [-1, -1, -1, -1]]
    assert known.homes.moved_ms(rows, "X").tolist() == [-1, 9, -1, 9]
    assert known.homes.moved_ms(rows, "Y").tolist() == [-1] * 4
    assert known.homes.is_decided(rows).tolist() == [False, True, False, True]
    assert (known.homes.is_decided(rows).dtype, known.homes.committed_ms(rows).dtype) == (np.bool_, np.int64)
    known.homes.note_moves([Move("g", "pay", "X", 9)])
    assert not known.homes.is_decided(rows).any()


def test_a_polled_commit_is_noted_with_the_earliest_time_at_which_it_may_have_been_made() -> None:
    known, now_ms = Known(), 1_000_000 + 2 * SILENCE_MS
    rows = known.rows("orders", "pay")
    known.homes.note_commits("X", rows, np.full(2, 1_000_000), np.array([1_000_000, 900_000]))
    known.homes.note_commits("Y", rows, np.full(2, 950_000))
    assert [known.home(now_ms, topic) for topic in ("orders", "pay")] == ["X", None]
    clocks = known.homes.of(rows, now_ms, np.array([50_000, 0]))
    assert clocks.is_contested.tolist() == [True, True]


@pytest.mark.parametrize(("later_ms", "home"), [(SILENCE_MS - 1, "X"), (SILENCE_MS, "Y")])
def test_members_that_left_a_silence_ago_are_forgotten_for_streams_met_later(later_ms: int, home: str) -> None:
    known = Known()
    assert known.homes.with_members("X") == frozenset()
    known.homes.note_members("X", {"g"}, 1_000_000)
    known.homes.note_members("X", {"h"}, 1_000_000 + later_ms)
    assert known.homes.with_members("X") == {"h"}
    known.commit("X", 1)
    known.commit("Y", 10_000)
    assert known.home(1_000_000 + 9 * SILENCE_MS) == home
    known.commit("Y", 20_000, "pay")
    known.commit("X", 1, "pay")
    assert known.home(1_000_000 + 9 * SILENCE_MS, "pay") == home


def test_a_cluster_is_silent_so_long_after_its_last_members_have_left() -> None:
    """A group whose topic is idle is restarted: for some seconds it has no members, and another cluster committed."""
    known = Known()
    known.commit("X", 1_000_000)
    left_ms = 1_000_000 + 10 * SILENCE_MS
    known.homes.note_members("X", {"g"}, left_ms)
    known.commit("Y", left_ms - 60_000)
    known.homes.note_members("X", set(), left_ms + 10_000)
    assert [known.home(left_ms + after_ms) for after_ms in (10_000, SILENCE_MS)] == [None, "X"]
    known.commit("Y", left_ms + SILENCE_MS - 1)
    assert known.home(left_ms + SILENCE_MS - 1) is None
    assert known.home(left_ms + SILENCE_MS) == "Y"


# Of polled commits, whose time is only known to be between two polls


def polled(x_ms: tuple[int, int], y_ms: int, moved_ms: int = ABSENT) -> Found:
    """Return what is told of a commit at X between two polls, and one at Y, an hour later; Y may be moved to."""
    since, until = x_ms
    committed, earliest = np.array([[until], [y_ms]]), np.array([[since], [y_ms]])
    moved_to = np.array([NO_HOME if moved_ms == ABSENT else 1])
    activity = Activity(committed, earliest, np.full((2, 1), ABSENT), moved_to, np.array([moved_ms]))
    found = homes(activity, max(until, y_ms) + 3_600_000, SILENCE_MS)
    return int(found.home[0]), bool(found.is_contested[0])


@pytest.mark.parametrize(
    ("y_ms", "found"),
    [
        (900_000, (0, False)),  # before both polls
        (1_000_000 - SAME_MS, (0, True)),
        (1_002_000, (0, True)),  # between them: which was first is not known
        (1_005_000 + SAME_MS, (1, True)),
        (1_005_000 + SAME_MS + 1, (1, False)),  # after both
    ],
)
def test_commits_between_two_polls_are_as_old_as_all_that_happened_meanwhile(y_ms: int, found: Found) -> None:
    assert polled((1_000_000, 1_005_000), y_ms) == found


def test_a_polled_commit_that_may_be_from_before_the_move_is_over() -> None:
    assert polled((1_000_000, 1_005_000), 400_000, moved_ms=1_000_000) == (1, False)
    assert polled((1_000_000, 1_005_000), 400_000, moved_ms=999_999) == (0, True)


ROWS = np.array([0, 1, 2])


# Whose commits count while a cluster's log of commits has not been read since the start
def logs(*unread: str, of: Sequence[str] = ("X", "Y", "Z")) -> UnreadLogs:
    """Logs of which those *unread* have not been read to their ends."""
    made = UnreadLogs()
    made.begin(of)
    made.note_read([alias for alias in of if alias not in unread])
    return made


def counts(made: UnreadLogs, source: str, *answered: int) -> list[int]:
    """The rows that may be answered, of which *answered* were already."""
    return ROWS[made.may_count(source, ROWS, np.isin(ROWS, answered))].tolist()


def brought(made: UnreadLogs, alias: str, *rows: int) -> None:
    made.note_brought(alias, np.array(rows, np.intp))


def test_while_another_log_is_unread_only_what_is_new_or_was_answered_counts() -> None:
    assert (counts(UnreadLogs(), "Y"), UnreadLogs().aliases) == ([0, 1, 2], frozenset())
    made = logs("X")
    assert made.aliases == {"X"}
    assert counts(made, "Y") == []
    brought(made, "Y")
    assert made.may_count("Y", ROWS[:0], ROWS[:0] > 0).tolist() == []
    assert counts(made, "Y", 1) == [1]
    brought(made, "Y", 2)
    assert counts(made, "Y", 1) == [1, 2]
    assert counts(made, "Z") == []
    brought(made, "Y", 0)
    assert counts(made, "Y", 1) == [0, 1, 2]
    both = logs("X", "Z")
    brought(both, "X", 0)
    assert counts(both, "X", 0, 1) == [1]


def test_of_the_unread_cluster_itself_counts_what_was_known_and_not_what_is_being_read() -> None:
    made = logs("X")
    assert counts(made, "X") == [0, 1, 2]
    brought(made, "X", 1)
    assert counts(made, "X", 1) == [0, 2]
    assert made.note_read(["X", "Y"]) == ["X"]
    assert counts(made, "X") == counts(made, "Y") == [0, 1, 2]


MEETING = threading.Barrier(2)


class Coordinators:
    """Answers with *groups*, or why it does not, once both clusters have been asked."""

    def __init__(self, *groups: str) -> None:
        self.answer: dict[str, bool] | ClusterError = {**dict.fromkeys(groups, True), "empty": False}

    def groups(self, deadline: float) -> dict[str, bool]:
        assert deadline == 3.0
        MEETING.wait(30)
        if isinstance(self.answer, ClusterError):
            raise self.answer
        return self.answer


def test_of_a_cluster_that_stops_answering_nothing_is_known_and_this_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    x = Coordinators("a")
    members = Members({"X": x, "Y": Coordinators("b")}, deadline=3.0)
    assert (members.of("X"), members.of("Y")) == (None, None), "not asked yet"
    members.refresh()
    assert (members.of("X"), members.of("Y"), members.of("Z")) == ({"a"}, {"b"}, None)
    x.answer = ClusterError("X", "no answer")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            members.refresh()
    assert (members.of("X"), members.of("Y")) == (None, {"b"})
    assert [record.getMessage() for record in caplog.records] == ["clusters.X: no answer: its members are unknown"]
    x.answer = {"c": True}
    members.refresh()
    assert members.of("X") == {"c"}
