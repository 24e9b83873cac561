"""A start that reads sorted files log by log knows what one knows that reads and sorts all rows."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_histories import HISTORIES, history, index_of, known, lives
from builders.index_rows import add, run
from fakes.sorted_tables import SortedTables
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.index_rows import IndexRows
from offset_sync.state.staged_rows import LogPart, MisstatedError, StagedRows, checked
from offset_sync.tables import sorted_files
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.sorted_files import Part, SortedRows

FEW_BYTES = 8 * 240


@pytest.fixture(autouse=True, scope="module")
def few_rows_to_a_group() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_files, "GROUP_ROWS", 4)
        patch.setattr(sorted_files, "_ALONE", 2)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@law(150)
@given(HISTORIES, st.booleans())
def test_a_start_from_sorted_files_knows_the_same(folder: Path, rng: random.Random, is_small: bool) -> None:
    tables, plain = SortedTables(folder=folder, rng=rng), MemoryTables()
    rows, begun = history(rng), lives(rng)
    rng.shuffle(rows)
    for each in (tables, plain):
        for first in range(0, len(rows), 5):
            add(each, RECORD_RUNS, *rows[first : first + 5])
        if begun:
            add(each, LOG_INCARNATIONS, *begun)
    pages = IndexPages(FEW_BYTES, page_runs=4) if is_small else None
    assert known(index_of(tables, pages)) == known(index_of(plain))
    if len(rows) > 40:
        assert tables.blocks_read > 0


def rows_of(tables: MemoryTables) -> MemoryTables:
    add(tables, RECORD_RUNS, *(run(n, 1, "XY"[n % 2], n // 2) for n in range(60)))
    return tables


@pytest.mark.parametrize(
    "damage",
    [
        lambda part: part._replace(first=part.first + 1),
        lambda part: part._replace(log=part.log._replace(partition=part.log.partition + 1)),
    ],
)
def test_a_file_that_holds_other_rows_than_it_says_is_read_as_if_it_said_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    def changed(rows: SortedRows) -> SortedRows:
        def of(part: Part) -> Part:
            return damage(part)  # type: ignore[operator,no-any-return]

        return replace(rows, groups=[[of(part) for part in group] for group in rows.groups])

    tables = rows_of(SortedTables(folder=tmp_path, rng=random.Random(1), share=1.0, damage=changed))
    with caplog.at_level(logging.WARNING):
        assert known(index_of(tables)) == known(index_of(rows_of(MemoryTables())))
    assert "are not those that their file names" in caplog.text


def rows(log: list[int], start: list[int]) -> IndexRows:
    return IndexRows(np.array(log), np.array(start), *np.ones((7, len(log)), np.int64))


@pytest.mark.parametrize(
    "parts", [[LogPart(0, 4, 3)], [LogPart(0, 3, 2)], [LogPart(0, 4, 1)], [LogPart(1, 4, 2)], [LogPart(0, 4, 2)] * 2]
)
def test_rows_that_are_others_than_was_said_are_refused(parts: list[LogPart]) -> None:
    assert len(checked(rows([0, 0], [9, 4]), [LogPart(0, 4, 2)])) == 2
    with pytest.raises(MisstatedError):
        checked(rows([0, 0], [9, 4]), parts)


def test_of_blocks_with_many_logs_no_more_wait_than_memory_may_hold() -> None:
    staged, asked = StagedRows(64), list[int]()
    for first in range(0, 400, 4):

        def read(first: int = first) -> IndexRows:
            asked.append(first)
            return rows([0, 0, 1, 1], [first, first + 1, first, first + 1])

        staged.add_block([LogPart(0, first, 2), LogPart(1, first, 2)], read)
    assert len(asked) == 100 - 64 // 4
    assert sum(len(each) for each in staged.in_order()) == 400
    assert staged.sizes.tolist() == [200, 200]
    assert len(asked) == 100
