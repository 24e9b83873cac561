"""What `make restarts` says of tables that hold something twice, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from broker.installation import Installation, Row
from chaos.contents import Contents
from chaos.once import not_covered, twice

PLACE = ("t", 0)


@dataclass(frozen=True)
class Tables:
    record_runs: list[Row]
    offset_commits: list[Row]

    def rows(self, table: str) -> list[Row]:
        return cast(list[Row], getattr(self, table))


def run(start: int, length: int) -> Row:
    return {"cluster": "dc1", "topic": "t", "partition": 0, "start_offset": start, "length": length}


def commit(offset: int) -> Row:
    return {"cluster": "dc1", "log_partition": 3, "log_offset": offset}


def found(runs: list[Row], commits: list[Row]) -> list[str]:
    return twice(cast(Any, Tables(runs, commits)))


def test_an_offset_that_is_covered_twice_is_found() -> None:
    assert found([run(0, 4), run(3, 2)], []) == ["record_runs: ('dc1', 't', 0) from 0 to 4 and again from 3"]


def test_a_commit_that_is_there_twice_is_found() -> None:
    assert found([], [commit(1), commit(1)]) == ["offset_commits: ('dc1', 3, 1) 2 times"]


def test_a_record_that_is_not_covered_is_found() -> None:
    contents = Contents()
    for offset in range(4):
        contents.log("dc1", PLACE).add(offset, offset)
    tables = cast(Installation, Tables([run(0, 3)], []))
    assert not_covered(tables, contents, ["dc1"], [PLACE]) == ["record_runs: dc1 t-0: 3 covered, 4 in the log"]
    assert not_covered(cast(Installation, Tables([run(0, 4)], [])), contents, ["dc1"], [PLACE]) == []
