"""The oracle of `make chaos`: what it takes for ahead."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chaos.commit_log import Commit, Key
from chaos.contents import Contents
from chaos.oracle import Followed

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
