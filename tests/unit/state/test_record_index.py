"""The record index in memory: kept up, or begun from sealed files, it is that of all rows at once."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_histories import HISTORIES, history, index_of, known, lives
from builders.index_rows import add, begin, run
from builders.record_indexes import alternating, content, log_of, read_in_one
from fakes.sealed_tables import SealedInMemory
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.state.index_pages import MisstatedError
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.segments import Directory


@law(60)
@given(HISTORIES, st.booleans(), st.booleans())
def test_kept_up_in_any_steps_or_begun_from_sealed_files_the_index_is_the_same(
    rng: random.Random, is_shuffled: bool, steps_back: bool
) -> None:
    tables, plain = SealedInMemory(), MemoryTables()
    kept_up = index_of(plain)
    rows, begun = history(rng, steps_back=steps_back), lives(rng) if rng.random() < 0.6 else []
    if is_shuffled:
        rng.shuffle(rows)
    for first in range(0, len(rows), 5):
        for each in (tables, plain):
            add(each, RECORD_RUNS, *rows[first : first + 5])
        if rng.random() < 0.3 and not (is_shuffled or steps_back):
            kept_up.refresh()
    for each in (tables, plain):
        add(each, LOG_INCARNATIONS, *begun)
    for _ in range(rng.randrange(1, 4)):
        tables.seal(rng.randrange(1, 8))
    if is_shuffled:  # else what is sealed may say that a batch begins before the one before it has ended
        tables.seal(len(rows))
    kept_up.refresh()
    assert known(index_of(tables)) == known(index_of(plain)) == known(kept_up)


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        (50, (0, 60, ["X", "", "X"], [0, 30, 50], [30, 20, 10], [0, 30, 50], [0, 0, 0])),
        *((first, (0, 60, ["X"], [0], [60], [0], [0])) for first in (0, 20, 30)),
    ],
)
def test_what_is_between_two_queries_counts_as_unread_by_all_groups(first: int, wanted: object) -> None:
    """The first one has read up to 30; the other one, with a new checkpoint, up to 60."""
    tables = MemoryTables()
    add(tables, RECORD_RUNS, begin(0), run(0, 30))
    kept_up = read_in_one(tables)
    add(tables, RECORD_RUNS, begin(first), run(first, 60 - first, origin_start=first))
    kept_up.refresh()
    assert content(kept_up) == content(read_in_one(tables)) == wanted


def test_what_was_sealed_is_not_let_go_of_where_it_is_not_what_is_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    tables = SealedInMemory()
    alternating(tables, 0, 20)
    index = read_in_one(tables)
    tables.versions[RECORD_RUNS.name][1:] = []
    add(tables, RECORD_RUNS, *(run(n, 1, "XY"[n % 2], n // 2 + 1, seen_ms=n) for n in range(10, 20)))
    tables.seal(2)
    with caplog.at_level(logging.INFO):
        index.refresh()
    log = log_of(index)
    assert (log.run_count, log.runs.origin_start.tolist()) == (20, [n // 2 for n in range(20)])
    assert "clusters.Y: orders-0: sealed rows differ from memory: reading all of record_runs again" in caplog.text
    index.refresh()
    assert content(index) == content(read_in_one(tables))


def test_where_a_page_cannot_be_read_to_be_compared_nothing_is_taken_in() -> None:
    tables = SealedInMemory()
    alternating(tables, 0, 20)
    tables.seal(2)
    index = read_in_one(tables)
    log = log_of(index)
    add(tables, RECORD_RUNS, run(18, 1, "X", 77), run(20, 1, "X", 10))
    tables.is_unreadable = True
    with pytest.raises(OSError, match="cannot be read"):
        index.refresh()
    assert (log.frontier, log.is_contradicted) == (20, False)
    tables.is_unreadable = False
    index.refresh()
    assert (log.frontier, log.is_contradicted) == (21, True)


def changed(**columns: Callable[[Any], Any]) -> Callable[[Directory], Directory]:
    """Return what changes these columns of a directory: of its parts, or where they have these of its spans."""

    def damage(said: Directory) -> Directory:
        parts, spans = dict(said.parts), dict(said.spans)
        for name, change in columns.items():
            of = spans if name in ("low", "high") else parts
            of[name] = change(of[name])
        return replace(said, parts=parts, spans=spans)

    return damage


def first_more(values: Any) -> Any:
    return values + (np.arange(len(values)) == 0)


@pytest.mark.parametrize(
    "damage",
    [
        changed(start=first_more),
        changed(low=first_more),
        changed(high=lambda values: values - (np.arange(len(values)) == 0)),
        changed(records=first_more),
        changed(first_record=first_more),
        lambda said: replace(said, logs=[each._replace(partition=each.partition + 1) for each in said.logs]),
    ],
)
def test_a_file_that_holds_other_rows_than_it_says_is_read_as_if_it_said_nothing(
    caplog: pytest.LogCaptureFixture, damage: Callable[[Directory], Directory]
) -> None:
    tables = SealedInMemory(damage=damage)
    alternating(tables, 0, 60)
    tables.seal(4)
    index = read_in_one(tables)
    (wrong,) = (log for log in index.all_logs().values() if len(log.paged.pages))
    with pytest.raises(MisstatedError, match="holds other rows than its directory says"):
        wrong.paged.part(0)
    index.refresh()
    log = log_of(index)
    assert log.runs.start.tolist() == list(range(60))
    assert len(index.all_logs()) == 1
