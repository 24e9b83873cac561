"""Which records of two logs are the same by their times, against a plain loop over records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.model.values import State
from offset_sync.translate import identity_strategy
from offset_sync.translate.exact import Bounds, Strategy
from offset_sync.translate.identity_strategy import Sameness, compare_times
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition import Translations, translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata

X, Y = 0, 1
IDENTITY = Strategy("identity", original=X)


@dataclass(frozen=True)
class Stretch:
    """Records side by side; *times* are those of all of them, or the least and the most."""

    start: int
    length: int
    times: tuple[int, int]


@st.composite
def logs(draw: st.DrawFn) -> list[Stretch]:
    found, offset = list[Stretch](), 0
    for gap, length, at_ms, more in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 3), st.sampled_from([0, 0, 1])))
    ):
        found.append(Stretch(offset + gap, length, (at_ms, at_ms + more)))
        offset += gap + length
    return found


def index_of(log: list[Stretch], frontier: int | None = None, begin: int = 0) -> LogIndex:
    index = LogIndex(begin)
    start, length = [each.start for each in log], [each.length for each in log]
    end = log[-1].start + log[-1].length if log else begin
    zero = np.zeros(len(log))
    index.extend(Runs.of(start, length, zero, start, zero), end if frontier is None else frontier)
    index.times = TimeIndex()
    times = [np.array([each.times[number] for each in log], np.int64) for number in (0, 1)]
    index.times.extend(np.array(start, np.int64), np.array(length, np.int64), *times)
    return index


def by_record(log: list[Stretch]) -> dict[int, tuple[int, int]]:
    return {each.start + number: each.times for each in log for number in range(each.length)}


@law(300)
@given(logs(), logs())
def test_the_same_records_are_found_as_by_looking_at_each(here: list[Stretch], there: list[Stretch]) -> None:
    mine, theirs, same_to, differ = by_record(here), by_record(there), 0, False
    for offset in sorted(mine.keys() & theirs.keys()):
        (least, most), (low, high) = mine[offset], theirs[offset]
        differ |= least > high or low > most
        if least == most == low == high:
            same_to = offset + 1
    assert compare_times(index_of(here), index_of(there)) == Sameness(same_to, differ)


def test_only_the_newest_records_that_both_may_have_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_strategy, "_NEWEST", 3)
    here = [Stretch(offset, 1, (offset, offset)) for offset in range(10)]
    longer = [*here, *(Stretch(offset, 1, (0, 0)) for offset in range(10, 50))]
    assert compare_times(index_of(here), index_of(longer)) == Sameness(10, False)
    other = [Stretch(0, 1, (99, 99)), *here[1:]]
    assert not compare_times(index_of(here), index_of(other)).differ
    other = [*here[:8], Stretch(8, 1, (99, 99)), here[9]]
    assert compare_times(index_of(here), index_of(other)).differ


def answered(
    committed: list[int], here: LogIndex, there: LogIndex, start: int = 0, end: tuple[int, int] | None = None
) -> Translations:
    ends = end or (here.frontier, there.frontier)
    source = PartitionLog.of(here, X, PartitionMetadata("x", 0, ends[0], {"x"}, here.frontier))
    target = PartitionLog.of(there, Y, PartitionMetadata("y", start, ends[1], {"y"}, there.frontier))
    return translate_partition(
        np.array(committed), [None] * len(committed), source, target, Bounds(10**15), strategy=IDENTITY
    )


def told(found: Translations) -> list[tuple[int, str]]:
    return [(offset, State(state).name) for offset, state in zip(found.wanted.tolist(), found.state.tolist())]


ONE_EACH = [Stretch(offset, 1, (offset, offset)) for offset in range(8)]


def test_offsets_without_a_record_are_answered_as_they_are() -> None:
    """Markers have the same offsets, and compaction removes any records from either log."""
    gaps = [ONE_EACH[number] for number in (0, 1, 4, 5)]
    here, there = index_of(ONE_EACH[:7], 9), index_of(gaps, 9)
    assert told(answered([1, 2, 3, 5, 7, 9], here, there)) == [
        (1, "EXACT"),
        (2, "EXACT"),
        (3, "EXACT"),
        (5, "EXACT"),
        (7, "EXACT"),
        (9, "EXACT"),
    ]


def test_a_record_at_the_end_of_the_copy_that_the_original_does_not_have_is_unread() -> None:
    here, there = index_of(ONE_EACH[:4], 9), index_of(ONE_EACH[:6], 9)
    assert told(answered([3, 4, 5, 9], here, there)) == [
        (3, "EXACT"),
        (4, "EXACT"),
        (4, "APPROXIMATE"),
        (4, "APPROXIMATE"),
    ]


def test_where_nothing_is_known_to_be_the_same_the_copy_is_read_from_its_beginning() -> None:
    vague = [Stretch(0, 8, (0, 7))]
    assert told(answered([0, 5], index_of(vague), index_of(vague), start=2, end=(8, 8))) == [
        (2, "EXACT"),
        (2, "APPROXIMATE"),
    ]
    unindexed = answered([0, 5], LogIndex(), index_of(ONE_EACH), end=(8, 8))
    assert [offset for offset, _ in told(unindexed)] == [0, 0]


def test_one_match_speaks_for_all_below_also_where_an_index_began_late() -> None:
    there = index_of(ONE_EACH[5:], begin=5)
    assert told(answered([2, 5, 8], index_of(ONE_EACH), there)) == [(2, "EXACT"), (5, "EXACT"), (8, "EXACT")]


def test_what_retention_took_from_the_copy_is_told_as_lost() -> None:
    found = answered([2, 6], index_of(ONE_EACH), index_of(ONE_EACH), start=4)
    assert (found.wanted.tolist(), found.lost.tolist()) == ([4, 6], [2, 0])


def test_duplicates_are_read_records_above_the_answer() -> None:
    there = index_of(ONE_EACH[:4])
    assert answered([8], index_of(ONE_EACH), there).duplicates.tolist() == [0]
    found = answered([7], index_of(ONE_EACH[:4]), index_of(ONE_EACH), end=(8, 8))
    assert (told(found), found.duplicates.tolist()) == ([(4, "INDEX_BEHIND")], [3])
