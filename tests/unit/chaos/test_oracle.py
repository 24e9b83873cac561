"""The oracle of `make chaos`: what it takes for ahead, and what it must not."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from chaos.commit_log import Commit, Key, decode_commit
from chaos.contents import Contents
from chaos.oracle import Followed
from chaos.schedule import kinds, schedule

PLACE = ("t", 0)
KEY = Key("g", PLACE)


def commits(*offsets: int) -> list[Commit]:
    """Commits at the source, the n-th at time n."""
    return [Commit(KEY, offset, at) for at, offset in enumerate(offsets)]


def written(*ids: Sequence[int]) -> Contents:
    """The records at dc1 and at dc2."""
    contents = Contents()
    for alias, its in zip(("dc1", "dc2"), ids, strict=True):
        for offset, identity in enumerate(its):
            contents.log(alias, PLACE).add(offset, identity)
    return contents


SAME = written(range(10), range(10))


def judged(contents: Contents, source: list[Commit], *values: tuple[int, int]) -> list[bool]:
    """Return of each value, with the time when it was written, whether it is ahead."""
    followed, reading = Followed("g t-0"), contents.reading("dc1", "dc2", PLACE)
    return [followed.judge(Commit(KEY, value, at), source, reading) is not None for value, at in values]


@pytest.mark.parametrize(
    ("source", "target", "committed", "exact"),
    [
        ([1, 2, 3], [1, 2, 3], 2, 2),
        ([1, 2, 3], [9, 1, 2, 3], 3, 0),  # 9 has not come to the source
        ([1, 2, 3], [1, 2, 1, 2, 3], 2, 4),  # copied twice
        ([1, 3, 2], [1, 2, 3], 2, 1),
        ([1, 2], [1], 2, 1),
    ],
)
def test_the_exact_offset_is_that_of_the_first_record_not_below_the_commit(
    source: list[int], target: list[int], committed: int, exact: int
) -> None:
    reading = written(source, target).reading("dc1", "dc2", PLACE)
    assert reading.exact([committed]).tolist() == [exact]


def test_an_offset_above_the_exact_one_is_ahead() -> None:
    assert judged(SAME, commits(5), (5, 1), (6, 1)) == [False, True]


def test_a_record_that_the_source_has_not_got_is_unread() -> None:
    assert judged(written([1, 2, 3], [1, 2, 9, 3]), commits(3), (2, 1), (3, 1)) == [False, True]


def test_what_was_committed_later_does_not_excuse_an_offset() -> None:
    assert judged(SAME, commits(3, 7), (7, 0)) == [True]


def test_a_rewind_that_was_not_seen_yet_leaves_the_higher_offset() -> None:
    assert judged(SAME, commits(8, 2), (8, 0), (8, 5), (2, 6)) == [False, False, False]


def test_the_offset_before_a_rewind_is_ahead_once_the_rewind_was_followed() -> None:
    assert judged(SAME, commits(8, 2), (8, 0), (2, 2), (8, 3)) == [False, False, True]


def test_commits_may_be_left_out() -> None:
    assert judged(SAME, commits(8, 2, 3, 4, 6), (8, 0), (6, 6), (6, 7)) == [False, False, False]
    assert judged(SAME, commits(8, 2, 3, 4, 6), (8, 0), (4, 6), (8, 7)) == [False, False, True]


def test_a_smaller_offset_that_no_commit_asks_for_proves_nothing() -> None:
    assert judged(SAME, commits(8), (8, 0), (5, 1), (8, 2)) == [False, False, False]


def test_a_value_without_any_commit_is_ahead() -> None:
    assert judged(SAME, [], (0, 0)) == [True]


def test_a_commit_is_decoded_and_other_records_are_left_out() -> None:
    key = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)
    value = struct.pack(">hqih4sq", 3, 42, -1, 4, b"meta", 7)
    assert decode_commit(key, value, 5) == Commit(KEY, 42, 5)
    assert decode_commit(key, None, 5) == Commit(KEY, None, 5)
    assert decode_commit(struct.pack(">hh1s", 2, 1, b"g"), b"", 5) is None


def test_the_schedule_is_the_same_for_the_same_seed_and_has_every_kind() -> None:
    possible = kinds(("dc1", "dc2"))
    faults = schedule(7, 600, possible, (4, 12))
    assert faults == schedule(7, 600, possible, (4, 12)) != schedule(8, 600, possible, (4, 12))
    assert {fault.kind for fault in faults} == {kind.name for kind in possible}
