"""The oracle of `make chaos`: what it takes for ahead; and what `make restarts` says of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pytest

from broker.installation import Installation, Row
from chaos.commit_log import Commit, Key
from chaos.contents import Contents
from chaos.once import not_covered, twice
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


def test_the_schedule_is_the_same_for_the_same_seed_and_has_every_kind() -> None:
    possible = kinds(("dc1", "dc2"))
    faults = schedule(7, 600, possible, (4, 12))
    assert faults == schedule(7, 600, possible, (4, 12)) != schedule(8, 600, possible, (4, 12))
    assert {fault.kind for fault in faults} == {kind.name for kind in possible}


@dataclass(frozen=True)
class Tables:
    """An installation of which only these rows matter."""

    record_runs: list[Row]
    offset_commits: list[Row]

    def rows(self, table: str) -> list[Row]:
        return cast(list[Row], getattr(self, table))


def run(start: int, length: int) -> Row:
    return {"cluster": "dc1", "topic": "t", "partition": 0, "start_offset": start, "length": length}


def test_what_the_tables_hold_twice_or_not_at_all_is_found() -> None:
    commit = {"cluster": "dc1", "log_partition": 3, "log_offset": 1}
    tables = cast(Installation, Tables([run(0, 4), run(3, 2)], [commit, commit]))
    assert twice(tables) == [
        "record_runs: ('dc1', 't', 0) from 0 to 4 and again from 3",
        "offset_commits: ('dc1', 3, 1) 2 times",
    ]
    for length, said in ((9, ["record_runs: dc1 t-0: 9 covered, 10 in the log"]), (10, [])):
        tables = cast(Installation, Tables([run(0, length)], []))
        assert (twice(tables), not_covered(tables, SAME, ["dc1"], [PLACE])) == ([], said)
