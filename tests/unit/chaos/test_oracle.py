"""The oracle of `make chaos`: what it takes for ahead. What is exact every run finds out, once all is quiet."""

from __future__ import annotations

from chaos.commit_log import Commit, Key
from chaos.contents import Contents
from chaos.oracle import Followed

PLACE = ("t", 0)
KEY = Key("g", PLACE)


def test_an_offset_above_the_exact_one_is_ahead() -> None:
    contents = Contents()
    for alias in ("dc1", "dc2"):
        for number in range(10):
            contents.log(alias, PLACE).add(number, number)
    followed, reading = Followed("g t-0"), contents.reading("dc1", "dc2", PLACE)
    at_5, written = [Commit(KEY, 5, 0)], [Commit(KEY, value, 1) for value in (5, 6)]
    assert [followed.judge(each, at_5, reading) is not None for each in written] == [False, True]
